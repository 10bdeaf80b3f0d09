//! Dinero's din: `LABEL ADDR`, label 0 read, 1 write, 2 fetch; no size, so every access is one byte.

use super::Format;
use super::bytes::{hex, shown};
use super::lines::LineParser;
use crate::event::{Event, Kind};

/// Parser of din text.
pub(super) struct Din;

impl LineParser for Din {
    const FORMAT: Format = Format::Din;
    const LAST_LINE_ENDS: bool = false;

    fn line(&mut self, line: &[u8], out: &mut Vec<Event>) -> Result<bool, String> {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
        let Some(label) = words.next() else { return Ok(false) };
        let kind = match label {
            b"0" => Kind::Read,
            b"1" => Kind::Write,
            b"2" => Kind::Fetch,
            // Escape records and cache flushes say nothing about translation.
            b"3" | b"4" => return Ok(false),
            _ => return Err(format!("{}: label {} is not 0 to 4", shown(line), shown(label))),
        };
        let addr = words
            .next()
            .and_then(hex)
            .ok_or_else(|| format!("{} has no hexadecimal address of at most 64 bits", shown(line)))?;
        out.push(Event::access(kind, addr, 1));
        Ok(true)
    }
}
