//! Buffered bytes with a position, decompressed on the way.

use std::io::{self, Cursor, Read};

use super::TraceError;

const BUFFER: usize = 1 << 18;
/// What [`Input::look`] shows.
const LOOK: usize = 1 << 14;

/// A decompressed stream of bytes.
pub(super) struct Input {
    name: String,
    source: Box<dyn Read>,
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    /// Offset of `buffer[from]` in the stream.
    offset: u64,
    ended: bool,
}

impl Input {
    /// Wraps a source; gzip, zstd and xz are recognised by their first bytes.
    pub(super) fn new(mut source: Box<dyn Read>, name: &str) -> Result<Self, TraceError> {
        let fail = |e| TraceError::io(name, 0, e);
        let mut head = vec![0; 6];
        let n = read_full(&mut source, &mut head).map_err(fail)?;
        head.truncate(n);
        let whole: Box<dyn Read> = Box::new(Cursor::new(head.clone()).chain(source));
        let source: Box<dyn Read> = match head.as_slice() {
            [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(whole)),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                let mut decoder = zstd::stream::read::Decoder::new(whole).map_err(fail)?;
                // Bounds the memory that a frame header may ask for.
                decoder.window_log_max(27).map_err(fail)?;
                Box::new(decoder)
            }
            [0xfd, b'7', b'z', b'X', b'Z', 0] => Box::new(liblzma::read::XzDecoder::new_multi_decoder(whole)),
            _ => whole,
        };
        Ok(Input {
            name: name.into(),
            source,
            buffer: vec![0; BUFFER],
            from: 0,
            to: 0,
            offset: 0,
            ended: false,
        })
    }

    /// File name, for errors.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Offset of the first unconsumed byte.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Unconsumed bytes at hand.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.from..self.to]
    }

    /// Whether the source has nothing more than [`Input::bytes`].
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// Marks bytes as used.
    pub(super) fn consume(&mut self, n: usize) {
        self.from += n;
        self.offset += n as u64;
    }

    /// Reads more behind the unconsumed bytes, once. Does nothing at the end or when the buffer is full.
    pub(super) fn more(&mut self) -> Result<(), TraceError> {
        if self.ended {
            return Ok(());
        }
        if self.from > 0 {
            self.buffer.copy_within(self.from..self.to, 0);
            self.to -= self.from;
            self.from = 0;
        }
        if self.to == self.buffer.len() {
            return Ok(());
        }
        loop {
            match self.source.read(&mut self.buffer[self.to..]) {
                Ok(0) => self.ended = true,
                Ok(n) => self.to += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(TraceError::io(&self.name, self.offset + self.bytes().len() as u64, e)),
            }
            return Ok(());
        }
    }

    /// At least `n` bytes at hand unless the stream ends before.
    pub(super) fn at_least(&mut self, n: usize) -> Result<&[u8], TraceError> {
        while self.bytes().len() < n && !self.ended {
            self.more()?;
        }
        Ok(self.bytes())
    }

    /// The beginning of the stream, unconsumed. Reads no more of a pipe than it has to offer at first, if that
    /// holds a few lines.
    pub(super) fn look(&mut self) -> Result<&[u8], TraceError> {
        while !self.ended && self.bytes().len() < LOOK {
            self.more()?;
            if self.bytes().iter().filter(|&&b| b == b'\n').count() > 16 {
                break;
            }
        }
        let n = self.bytes().len().min(LOOK);
        Ok(&self.bytes()[..n])
    }
}

fn read_full(source: &mut dyn Read, into: &mut [u8]) -> io::Result<usize> {
    let mut n = 0;
    while n < into.len() {
        match source.read(&mut into[n..]) {
            Ok(0) => break,
            Ok(k) => n += k,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(n)
}
