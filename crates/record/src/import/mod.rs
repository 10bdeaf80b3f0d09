//! Numbers other people already have, read into records.
//!
//! The format is found by content, never by a file's extension. Every line that looks like a measurement and could not be
//! used is reported with its number and the reason; nothing is guessed, and what is absent is never 0.
//! `docs/import.md` says how each format's numbers become lines of a record.

mod criterion;
mod go;
mod google;
mod hyperfine;
mod input;
mod json;
mod label;
mod lines;
mod lmbench;
mod long_csv;
mod number;
mod perf;
mod sink;
mod sniff;
mod text;
mod tlb_probe;

use std::path::PathBuf;

use crate::Record;

pub use input::Source;
pub use perf::direction as perf_event_direction;

/// The formats read, as listed when a file holds none of them.
pub const FORMATS: &str = "tlbench records; LMbench result files and summary tables (also inside mails); \
     perf stat text, -x and -j; hyperfine JSON and CSV; criterion and critcmp JSON; go test -bench and benchstat; \
     Google Benchmark JSON and CSV; long CSV with config, metric and value columns";

/// What the user said about the inputs.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Name of the configuration, when the inputs hold only one.
    pub label: Option<String>,
    /// Other names for some runs of one configuration, for a file that holds several states under one name:
    /// `(run numbers from 1, name)`.
    pub runs: Vec<(std::ops::RangeInclusive<usize>, String)>,
}

/// One line that looked like a measurement and was not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Name of the file.
    pub file: String,
    /// Line, from 1; 0 when the format has no lines to speak of.
    pub line: usize,
    /// The beginning of the line.
    pub excerpt: String,
    /// Why it was not used.
    pub why: String,
}

impl std::fmt::Display for Skipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}", self.why)?;
        if self.excerpt.is_empty() { Ok(()) } else { write!(f, ": {}", self.excerpt) }
    }
}

/// What was read.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// One record per configuration, in the order of appearance. Several runs of one configuration are its sittings.
    pub records: Vec<Record>,
    /// Lines that look like measurements and were not used.
    pub skipped: Vec<Skipped>,
    /// Skipped lines beyond those kept in `skipped` (the first 1,000 of each file).
    pub skipped_more: usize,
    /// What a reader of these numbers should know: what the format does not say, what looks impossible.
    pub notes: Vec<String>,
}

/// Why nothing could be read.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file could not be opened or read.
    #[error("{file}: {error}")]
    Io {
        /// Name of the file.
        file: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// The file holds no number in any format read.
    #[error("{file}: no measurement found ({what}); formats read: {FORMATS}")]
    Nothing {
        /// Name of the file.
        file: String,
        /// What was seen instead.
        what: String,
    },
    /// The format was recognised, its content is damaged.
    #[error("{file}: {format}, {place}: {why}")]
    Damaged {
        /// Name of the file.
        file: String,
        /// Format recognised.
        format: &'static str,
        /// Line, column and byte.
        place: String,
        /// What is wrong and what to do.
        why: String,
    },
    /// A tlbench record that can't be read.
    #[error("{file}: {error}")]
    Record {
        /// Name of the file.
        file: String,
        /// Why.
        error: crate::ReadError,
    },
    /// More than this version holds in memory.
    #[error("{file}: {what}; split the file")]
    TooLarge {
        /// Name of the file.
        file: String,
        /// Which limit was reached, where.
        what: String,
    },
}

/// Reads all inputs; directories are one configuration each, and their files its runs.
///
/// Fails when one of the inputs can't be read or holds no number at all.
pub fn read(inputs: Vec<Source>, options: &Options) -> Result<Imported, ImportError> {
    let mut imported = Imported::default();
    let mut found = Vec::new();
    let mut last_error = None;
    for source in inputs {
        for mut input in source.open()? {
            let mut sink = sink::Sink::new(input.name.clone());
            let mut records = Vec::new();
            let read = sniff::read_one(&mut input, &mut sink, &mut records);
            if let Err(error) = read {
                // one file of a directory may be something else
                if input.origin.directory.is_none() || matches!(error, ImportError::Io { .. }) {
                    return Err(error);
                }
                let why = error.to_string();
                match error {
                    ImportError::Nothing { .. } => sink.note("holds no measurement, not read"),
                    _ => sink.skip(0, b"", why),
                }
                last_error = Some(error);
            }
            for record in &mut records {
                label::of_record(record, &input, options);
            }
            imported.records.append(&mut records);
            let sink::Sink { runs, skipped, skipped_more, notes, .. } = sink;
            imported.skipped.extend(skipped);
            imported.skipped_more += skipped_more;
            for note in notes {
                if !imported.notes.contains(&note) {
                    imported.notes.push(note);
                }
            }
            found.push(label::Found { origin: input.origin, runs });
        }
    }
    label::into_records(found, options, &mut imported);
    match last_error {
        Some(error) if imported.records.is_empty() => Err(error),
        _ => Ok(imported),
    }
}

/// Reads files and directories by path; `-` is standard input.
pub fn read_paths(paths: &[PathBuf], options: &Options) -> Result<Imported, ImportError> {
    read(paths.iter().map(Source::path).collect(), options)
}
