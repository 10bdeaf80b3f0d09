//! `perf script -F pid,tid,ip,addr`: `pid/tid ADDR IP`. Samples: page popularity, not miss counts.

use super::Format;
use super::bytes::{decimal, hex, shown};
use super::lines::LineParser;
use crate::event::{Event, Kind};

/// Parser of `perf script` lines. perf prints the data address before the instruction's.
#[derive(Default)]
pub(super) struct PerfScript {
    task: Option<u64>,
}

impl LineParser for PerfScript {
    const FORMAT: Format = Format::PerfScript;
    const LAST_LINE_ENDS: bool = true;

    fn line(&mut self, line: &[u8], out: &mut Vec<Event>) -> Result<bool, String> {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
        let Some(first) = words.next() else { return Ok(false) };
        if first.starts_with(b"#") {
            return Ok(false);
        }
        let bad = |what: &str| format!("{} {what}; use perf script -F pid,tid,ip,addr", shown(line));
        let slash = memchr::memchr(b'/', first).ok_or_else(|| bad("does not begin with PID/TID"))?;
        // Idle and exited threads have -1.
        let id = |w: &[u8]| if w == b"-1" { Some(0xffff_ffff) } else { decimal(w) };
        let (pid, tid) =
            id(&first[..slash]).zip(id(&first[slash + 1..])).ok_or_else(|| bad("has no PID/TID"))?;
        let addr = words.next().and_then(hex).ok_or_else(|| bad("has no data address"))?;
        let ip = words.next().and_then(hex).ok_or_else(|| bad("has no instruction address"))?;
        let task = (pid & 0xffff_ffff) << 32 | tid & 0xffff_ffff;
        if self.task != Some(task) {
            self.task = Some(task);
            out.push(Event::control(Kind::Task, task));
        }
        out.push(Event::access(Kind::Fetch, ip, 1));
        // Samples without a data address have 0.
        if addr != 0 {
            out.push(Event::access(Kind::Read, addr, 1));
        }
        Ok(true)
    }
}
