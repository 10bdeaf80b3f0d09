//! What can be wrong with a trace.

use std::io;

use thiserror::Error;

/// A trace that cannot be read on.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The file cannot be opened.
    #[error("{name}: {reason}")]
    Open {
        /// File name.
        name: String,
        /// Why.
        reason: String,
    },
    /// The system (or the decompressor) failed.
    #[error("{name}: byte {byte}: {reason}")]
    Io {
        /// File name.
        name: String,
        /// Bytes of (decompressed) input before the failure.
        byte: u64,
        /// What failed.
        reason: String,
    },
    /// A line of a text format makes no sense.
    #[error("{name}: line {line} (byte {byte}): {reason}")]
    Line {
        /// File name.
        name: String,
        /// Line, from 1.
        line: u64,
        /// Offset of its first byte in the decompressed input.
        byte: u64,
        /// What is wrong.
        reason: String,
    },
    /// A record of a binary format makes no sense.
    #[error("{name}: record {record} (byte {byte}): {reason}")]
    Record {
        /// File name.
        name: String,
        /// Record, from 1.
        record: u64,
        /// Offset of its first byte in the decompressed input.
        byte: u64,
        /// What is wrong.
        reason: String,
    },
    /// The content is none of the formats.
    #[error("{name}: byte 0: {reason}")]
    Unknown {
        /// File name.
        name: String,
        /// What was seen, and what to do.
        reason: String,
    },
}

impl TraceError {
    pub(super) fn io(name: &str, byte: u64, error: io::Error) -> Self {
        let reason = match error.kind() {
            io::ErrorKind::UnexpectedEof => format!("the compressed data is cut: {error}"),
            _ => error.to_string(),
        };
        TraceError::Io { name: name.into(), byte, reason }
    }
}
