//! valgrind's lackey with `--trace-mem=yes`: `I  addr,size`, ` L addr,size`, ` S`, ` M`; `==` begins chatter.

use super::Format;
use super::bytes::{decimal_prefix, hex_prefix, shown};
use super::lines::LineParser;
use super::native_text::access;
use crate::event::{Event, Kind};

/// Parser of lackey's output.
pub(super) struct Lackey;

impl LineParser for Lackey {
    const FORMAT: Format = Format::Lackey;
    const LAST_LINE_ENDS: bool = true;

    #[inline]
    fn quick(&mut self, rest: &[u8]) -> Option<(Event, usize)> {
        let kind = kind(rest)?;
        let (addr, n) = hex_prefix(&rest[3..])?;
        let comma = 3 + n;
        let (&b',', tail) = rest[comma..].split_first()? else { return None };
        let (size, m) = decimal_prefix(tail)?;
        if tail.get(m) != Some(&b'\n') {
            return None;
        }
        let size = super::checked_access(addr, size).ok()?;
        Some((Event::access(kind, addr, size), comma + 1 + m + 1))
    }

    fn line(&mut self, line: &[u8], out: &mut Vec<Event>) -> Result<bool, String> {
        if line.is_empty() || line.starts_with(b"==") || line.starts_with(b"--") {
            return Ok(false);
        }
        let kind = kind(line)
            .ok_or_else(|| format!("{} is no lackey record (I, ␣L, ␣S, ␣M and an address)", shown(line)))?;
        out.push(access(kind, line[3..].trim_ascii())?);
        Ok(true)
    }
}

#[inline]
fn kind(line: &[u8]) -> Option<Kind> {
    match line.first_chunk::<3>()? {
        b"I  " => Some(Kind::Fetch),
        b" L " => Some(Kind::Read),
        b" S " => Some(Kind::Write),
        b" M " => Some(Kind::Modify),
        _ => None,
    }
}
