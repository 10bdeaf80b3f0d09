//! drmemtrace's packed records: u16 type, u16 size, u64 address, 12 bytes, little-endian
//! (clients/drcachesim/common/trace_entry.h of DynamoRIO).

use super::input::Input;
use super::{CHUNK, Format, TraceError, TraceReader, checked_access};
use crate::event::{Event, Kind};

const RECORD: usize = 12;
/// Highest record type of the versions known here.
pub(super) const LAST_TYPE: u16 = 49;
/// A header record begins every offline file.
pub(super) const HEADER: u16 = 25;

/// Reader of packed records.
pub(super) struct DrMemtrace {
    input: Input,
    records: u64,
    skipped: u64,
    pid: u64,
    tid: u64,
    /// End of the last fetch, where a bundle goes on.
    next_pc: u64,
    ended: bool,
}

impl DrMemtrace {
    pub(super) fn new(input: Input) -> Self {
        DrMemtrace { input, records: 0, skipped: 0, pid: 0, tid: 0, next_pc: 0, ended: false }
    }

    fn record(&mut self, record: [u8; RECORD], out: &mut Vec<Event>) -> Result<(), String> {
        let [t0, t1, s0, s1, address @ ..] = record;
        let (kind, size) = (u16::from_le_bytes([t0, t1]), u16::from_le_bytes([s0, s1]));
        let addr = u64::from_le_bytes(address);
        if self.ended {
            return Err("there are records after the footer".into());
        }
        match kind {
            0 => out.push(Event::access(Kind::Read, addr, checked_access(addr, size.into())?)),
            1 => out.push(Event::access(Kind::Write, addr, checked_access(addr, size.into())?)),
            10..=16 | 30 | 31 | 48 | 49 => {
                // Filtered traces give fetches no length.
                let bytes = checked_access(addr, u64::from(size.max(1)))?;
                out.push(Event::access(Kind::Fetch, addr, bytes));
                self.next_pc = addr.wrapping_add(u64::from(bytes));
            }
            17 => {
                // A bundle: the lengths of up to eight following instructions, one per byte.
                let lengths =
                    address.get(..usize::from(size)).ok_or("a bundle of more than 8 instructions")?;
                for &length in lengths {
                    let bytes = checked_access(self.next_pc, u64::from(length))?;
                    out.push(Event::access(Kind::Fetch, self.next_pc, bytes));
                    self.next_pc += u64::from(bytes);
                }
            }
            22 | 24 => {
                if kind == 22 {
                    self.tid = addr;
                } else {
                    self.pid = addr;
                }
                let task = (self.pid & 0xffff_ffff) << 32 | self.tid & 0xffff_ffff;
                out.push(Event::control(Kind::Task, task));
            }
            26 => self.ended = true,
            // Prefetches, cache flushes, exits, markers, encodings.
            2..=9 | 18..=21 | 23 | 25 | 27..=29 | 32..=47 => self.skipped += 1,
            _ => {
                let swapped = kind.swap_bytes();
                let why = if swapped <= LAST_TYPE { ", but would be known in big-endian order" } else { "" };
                return Err(format!("record type {kind} is unknown{why}"));
            }
        }
        Ok(())
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

impl TraceReader for DrMemtrace {
    fn read(&mut self, out: &mut Vec<Event>) -> Result<bool, TraceError> {
        out.clear();
        while out.len() < CHUNK {
            let bytes = self.input.at_least(RECORD)?;
            let Some(&record) = bytes.first_chunk::<RECORD>() else {
                if bytes.is_empty() {
                    return Ok(false);
                }
                let reason =
                    format!("the trace ends {} bytes into a record of {RECORD}: it is cut", bytes.len());
                return Err(self.error(reason));
            };
            if let Err(reason) = self.record(record, out) {
                return Err(self.error(reason));
            }
            self.input.consume(RECORD);
            self.records += 1;
        }
        Ok(true)
    }

    fn format(&self) -> Format {
        Format::DrMemtrace
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }
}
