//! valgrind's lackey with `--trace-mem=yes`: `I  addr,size`, ` L addr,size`, ` S`, ` M`; `==` begins chatter.

use super::Format;
use super::bytes::{comma8, hex8, shown};
use super::lines::LineParser;
use super::native_text::access;
use crate::event::{Event, Kind};

/// Where an address begins in its line.
const ADDRESS: usize = 3;

/// First three bytes of a line, by kind.
const HEADS: [u32; 4] = [
    u32::from_le_bytes(*b"I  \0"),
    u32::from_le_bytes(*b" L \0"),
    u32::from_le_bytes(*b" S \0"),
    u32::from_le_bytes(*b" M \0"),
];

/// Kinds by the low bits of the first two bytes, one xor the other, which differ for the four heads.
const KINDS: [Kind; 32] = {
    let mut kinds = [Kind::Fetch; 32];
    kinds[((b' ' ^ b'L') & 0x1f) as usize] = Kind::Read;
    kinds[((b' ' ^ b'S') & 0x1f) as usize] = Kind::Write;
    kinds[((b' ' ^ b'M') & 0x1f) as usize] = Kind::Modify;
    kinds
};

/// Parser of lackey's output.
pub(super) struct Lackey;

impl LineParser for Lackey {
    const FORMAT: Format = Format::Lackey;
    const LAST_LINE_ENDS: bool = true;

    /// Kinds vary from line to line in ways that no branch predictor knows, so nothing here branches on them.
    #[inline(always)]
    fn quick(&mut self, rest: &[u8]) -> Option<(Event, usize)> {
        let line = rest.first_chunk::<32>()?;
        let kind = KINDS[usize::from((line[0] ^ line[1]) & 0x1f)];
        let head = u32::from_le_bytes([line[0], line[1], line[2], 0]);
        // lackey pads addresses to eight digits; up to seven more may follow.
        let eight = hex8(word(line, ADDRESS))?;
        let tail = word(line, ADDRESS + 8);
        let more = comma8(tail)?;
        let addr = if more == 0 {
            eight
        } else {
            let zeros = 0x3030_3030_3030_3030 >> (8 * more);
            (eight << (4 * more)) | hex8((tail << (8 * (8 - more))) | zeros)?
        };
        let comma = ADDRESS + 8 + more as usize;
        let [one, two, three] = [line[comma + 1], line[comma + 2], line[comma + 3]];
        let mut size = u32::from(one.wrapping_sub(b'0'));
        if head != HEADS[kind as usize & 3] || size > 9 {
            return None;
        }
        let tens = two != b'\n';
        if tens {
            let low = u32::from(two.wrapping_sub(b'0'));
            if low > 9 || three != b'\n' {
                return None;
            }
            size = 10 * size + low;
        }
        if size == 0 {
            return None;
        }
        Some((Event::access(kind, addr, size), comma + 3 + usize::from(tens)))
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

/// Eight bytes of a line.
#[inline(always)]
fn word(line: &[u8; 32], at: usize) -> u64 {
    line[at..].first_chunk().map_or(0, |b| u64::from_le_bytes(*b))
}

fn kind(line: &[u8]) -> Option<Kind> {
    match line.first_chunk::<3>()? {
        b"I  " => Some(Kind::Fetch),
        b" L " => Some(Kind::Read),
        b" S " => Some(Kind::Write),
        b" M " => Some(Kind::Modify),
        _ => None,
    }
}
