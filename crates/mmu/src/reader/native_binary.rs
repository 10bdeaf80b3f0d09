//! Our own binary format: about two bytes per reference before compression.
//!
//! Magic, one byte of flags, then records. A record is a tag byte and variable-length numbers (LEB128):
//! * tag bits 0-2: 0 fetch, 1 load, 2 store, 3 modify; bits 3-7: the size, 1 to 30, or 31 when it follows as a
//!   number. Then the distance to the expected address, zigzag coded. Expected is the byte behind the last
//!   access of the same stream (fetches; all data).
//! * tag bits 0-2 = 4: address space, 5: flush of everything, 6: flush of a page, 7: by bits 3-7 synchronisation
//!   (0), phase (1), task (2), end (31). Numbers follow where the event has one; the end record holds the number
//!   of records before it, so that a cut trace is known as such.

use super::input::Input;
use super::{CHUNK, Format, TraceError, TraceReader, checked_access};
use crate::event::{Event, Kind};

/// First bytes of the format, version included.
pub(crate) const MAGIC: &[u8] = b"\x89tlbtrace\x01\n";
/// Flag: the trace was thinned.
pub(crate) const THINNED: u8 = 1;
pub(crate) const SIZE_FOLLOWS: u8 = 31;
pub(crate) const END: u8 = 31;
/// Longest record: a tag and two 10-byte numbers.
const LONGEST: usize = 21;

/// Reader of the native binary format.
pub(super) struct NativeBinary {
    input: Input,
    thinned: bool,
    records: u64,
    expected: [u64; 2],
    ended: bool,
}

impl NativeBinary {
    pub(super) fn new(mut input: Input) -> Result<Self, TraceError> {
        let head = input.at_least(MAGIC.len() + 1)?;
        let flags = match head.strip_prefix(MAGIC).and_then(<[u8]>::first) {
            Some(&flags) if flags & !THINNED == 0 => flags,
            _ => {
                let reason = "the magic or the flags are not those of our binary format, version 1".into();
                return Err(TraceError::Unknown { name: input.name().into(), reason });
            }
        };
        input.consume(MAGIC.len() + 1);
        Ok(NativeBinary { input, thinned: flags & THINNED != 0, records: 0, expected: [0; 2], ended: false })
    }

    /// One record from the front of the input; its event (`None` for the end) and its bytes.
    fn record(&mut self) -> Result<(Option<Event>, usize), String> {
        let mut numbers = Numbers { bytes: self.input.bytes(), used: 1 };
        let tag = numbers.bytes[0];
        let (low, high) = (tag & 7, tag >> 3);
        let kind = match low {
            0 => Kind::Fetch,
            1 => Kind::Read,
            2 => Kind::Write,
            3 => Kind::Modify,
            4 => Kind::AddressSpace,
            5 => Kind::FlushAll,
            6 => Kind::FlushPage,
            _ => match high {
                0 => Kind::Sync,
                1 => Kind::Phase,
                2 => Kind::Task,
                END => {
                    let n = numbers.next()?;
                    if n != self.records {
                        return Err(format!("the end record counts {n} records, {} were read", self.records));
                    }
                    return Ok((None, numbers.used));
                }
                _ => return Err(format!("tag {tag:#04x} is unknown")),
            },
        };
        if low < 4 {
            let size = if high == SIZE_FOLLOWS { numbers.next()? } else { u64::from(high) };
            let zigzag = numbers.next()?;
            let distance = (zigzag >> 1) ^ (zigzag & 1).wrapping_neg();
            let stream = usize::from(low != 0);
            let addr = self.expected[stream].wrapping_add(distance);
            let size = checked_access(addr, size)?;
            self.expected[stream] = addr.wrapping_add(u64::from(size));
            return Ok((Some(Event::access(kind, addr, size)), numbers.used));
        }
        if low < 7 && high != 0 {
            return Err(format!("tag {tag:#04x} is unknown"));
        }
        let value = if matches!(kind, Kind::FlushAll | Kind::Sync) { 0 } else { numbers.next()? };
        if kind == Kind::AddressSpace && value > u64::from(u32::MAX) {
            return Err(format!("address space {value} does not fit 32 bits"));
        }
        Ok((Some(Event::control(kind, value)), numbers.used))
    }

