//! Our own text format: `I addr,size`, `R`, `W`, `M`; `A n`, `F`, `F addr`, `S`, `P n`, `T pid/tid`; `#`.

use super::Format;
use super::bytes::{decimal, hex, hex_prefix, shown};
use super::lines::LineParser;
use crate::event::{Event, Kind};

/// The comment by which a thinned trace says so.
pub const THINNED_NOTE: &str = "# thinned";

/// Parser of the native text format.
#[derive(Default)]
pub(super) struct NativeText {
    thinned: bool,
}

impl LineParser for NativeText {
    const FORMAT: Format = Format::NativeText;
    const LAST_LINE_ENDS: bool = false;

    fn line(&mut self, line: &[u8], out: &mut Vec<Event>) -> Result<bool, String> {
        if line.starts_with(THINNED_NOTE.as_bytes()) {
            self.thinned = true;
        }
        let line = &line[..memchr::memchr(b'#', line).unwrap_or(line.len())];
        let line = line.trim_ascii();
        let Some((&letter, rest)) = line.split_first() else { return Ok(false) };
        let rest = rest.trim_ascii_start();
        let event = match letter {
            b'I' => access(Kind::Fetch, rest)?,
            b'R' => access(Kind::Read, rest)?,
            b'W' => access(Kind::Write, rest)?,
            b'M' => access(Kind::Modify, rest)?,
            b'A' => Event::control(Kind::AddressSpace, number(rest, u64::from(u32::MAX))?),
            b'P' => Event::control(Kind::Phase, number(rest, u64::MAX)?),
            b'T' => Event::control(Kind::Task, task(rest)?),
            b'S' if rest.is_empty() => Event::control(Kind::Sync, 0),
            b'F' if rest.is_empty() => Event::control(Kind::FlushAll, 0),
            b'F' => {
                let addr = hex(rest).ok_or_else(|| format!("{} is not an address", shown(rest)))?;
                Event::control(Kind::FlushPage, addr)
            }
            _ => {
                return Err(format!(
                    "{} is no record; I, R, W, M, A, F, S, P, T and # begin one",
                    shown(line)
                ));
            }
        };
        out.push(event);
        Ok(true)
    }

    fn thinned(&self) -> bool {
        self.thinned
    }
}

/// `addr,size`.
pub(super) fn access(kind: Kind, text: &[u8]) -> Result<Event, String> {
    let bad = || format!("{} is not ADDRESS,SIZE (hexadecimal, decimal)", shown(text));
    let (addr, n) = hex_prefix(text).ok_or_else(bad)?;
    let size = text[n..].strip_prefix(b",").and_then(decimal).ok_or_else(bad)?;
    Ok(Event::access(kind, addr, super::checked_access(addr, size)?))
}

fn number(text: &[u8], most: u64) -> Result<u64, String> {
    let n = decimal(text).filter(|&n| n <= most);
    n.ok_or_else(|| format!("{} is not a number up to {most}", shown(text)))
}

fn task(text: &[u8]) -> Result<u64, String> {
    let bad = || format!("{} is not PID/TID", shown(text));
    let at = memchr::memchr(b'/', text).ok_or_else(bad)?;
    let part = |t: &[u8]| decimal(t).filter(|&n| n <= u64::from(u32::MAX)).ok_or_else(bad);
    Ok(part(&text[..at])? << 32 | part(&text[at + 1..])?)
}
