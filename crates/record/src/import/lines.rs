//! Lines of an input of any size, in a bounded buffer, with mail quoting and quoted-printable taken off.

use std::io::{self, Read};

/// A longer line is cut here; no format read has such lines.
const LONGEST: usize = 1 << 20;
const CHUNK: usize = 1 << 18;

/// One line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// From 1.
    pub number: usize,
    /// Levels of `>` quoting taken off.
    pub depth: u8,
    /// Without line end, quoting and quoted-printable.
    pub text: &'a [u8],
}

/// Gives out one line after the other.
pub(super) struct Lines<R> {
    from: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
    number: usize,
    /// A mail header declared quoted-printable.
    printable: bool,
    /// A line joined from quoted-printable pieces, or decoded.
    joined: Vec<u8>,
    /// Bytes given out so far.
    pub bytes: u64,
    /// The first line that was cut or held NUL bytes, with what it was.
    pub odd: Option<(usize, &'static str)>,
}

impl<R: Read> Lines<R> {
    pub fn new(from: R) -> Self {
        Lines {
            from,
            buffer: vec![0; CHUNK],
            start: 0,
            end: 0,
            ended: false,
            number: 0,
            printable: false,
            joined: Vec::new(),
            bytes: 0,
            odd: None,
        }
    }

    /// Lines given out so far.
    pub fn count(&self) -> usize {
        self.number
    }

    /// The next line.
    pub fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        let Some((from, to)) = self.raw()? else { return Ok(None) };
        let number = self.number;
        // quoted-printable shows at the end of a line: a soft break or an encoded blank
        if self.printable || ends_printable(trim_end(&self.buffer[from..to])) {
            return self.quoted_printable(from, to, number).map(Some);
        }
        let line = trim_end(&self.buffer[from..to]);
        if line.first() == Some(&b'C') && declares_printable(line) {
            self.printable = true;
        }
        let (depth, text) = unquote(line);
        Ok(Some(Line { number, depth, text }))
    }

    /// Bounds of the next line in the buffer, without its newline.
    #[inline]
    fn raw(&mut self) -> io::Result<Option<(usize, usize)>> {
        let mut searched = self.start;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[searched..self.end]) {
                let (from, to) = (self.start, searched + at);
                self.start = to + 1;
                self.number += 1;
                self.bytes += (to + 1 - from) as u64;
                return Ok(Some((from, to)));
            }
            searched = self.end;
            if self.ended {
                if self.start == self.end {
                    return Ok(None);
                }
                let from = self.start;
                self.start = self.end;
                self.number += 1;
                self.bytes += (self.end - from) as u64;
                return Ok(Some((from, self.end)));
            }
            searched -= self.refill()?;
        }
    }

    /// Reads more; returns how far the data moved down in the buffer.
    fn refill(&mut self) -> io::Result<usize> {
        let mut moved = self.start;
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end >= LONGEST {
            // keep the beginning of an endless line, drop what follows it
            self.odd.get_or_insert((self.number + 1, "a line longer than 1 MiB"));
            self.bytes += (self.end - CHUNK) as u64;
            moved += self.end - CHUNK;
            self.end = CHUNK;
        }
        if self.buffer.len() < self.end + CHUNK {
            self.buffer.resize(self.end + CHUNK, 0);
        }
        let n = self.from.read(&mut self.buffer[self.end..])?;
        self.end += n;
        self.ended = n == 0;
        Ok(moved)
    }

    fn quoted_printable(&mut self, from: usize, to: usize, number: usize) -> io::Result<Line<'_>> {
        let mut piece = (from, to);
        self.joined.clear();
        let mut depth = 0;
        loop {
            let line = trim_end(&self.buffer[piece.0..piece.1]);
            let (quoted, text) = unquote(line);
            if self.joined.is_empty() {
                depth = quoted;
            }
            let more = text.last() == Some(&b'=');
            let text = if more { &text[..text.len() - 1] } else { text };
            if self.printable {
                decode_printable(text, &mut self.joined);
            } else {
                self.joined.extend_from_slice(text);
                while self.joined.ends_with(b"=20") {
                    let kept = self.joined.len() - 3;
                    self.joined.truncate(kept);
                }
            }
            if !more || self.joined.len() > LONGEST {
                break;
            }
            match self.raw()? {
                Some(next) => piece = next,
                None => break,
            }
        }
        Ok(Line { number, depth, text: trim_end(&self.joined) })
    }
}

fn trim_end(mut line: &[u8]) -> &[u8] {
    while let [rest @ .., b' ' | b'\r' | b'\t' | b'\x0c'] = line {
        line = rest;
    }
    line
}

/// Takes off `> ` quoting of a mail; exactly one blank belongs to each mark, so that columns keep their places.
fn unquote(mut line: &[u8]) -> (u8, &[u8]) {
    let mut depth = 0u8;
    while let [b'>', rest @ ..] = line {
        line = rest.strip_prefix(b" ").unwrap_or(rest);
        depth = depth.saturating_add(1);
    }
    (depth, line)
}

/// A soft line break or an encoded blank.
#[inline]
fn ends_printable(line: &[u8]) -> bool {
    match line.last() {
        Some(b'=') => line.len() >= 60,
        Some(b'0') => line.ends_with(b"=20"),
        _ => false,
    }
}

fn declares_printable(line: &[u8]) -> bool {
    let lower = line[..line.len().min(100)].to_ascii_lowercase();
    lower.starts_with(b"content-transfer-encoding:") && lower.ends_with(b"quoted-printable")
}

fn decode_printable(text: &[u8], to: &mut Vec<u8>) {
    let hex = |b: u8| char::from(b).to_digit(16);
    let mut at = 0;
    while at < text.len() {
        let code = match text[at..] {
            [b'=', a, b, ..] => hex(a).zip(hex(b)).map(|(a, b)| (a * 16 + b) as u8),
            _ => None,
        };
        to.push(code.unwrap_or(text[at]));
        at += if code.is_some() { 3 } else { 1 };
    }
}
