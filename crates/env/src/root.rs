//! The place `/proc`, `/sys`, `/dev`, `/boot` and `/etc` are read from: the machine itself or a directory of fixtures.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// No file is read beyond this many bytes; what a kernel or a fixture shows is far smaller.
const MAX_BYTES: u64 = 16 << 20;

/// No directory is listed beyond this many entries.
const MAX_ENTRIES: usize = 65_536;

/// Why a fact is not known. Shown to users and stored beside `null`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Missing {
    /// One clause, naming the file or the right that is missing.
    pub reason: String,
}

impl Missing {
    /// A missing fact with its reason.
    pub fn because(reason: impl Into<String>) -> Self {
        Missing { reason: reason.into() }
    }

    fn from_io(path: &str, error: &std::io::Error) -> Self {
        Missing::because(match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => format!("no {path}"),
            ErrorKind::PermissionDenied => format!("no permission to read {path}"),
            _ => format!("{path}: {error}"),
        })
    }
}

/// A path prefix under which everything is read.
#[derive(Clone, Debug)]
pub struct Root {
    prefix: PathBuf,
    host: bool,
}

impl Root {
    /// This machine.
    pub fn host() -> Self {
        Root { prefix: PathBuf::from("/"), host: true }
    }

    /// A directory that holds `proc/`, `sys/` and so on: fixtures, or a copy taken elsewhere.
    /// Nothing outside it is asked (no `cpuid`, no system call about this process).
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Root { prefix: directory.into(), host: false }
    }

    /// True for [`Root::host`].
    pub fn is_host(&self) -> bool {
        self.host
    }

    /// Where the absolute path `absolute` lies under this root.
    pub fn path(&self, absolute: &str) -> PathBuf {
        self.prefix.join(Path::new(absolute.trim_start_matches('/')))
    }

    /// True when the file or directory exists and may be seen.
    pub fn exists(&self, absolute: &str) -> bool {
        self.path(absolute).exists()
    }

    /// The bytes of a file (at most 16 MiB of it).
    pub fn bytes(&self, absolute: &str) -> Result<Vec<u8>, Missing> {
        self.start(absolute, MAX_BYTES)
    }

    /// The first `limit` bytes of a file.
    pub(crate) fn start(&self, absolute: &str, limit: u64) -> Result<Vec<u8>, Missing> {
        // Most files are a line; a buffer at hand spares them the small probing read of an empty one.
        let mut bytes = Vec::with_capacity(4096);
        File::open(self.path(absolute))
            .and_then(|file| file.take(limit).read_to_end(&mut bytes))
            .map_err(|error| Missing::from_io(absolute, &error))?;
        Ok(bytes)
    }

    /// The text of a file without trailing white space and NUL; may be empty. Bytes that are not UTF-8 are replaced.
    pub fn contents(&self, absolute: &str) -> Result<String, Missing> {
        let bytes = self.bytes(absolute)?;
        Ok(String::from_utf8_lossy(&bytes)
            .trim_end_matches(|c: char| c.is_whitespace() || c == '\0')
            .to_owned())
    }

    /// Like [`Root::contents`], but an empty file is a missing fact.
    pub fn text(&self, absolute: &str) -> Result<String, Missing> {
        let text = self.contents(absolute)?;
        if text.trim().is_empty() {
            return Err(Missing::because(format!("{absolute} is empty")));
        }
        Ok(text)
    }

    /// The decimal number a file holds.
    pub fn number(&self, absolute: &str) -> Result<i64, Missing> {
        let text = self.text(absolute)?;
        text.trim().parse().map_err(|_| Missing::because(format!("{absolute} does not hold a number")))
    }

    /// The bracketed word of a list such as `always [madvise] never` (also `none (full) lazy`).
    /// A file without brackets gives its whole text.
    pub fn chosen(&self, absolute: &str) -> Result<String, Missing> {
        let text = self.text(absolute)?;
        let word = text.split_whitespace().find_map(|word| {
            let bracketed = word.strip_prefix('[').and_then(|word| word.strip_suffix(']'));
            bracketed.or_else(|| word.strip_prefix('(').and_then(|word| word.strip_suffix(')')))
        });
        Ok(word.map_or(text.clone(), str::to_owned))
    }

    /// The names in a directory, in alphabetical order.
    pub fn list(&self, absolute: &str) -> Result<Vec<String>, Missing> {
        let entries =
            fs::read_dir(self.path(absolute)).map_err(|error| Missing::from_io(absolute, &error))?;
        let mut names: Vec<String> = entries
            .take(MAX_ENTRIES)
            .filter_map(Result::ok)
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        Ok(names)
    }

    /// Where a symbolic link points, as text.
    pub fn link(&self, absolute: &str) -> Result<String, Missing> {
        fs::read_link(self.path(absolute))
            .map(|target| target.to_string_lossy().into_owned())
            .map_err(|error| Missing::from_io(absolute, &error))
    }

    /// The value behind `key:` in a file of such lines, e.g. `/proc/meminfo` or `/proc/self/status`.
    pub fn keyed(&self, absolute: &str, key: &str) -> Result<String, Missing> {
        keyed(&self.contents(absolute)?, key)
            .map(str::to_owned)
            .ok_or_else(|| Missing::because(format!("no {key} in {absolute}")))
    }
}

/// The value behind the first `key:` line of `text`.
pub(crate) fn keyed<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}
