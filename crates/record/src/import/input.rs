//! Opening an input and bringing it to UTF-8 (or at least to bytes with ASCII line ends).

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::ImportError;

/// Bytes looked at to find the encoding and the format.
const HEAD: usize = 1 << 16;
/// Files of one directory argument.
const MOST_FILES: usize = 100_000;

/// One argument: a file, a directory, standard input, or a reader with a name.
pub struct Source(Kind);

enum Kind {
    Path(PathBuf),
    Reader(String, Box<dyn Read>),
}

impl Source {
    /// A file or directory; `-` is standard input.
    pub fn path(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        if path == Path::new("-") {
            return Source::reader("standard input", io::stdin());
        }
        Source(Kind::Path(path.to_owned()))
    }

    /// Anything that can be read, under a name for messages and labels.
    pub fn reader(name: impl Into<String>, reader: impl Read + 'static) -> Self {
        Source(Kind::Reader(name.into(), Box::new(reader)))
    }

    /// Text already in memory, under a name for messages and labels.
    pub fn bytes(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Source::reader(name, io::Cursor::new(bytes.into()))
    }

    /// Opens the input; a directory gives all its files, sorted by name, sub-directories included.
    pub(super) fn open(self) -> Result<Vec<Input>, ImportError> {
        match self.0 {
            Kind::Reader(name, reader) => {
                let origin = Origin { file: PathBuf::from(&name), directory: None };
                Ok(vec![Input::new(name, origin, reader)?])
            }
            Kind::Path(path) if path.is_dir() => {
                let mut files = Vec::new();
                list(&path, &mut files, 0)?;
                files.sort();
                let directory = directory_name(&path);
                files.into_iter().map(|file| Input::open(&file, Some(directory.clone()))).collect()
            }
            Kind::Path(path) => Ok(vec![Input::open(&path, None)?]),
        }
    }
}

/// A directory's own name, also for `.` and `..`.
fn directory_name(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    whole.file_name().map_or_else(|| "/".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn list(directory: &Path, files: &mut Vec<PathBuf>, depth: usize) -> Result<(), ImportError> {
    let failed = |error| ImportError::Io { file: directory.display().to_string(), error };
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if kind.is_dir() && depth < 16 {
            list(&entry.path(), files, depth + 1)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
        if files.len() > MOST_FILES {
            return Err(ImportError::TooLarge {
                file: directory.display().to_string(),
                what: format!("more than {MOST_FILES} files"),
            });
        }
    }
    Ok(())
}

/// Where an input came from; decides its label.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub file: PathBuf,
    /// Name of the directory argument this file was found in.
    pub directory: Option<String>,
}

/// An open input, as UTF-8 without byte order mark.
pub(super) struct Input {
    pub name: String,
    pub origin: Origin,
    /// The first bytes, not yet given out by `read`.
    pub head: Vec<u8>,
    given: usize,
    rest: Box<dyn Read>,
    /// What was done to the encoding, for a note.
    pub recoded: Option<&'static str>,
}

impl Input {
    fn open(path: &Path, directory: Option<String>) -> Result<Self, ImportError> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| ImportError::Io { file: name.clone(), error })?;
        Input::new(name, Origin { file: path.to_owned(), directory }, Box::new(file))
    }

    fn new(name: String, origin: Origin, mut rest: Box<dyn Read>) -> Result<Self, ImportError> {
        let failed = |error| ImportError::Io { file: name.clone(), error };
        let mut head = fill(&mut rest).map_err(failed)?;
        let mut recoded = None;
        if head.starts_with(b"\xEF\xBB\xBF") {
            head.drain(..3);
        } else if let Some(encoding) = utf16(&head) {
            rest = Box::new(Recoder::new(encoding, io::Cursor::new(head).chain(rest)));
            head = fill(&mut rest).map_err(failed)?;
            recoded = Some(encoding.name());
        }
        Ok(Input { name, origin, head, given: 0, rest, recoded })
    }

    /// The whole content, at most `limit` bytes.
    pub fn whole(&mut self, limit: usize) -> Result<Vec<u8>, ImportError> {
        let mut bytes = Vec::new();
        let name = self.name.clone();
        self.take(limit as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| ImportError::Io { file: name.clone(), error })?;
        if bytes.len() > limit {
            return Err(ImportError::TooLarge {
                file: name,
                what: format!("a single document of more than {} MiB", limit >> 20),
            });
        }
        Ok(bytes)
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.head.len() {
            return self.rest.read(buffer);
        }
        let n = buffer.len().min(self.head.len() - self.given);
        buffer[..n].copy_from_slice(&self.head[self.given..self.given + n]);
        self.given += n;
        Ok(n)
    }
}

fn fill(from: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    from.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// UTF-16 by its byte order mark, or by every second byte being NUL in what must be mostly ASCII.
fn utf16(head: &[u8]) -> Option<&'static encoding_rs::Encoding> {
    if head.starts_with(b"\xFF\xFE") {
        return Some(encoding_rs::UTF_16LE);
    }
    if head.starts_with(b"\xFE\xFF") {
        return Some(encoding_rs::UTF_16BE);
    }
    let probe = &head[..head.len().min(1024) & !1];
    if probe.len() < 8 {
        return None;
    }
    let nul = |odd: usize| probe.iter().skip(odd).step_by(2).filter(|&&b| b == 0).count();
    let (even, odd, pairs) = (nul(0), nul(1), probe.len() / 2);
    if odd * 10 > pairs * 9 && even == 0 {
        return Some(encoding_rs::UTF_16LE);
    }
    (even * 10 > pairs * 9 && odd == 0).then_some(encoding_rs::UTF_16BE)
}

/// Turns UTF-16 into UTF-8 while reading.
struct Recoder<R> {
    decoder: encoding_rs::Decoder,
    from: R,
    raw: Vec<u8>,
    ready: Vec<u8>,
    given: usize,
    ended: bool,
}

impl<R: Read> Recoder<R> {
    fn new(encoding: &'static encoding_rs::Encoding, from: R) -> Self {
        Recoder {
            decoder: encoding.new_decoder_with_bom_removal(),
            from,
            raw: vec![0; 1 << 15],
            ready: Vec::new(),
            given: 0,
            ended: false,
        }
    }
}

impl<R: Read> Read for Recoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.ready.len() && !self.ended {
            let n = self.from.read(&mut self.raw)?;
            self.ended = n == 0;
            // UTF-16 grows by at most a half in UTF-8, plus a replacement character at the end
            self.ready.resize(n * 3 + 16, 0);
            let (_, _, written, _) = self.decoder.decode_to_utf8(&self.raw[..n], &mut self.ready, self.ended);
            self.ready.truncate(written);
            self.given = 0;
        }
        let n = buffer.len().min(self.ready.len() - self.given);
        buffer[..n].copy_from_slice(&self.ready[self.given..self.given + n]);
        self.given += n;
        Ok(n)
    }
}
