//! Where readers put what they found.

use serde_json::{Map, Value};

use super::{ImportError, Skipped};
use crate::Invocation;

/// Skipped lines kept per file; the others are counted.
const MOST_SKIPPED: usize = 1_000;
/// Numbers kept per file, so that a hostile file can't fill the memory.
const MOST_NUMBERS: usize = 1_000_000;
/// Characters of a skipped line that are shown.
const EXCERPT: usize = 80;

/// One sitting of one configuration as a foreign file holds it.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// Name and, when the file says, version of the tool.
    pub tool: String,
    /// Name of the configuration by the content; the file's name serves when there is none.
    pub configuration: Option<String>,
    /// Start as RFC 3339 in UTC, or empty.
    pub started: String,
    /// What the file says about the machine.
    pub environment: Map<String, Value>,
    pub invocations: Vec<Invocation>,
}

impl Run {
    pub fn new(tool: impl Into<String>) -> Self {
        Run { tool: tool.into(), ..Run::default() }
    }

    /// The invocation of `metric` (full name), when this run has one.
    pub fn has(&self, metric: &str) -> bool {
        self.invocations.iter().any(|invocation| invocation.metric == metric)
    }
}

/// Collects the runs, skipped lines and notes of one file.
pub(super) struct Sink {
    pub file: String,
    pub runs: Vec<Run>,
    pub skipped: Vec<Skipped>,
    pub skipped_more: usize,
    pub notes: Vec<String>,
    numbers: usize,
}

impl Sink {
    pub fn new(file: String) -> Self {
        Sink { file, runs: vec![], skipped: vec![], skipped_more: 0, notes: vec![], numbers: 0 }
    }

    /// Reports a line that looks like a measurement and can't be used.
    pub fn skip(&mut self, line: usize, text: &[u8], why: impl Into<String>) {
        if self.skipped.len() >= MOST_SKIPPED {
            self.skipped_more += 1;
            return;
        }
        self.skipped.push(Skipped { file: self.file.clone(), line, excerpt: excerpt(text), why: why.into() });
    }

    /// Says something about the file once.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = format!("{}: {}", self.file, note.into());
        if self.notes.len() < MOST_SKIPPED && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Counts one more number; an error when the file holds more than fit.
    pub fn count(&mut self, line: usize) -> Result<(), ImportError> {
        self.numbers += 1;
        if self.numbers > MOST_NUMBERS {
            return Err(ImportError::TooLarge {
                file: self.file.clone(),
                what: format!("more than {MOST_NUMBERS} numbers (line {line})"),
            });
        }
        Ok(())
    }

    /// Keeps a run that holds something.
    pub fn run(&mut self, run: Run) {
        if !run.invocations.is_empty() || !run.environment.is_empty() {
            self.runs.push(run);
        }
    }
}

/// The beginning of a line, printable.
pub(super) fn excerpt(text: &[u8]) -> String {
    let cut = &text[..text.len().min(EXCERPT * 4)];
    let shown: String = String::from_utf8_lossy(cut)
        .trim()
        .chars()
        .take(EXCERPT)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if shown.len() < text.trim_ascii().len() && shown.chars().count() == EXCERPT {
        format!("{shown}…")
    } else {
        shown
    }
}
