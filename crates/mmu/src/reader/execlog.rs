//! QEMU's execlog plugin: `cpu, 0xPC, 0xOPCODE, "disassembly"[, load|store, 0xADDR[, RAM|device]]…`.
//! No sizes, so every access is one byte.

use super::Format;
use super::bytes::{decimal, hex, shown};
use super::lines::LineParser;
use crate::event::{Event, Kind};

/// Parser of execlog lines.
pub(super) struct ExecLog;

impl LineParser for ExecLog {
    const FORMAT: Format = Format::ExecLog;
    const LAST_LINE_ENDS: bool = true;

    fn line(&mut self, line: &[u8], out: &mut Vec<Event>) -> Result<bool, String> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(false);
        }
        let bad = |what: &str| format!("{} {what}", shown(line));
        let mut head = line.splitn(3, |&b| b == b',');
        let cpu = head.next().map(<[u8]>::trim_ascii);
        cpu.and_then(decimal).ok_or_else(|| bad("does not begin with a CPU number"))?;
        let pc = head.next().map(<[u8]>::trim_ascii).and_then(hex);
        let pc = pc.ok_or_else(|| bad("has no instruction address after the CPU number"))?;
        let rest = head.next().ok_or_else(|| bad("ends after the instruction address"))?;
        // The disassembly is quoted and may hold commas.
        let open = memchr::memchr(b'"', rest).ok_or_else(|| bad("has no quoted disassembly"))?;
        let close = memchr::memrchr(b'"', rest).filter(|&c| c > open);
        let close = close.ok_or_else(|| bad("has an unclosed quote"))?;
        out.push(Event::access(Kind::Fetch, pc, 1));
        let mut words = rest[close + 1..].split(|&b| b == b',').map(<[u8]>::trim_ascii);
        while let Some(word) = words.next() {
            let kind = match word {
                b"load" => Kind::Read,
                b"store" => Kind::Write,
                // The memory's name follows an address; older versions leave it out.
                _ => continue,
            };
            let addr =
                words.next().and_then(hex).ok_or_else(|| bad("has a load or store without an address"))?;
            out.push(Event::access(kind, addr, 1));
        }
        Ok(true)
    }
}
