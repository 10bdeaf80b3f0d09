//! The loop that all line-based formats share.

use super::input::Input;
use super::{CHUNK, Format, TraceError, TraceReader};
use crate::event::Event;

/// Longest line of any text format, in bytes.
pub const MAX_LINE: usize = 1 << 16;

/// Parses single lines of one format.
pub(super) trait LineParser {
    /// The format.
    const FORMAT: Format;
    /// Whether a tool wrote the trace, so that a last line without its end means that it was cut.
    const LAST_LINE_ENDS: bool;

    /// A record at the start of `rest` in its usual form, and the bytes it takes, line end included. `None`
    /// sends the line to [`LineParser::line`]; worth writing only for formats that come in billions of lines.
    #[inline]
    fn quick(&mut self, _rest: &[u8]) -> Option<(Event, usize)> {
        None
    }

    /// One whole line without its end; appends its records. `Ok(false)` when the line holds none.
    fn line(&mut self, line: &[u8], out: &mut Vec<Event>) -> Result<bool, String>;

    /// Whether a note in the trace says that it was thinned.
    fn thinned(&self) -> bool {
        false
    }
}

/// A reader for one line-based format.
pub(super) struct LineReader<P> {
    input: Input,
    parser: P,
    /// Lines consumed.
    lines: u64,
    skipped: u64,
}

impl<P: LineParser> LineReader<P> {
    pub(super) fn new(input: Input, parser: P) -> Self {
        LineReader { input, parser, lines: 0, skipped: 0 }
    }

    /// Parses complete lines at hand until there is a chunk of records; the bytes used.
    fn block(&mut self, out: &mut Vec<Event>) -> Result<usize, (usize, String)> {
        let bytes = self.input.bytes();
        let (mut at, mut lines) = (0, 0);
        out.reserve(CHUNK.saturating_sub(out.len()));
        while out.len() < CHUNK {
            let rest = &bytes[at..];
            if let Some((event, used)) = self.parser.quick(rest) {
                out.push(event);
                at += used;
                lines += 1;
                continue;
            }
            self.lines += lines;
            lines = 0;
            let Some(end) = memchr::memchr(b'\n', rest) else { break };
            if end > MAX_LINE {
                return Err((at, format!("a line of {end} bytes; no trace has lines over {MAX_LINE}")));
            }
            let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
            match self.parser.line(line, out) {
                Ok(had) => self.skipped += u64::from(!had),
                Err(reason) => return Err((at, reason)),
            }
            at += end + 1;
            self.lines += 1;
        }
        self.lines += lines;
        Ok(at)
    }

    /// The last line, which has no line end.
    fn unended(&mut self, out: &mut Vec<Event>) -> Result<(), String> {
        let line = self.input.bytes().to_vec();
        if line.len() > MAX_LINE {
            return Err(format!("a line of more than {MAX_LINE} bytes"));
        }
        if P::LAST_LINE_ENDS {
            return Err("the trace ends in the middle of a line: it is cut".into());
        }
        let had = self.parser.line(&line, out)?;
        self.skipped += u64::from(!had);
        self.input.consume(line.len());
        Ok(())
    }

    fn error(&self, at: usize, reason: String) -> TraceError {
        TraceError::Line {
            name: self.input.name().into(),
            line: self.lines + 1,
            byte: self.input.offset() + at as u64,
            reason,
        }
    }
}

impl<P: LineParser> TraceReader for LineReader<P> {
    fn read(&mut self, out: &mut Vec<Event>) -> Result<bool, TraceError> {
        out.clear();
        loop {
            let used = self.block(out).map_err(|(at, reason)| self.error(at, reason))?;
            self.input.consume(used);
            if out.len() >= CHUNK {
                return Ok(true);
            }
            if self.input.ended() {
                if !self.input.bytes().is_empty() {
                    self.unended(out).map_err(|reason| self.error(0, reason))?;
                }
                return Ok(false);
            }
            if self.input.bytes().len() > MAX_LINE {
                return Err(self.error(0, format!("a line of more than {MAX_LINE} bytes; is this a trace?")));
            }
            self.input.more()?;
        }
    }

    fn format(&self) -> Format {
        P::FORMAT
    }

    fn thinned(&self) -> bool {
        self.parser.thinned()
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }
}
