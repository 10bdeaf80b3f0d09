//! The text that drmemtrace's `view` tool prints:
//! `record instr: Wn.Ttid ifetch|read|write N byte(s) @ 0xADDR …`; other records are markers.

use super::Format;
use super::bytes::{decimal, hex, shown};
use super::lines::LineParser;
use crate::event::{Event, Kind};

/// Parser of `view` lines.
#[derive(Default)]
pub(super) struct DrView {
    task: u64,
}

impl LineParser for DrView {
    const FORMAT: Format = Format::DrView;
    const LAST_LINE_ENDS: bool = true;

    fn line(&mut self, line: &[u8], out: &mut Vec<Event>) -> Result<bool, String> {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
        // Lines that do not begin with a record number are headings and statistics.
        let Some(_record) = words.next().and_then(decimal) else { return Ok(false) };
        let bad = |what: &str| format!("{} {what}", shown(line));
        let second = words.next();
        if second == Some(b":") {
            // The closing statistics: `15 : total instructions`.
            return Ok(false);
        }
        let instruction = second.and_then(|w| w.strip_suffix(b":")).and_then(decimal);
        instruction.ok_or_else(|| bad("has no instruction number before the colon"))?;
        let place = words.next().ok_or_else(|| bad("ends after the instruction number"))?;
        let task = task(place).ok_or_else(|| bad("has no Wn.Ttid"))?;
        let kind = match words.next() {
            Some(b"ifetch") => Kind::Fetch,
            Some(b"read") => Kind::Read,
            Some(b"write") => Kind::Write,
            Some(_) => return Ok(false),
            None => return Err(bad("ends before the kind of record")),
        };
        let size = words.next().and_then(decimal).ok_or_else(|| bad("has no number of bytes"))?;
        let addr = match (words.next(), words.next(), words.next().and_then(hex)) {
            (Some(b"byte(s)"), Some(b"@"), Some(addr)) => addr,
            _ => return Err(bad("has no address")),
        };
        if task != self.task {
            self.task = task;
            out.push(Event::control(Kind::Task, task));
        }
        out.push(Event::access(kind, addr, super::checked_access(addr, size)?));
        Ok(true)
    }
}

/// `W0.T7`: workload (a process, here) and thread; `T7` before workloads were numbered.
fn task(word: &[u8]) -> Option<u64> {
    if let Some(thread) = word.strip_prefix(b"T") {
        return Some(decimal(thread)? & 0xffff_ffff);
    }
    let at = memchr::memchr(b'.', word)?;
    let workload = decimal(word[..at].strip_prefix(b"W")?)?;
    let thread = decimal(word[at + 1..].strip_prefix(b"T")?)?;
    Some((workload & 0xffff_ffff) << 32 | thread & 0xffff_ffff)
}
