//! ChampSim's binary records, in both layouts: one per instruction, little-endian, unused addresses zero.
//!
//! Standard (64 bytes): u64 ip; u8 branch, taken; u8 registers[6]; u64 stores[2]; u64 loads[4].
//! CloudSuite (96 bytes): u64 ip; u8 branch, taken; u8 registers[8]; 6 bytes padding; u64 stores[4];
//! u64 loads[4]; u8 asid[2]; 6 bytes padding. (inc/trace_instruction.h of ChampSim.)

use super::input::Input;
use super::{CHUNK, Format, TraceError, TraceReader};
use crate::event::{Event, Kind};

/// Which of the two layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// 64 bytes.
    Standard,
    /// 96 bytes.
    CloudSuite,
}

impl Layout {
    /// Bytes of a record.
    pub(super) fn size(self) -> usize {
        match self {
            Layout::Standard => 64,
            Layout::CloudSuite => 96,
        }
    }

    /// Offsets of the stores, of the loads, and of the end of the loads.
    fn addresses(self) -> (usize, usize, usize) {
        match self {
            Layout::Standard => (16, 32, 64),
            Layout::CloudSuite => (24, 56, 88),
        }
    }

    /// Why a record cannot be one of this layout.
    pub(super) fn complaint(self, record: &[u8]) -> Option<String> {
        let ip = word(record, 0);
        if ip == 0 {
            return Some("the instruction address is 0".into());
        }
        if record[8] > 1 || record[9] > 1 {
            return Some(format!("branch flags {} and {} are not 0 or 1", record[8], record[9]));
        }
        let (stores, _, end) = self.addresses();
        for at in std::iter::once(0).chain((stores..end).step_by(8)) {
            let value = word(record, at);
            if !canonical(value) {
                let what = if at == 0 { "instruction address" } else { "data address" };
                let swapped = value.swap_bytes();
                let why = if canonical(swapped) { ", but would be one in big-endian order" } else { "" };
                return Some(format!("{what} {value:016x} is not a canonical address{why}"));
            }
        }
        if self == Layout::CloudSuite && (record[18..24].iter().any(|&b| b != 0)) {
            return Some("the padding after the registers is not zero".into());
        }
        None
    }
}

/// Whether bits 63 to 48 all equal bit 47, as four-level x86-64 and arm64 user and kernel addresses have it.
fn canonical(value: u64) -> bool {
    let top = (value as i64) >> 47;
    top == 0 || top == -1
}

fn word(record: &[u8], at: usize) -> u64 {
    record[at..].first_chunk::<8>().map_or(0, |b| u64::from_le_bytes(*b))
}

/// Reader of ChampSim records.
pub(super) struct ChampSim {
    input: Input,
    layout: Layout,
    records: u64,
    space: u32,
}

impl ChampSim {
    pub(super) fn new(input: Input, layout: Layout) -> Self {
        ChampSim { input, layout, records: 0, space: 0 }
    }

    fn record(&mut self, record: &[u8], out: &mut Vec<Event>) -> Option<String> {
        if let Some(reason) = self.layout.complaint(record) {
            return Some(reason);
        }
        if self.layout == Layout::CloudSuite {
            let space = u32::from(u16::from_le_bytes([record[88], record[89]]));
            if space != self.space {
                self.space = space;
                out.push(Event::control(Kind::AddressSpace, u64::from(space)));
            }
        }
        out.push(Event::access(Kind::Fetch, word(record, 0), 1));
        let (stores, loads, end) = self.layout.addresses();
        // An instruction reads its operands before it writes its result.
        for (range, kind) in [(loads..end, Kind::Read), (stores..loads, Kind::Write)] {
            for at in range.step_by(8) {
                match word(record, at) {
                    0 => {}
                    addr => out.push(Event::access(kind, addr, 1)),
                }
            }
        }
        None
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

impl TraceReader for ChampSim {
    fn read(&mut self, out: &mut Vec<Event>) -> Result<bool, TraceError> {
        out.clear();
        let size = self.layout.size();
        let mut record = [0; 96];
        while out.len() < CHUNK {
            let bytes = self.input.at_least(size)?;
            if bytes.is_empty() {
                return Ok(false);
            }
            if bytes.len() < size {
                let reason =
                    format!("the trace ends {} bytes into a record of {size}: it is cut", bytes.len());
                return Err(self.error(reason));
            }
            record[..size].copy_from_slice(&bytes[..size]);
            if let Some(reason) = self.record(&record[..size], out) {
                return Err(self.error(reason));
            }
            self.input.consume(size);
            self.records += 1;
        }
        Ok(true)
    }

    fn format(&self) -> Format {
        match self.layout {
            Layout::Standard => Format::ChampSim,
            Layout::CloudSuite => Format::CloudSuite,
        }
    }
}