    fn error(&self, reason: String) -> TraceError {
        TraceError::Record {
            name: self.input.name().into(),
            record: self.records + 1,
            byte: self.input.offset(),
            reason,
        }
    }
}

struct Numbers<'a> {
    bytes: &'a [u8],
    used: usize,
}

impl Numbers<'_> {
    #[inline]
    fn next(&mut self) -> Result<u64, String> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let Some(&byte) = self.bytes.get(self.used) else {
                return Err("the trace ends in the middle of a record: it is cut".into());
            };
            self.used += 1;
            if shift == 63 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("a number is longer than 64 bits".into())
    }
}

/// Appends the accesses at the front of `bytes` that need no second look, until `out` holds [`CHUNK`] records, and
/// returns their bytes. Everything else, errors included, is left to [`NativeBinary::record`].
fn plain_accesses(bytes: &[u8], expected: &mut [u64; 2], out: &mut Vec<Event>) -> usize {
    /// A tag and a number of at most eight bytes.
    const WINDOW: usize = 9;
    const KINDS: [Kind; 4] = [Kind::Fetch, Kind::Read, Kind::Write, Kind::Modify];
    let mut rest = bytes;
    while out.len() < CHUNK
        && let Some(&[tag, ref number @ ..]) = rest.first_chunk::<WINDOW>()
    {
        let number = u64::from_le_bytes(*number);
        let last = !number & 0x8080_8080_8080_8080;
        let size = tag >> 3;
        if tag & 7 > 3 || last == 0 || size == 0 || size == SIZE_FOLLOWS {
            break;
        }
        // The bytes up to the first without a high bit, seven bits of each moved together.
        let zigzag = number & (last ^ (last - 1));
        let zigzag = (zigzag & 0x007f_007f_007f_007f) | (zigzag & 0x7f00_7f00_7f00_7f00) >> 1;
        let zigzag = (zigzag & 0x0000_3fff_0000_3fff) | (zigzag & 0x3fff_0000_3fff_0000) >> 2;
        let zigzag = (zigzag & 0x0fff_ffff) | (zigzag >> 32) << 28;
        let distance = (zigzag >> 1) ^ (zigzag & 1).wrapping_neg();
        let stream = &mut expected[usize::from(tag & 7 != 0)];
        let addr = stream.wrapping_add(distance);
        let Some(end) = addr.checked_add(u64::from(size)) else { break };
        *stream = end;
        out.push(Event::access(KINDS[usize::from(tag & 3)], addr, size.into()));
        rest = &rest[last.trailing_zeros() as usize / 8 + 2..];
    }
    bytes.len() - rest.len()
}

impl TraceReader for NativeBinary {
    fn read(&mut self, out: &mut Vec<Event>) -> Result<bool, TraceError> {
        out.clear();
        while out.len() < CHUNK && !self.ended {
            let before = out.len();
            let used = plain_accesses(self.input.bytes(), &mut self.expected, out);
            self.input.consume(used);
            self.records += (out.len() - before) as u64;
            if out.len() >= CHUNK {
                break;
            }
            if self.input.bytes().len() < LONGEST {
                self.input.at_least(LONGEST)?;
            }
            if self.input.bytes().is_empty() {
                return Err(self.error("the trace ends without its end record: it is cut".into()));
            }
            let (event, used) = self.record().map_err(|reason| self.error(reason))?;
            self.input.consume(used);
            match event {
                Some(event) => out.push(event),
                None => self.ended = true,
            }
            self.records += 1;
        }
        if self.ended && !self.input.at_least(1)?.is_empty() {
            return Err(self.error("there are bytes after the end record".into()));
        }
        Ok(!self.ended)
    }

    fn format(&self) -> Format {
        Format::NativeBinary
    }

    fn thinned(&self) -> bool {
        self.thinned
    }
}
