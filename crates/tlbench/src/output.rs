//! Where a run's record goes.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use record::{Header, Line, Writer};
use serde_json::Value;

/// Default place of records.
const DEFAULT_DIRECTORY: &str = "tlbench-results";

/// One or two writers of the same lines.
pub struct Output {
    writers: Vec<Writer>,
}

impl Output {
    /// Creates the record: `asked`, or a new file in [`DEFAULT_DIRECTORY`] (in the temporary directory where the
    /// current one can't be written). With `json`, the lines also go to standard output, and to a file only if asked.
    pub fn create(asked: Option<&Path>, json: bool, header: &Header) -> anyhow::Result<Self> {
        let mut writers = Vec::new();
        let to_stdout = json || asked.is_some_and(|path| path == Path::new("-"));
        if to_stdout {
            writers.push(Writer::to_stream(io::stdout()));
        }
        match asked {
            Some(path) if path == Path::new("-") => {}
            Some(path) => writers.push(Writer::create(path).map_err(|e| already(path, e))?),
            None if json => {}
            None => writers.push(in_default_place(header)?),
        }
        Ok(Output { writers })
    }

    /// Goes on with an existing record.
    pub fn append(path: &Path, json: bool) -> anyhow::Result<Self> {
        let mut writers = vec![Writer::append(path).with_context(|| path.display().to_string())?];
        if json {
            writers.push(Writer::to_stream(io::stdout()));
        }
        Ok(Output { writers })
    }

    /// Appends a line.
    pub fn line(&mut self, line: &Line) -> io::Result<()> {
        self.writers.iter_mut().try_for_each(|writer| writer.line(line))
    }

    /// Appends the lines of one run at once.
    pub fn lines(&mut self, lines: &[Line]) -> io::Result<()> {
        self.writers.iter_mut().try_for_each(|writer| writer.lines(lines))
    }

    /// The record's file, if there is one.
    pub fn path(&self) -> Option<&Path> {
        self.writers.iter().find_map(Writer::path)
    }

    /// The label of a run that was given none: the kernel release, or `this machine`.
    pub fn default_label(environment: &Value) -> String {
        environment::known(environment, "kernel.release")
            .and_then(Value::as_str)
            .map_or_else(|| "this machine".into(), str::to_owned)
    }
}

fn in_default_place(header: &Header) -> anyhow::Result<Writer> {
    let stamp: String = header.started.chars().filter(char::is_ascii_alphanumeric).take(15).collect();
    let label: String = header
        .label
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' })
        .collect();
    let mut refused = None;
    for directory in [PathBuf::from(DEFAULT_DIRECTORY), std::env::temp_dir().join(DEFAULT_DIRECTORY)] {
        for attempt in 0..100 {
            let suffix = if attempt == 0 { String::new() } else { format!("-{attempt}") };
            let path = directory.join(format!("{stamp}-{label}{suffix}.jsonl"));
            match Writer::create(&path) {
                Ok(writer) => return Ok(writer),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    refused = Some(format!("{}: {error}", path.display()));
                    break;
                }
            }
        }
    }
    anyhow::bail!("no place for the record ({}); name a file with -o", refused.unwrap_or_default())
}

fn already(path: &Path, error: io::Error) -> anyhow::Error {
    let advice = if error.kind() == io::ErrorKind::AlreadyExists {
        "; records are never overwritten, name a new file"
    } else {
        ""
    };
    anyhow::anyhow!("{}: {error}{advice}", path.display())
}
