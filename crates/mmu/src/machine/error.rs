//! Why a machine description cannot be used.

use thiserror::Error;

/// A machine description that cannot be read or makes no sense.
#[derive(Debug, Error)]
pub enum MachineError {
    /// Neither a file nor one of the machines that come with the program.
    #[error("no machine called {name:?}{hint}; give a file, or one of: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// ` (did you mean …?)` or nothing.
        hint: String,
        /// The names that exist.
        known: String,
    },
    /// The file cannot be read.
    #[error("cannot read machine file {path}: {source}")]
    Io {
        /// Path as given.
        path: String,
        /// System error.
        source: std::io::Error,
    },
    /// The text does not follow the schema.
    #[error("machine {name}: {reason}")]
    Syntax {
        /// File or machine name.
        name: String,
        /// What the parser says, with its position.
        reason: String,
    },
    /// The numbers contradict each other.
    #[error("machine {machine}: {place}: {reason}")]
    Invalid {
        /// Machine name.
        machine: String,
        /// Field or TLB.
        place: String,
        /// What is wrong and what to do.
        reason: String,
    },
    /// A preset or variation that does not exist or does not fit the machine.
    #[error("{what}: {reason}")]
    Variation {
        /// The words given.
        what: String,
        /// What is wrong and what to do.
        reason: String,
    },
}
