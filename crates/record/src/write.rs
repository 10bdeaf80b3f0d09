//! Appending to a record.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::Line;

/// Appends lines to a record and flushes each one.
pub struct Writer {
    out: Box<dyn Write + Send>,
    path: Option<PathBuf>,
}

impl Writer {
    /// Creates `path`; an existing file is an error of kind `AlreadyExists`, never overwritten.
    pub fn create(path: &Path) -> io::Result<Self> {
        if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent)?;
        }
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        Ok(Writer { out: Box::new(file), path: Some(path.to_owned()) })
    }

    /// Opens an existing record to go on with it; cuts off a half-written last line first.
    pub fn append(path: &Path) -> io::Result<Self> {
        let whole = whole_lines(path)?;
        let file: File = OpenOptions::new().write(true).open(path)?;
        file.set_len(whole)?;
        drop(file);
        let file = OpenOptions::new().append(true).open(path)?;
        Ok(Writer { out: Box::new(file), path: Some(path.to_owned()) })
    }

    /// Writes to an open stream, e.g. standard output.
    pub fn to_stream(out: impl Write + Send + 'static) -> Self {
        Writer { out: Box::new(out), path: None }
    }

    /// Where the record is, when it is a file.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Appends one line in a single `write` and flushes it.
    pub fn line(&mut self, line: &Line) -> io::Result<()> {
        self.lines(std::slice::from_ref(line))
    }

    /// Appends lines that belong together in a single `write` and flushes them.
    pub fn lines(&mut self, lines: &[Line]) -> io::Result<()> {
        let mut text = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut text, line)?;
            text.push(b'\n');
        }
        self.out.write_all(&text)?;
        self.out.flush()
    }
}

/// Length of the part of the file that ends in a newline.
fn whole_lines(path: &Path) -> io::Result<u64> {
    let bytes = std::fs::read(path)?;
    Ok(bytes.iter().rposition(|&b| b == b'\n').map_or(0, |at| at as u64 + 1))
}
