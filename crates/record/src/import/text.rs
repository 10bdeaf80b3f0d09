//! One pass over text of any kind: mails, logs, tables, result files, all in one file if need be.
//!
//! Most lines of a big file belong to no format; they cost a look at their first bytes.

use std::io::Read;

use super::lines::{Line, Lines};
use super::lmbench::{raw, summary};
use super::perf;
use super::sink::Sink;
use super::{ImportError, go, tlb_probe};

/// Reads everything the text formats find. Returns how many lines and bytes were seen.
pub(super) fn read(from: impl Read, sink: &mut Sink) -> Result<(usize, u64), ImportError> {
    let mut readers = Readers::default();
    let mut lines = Lines::new(from);
    loop {
        let line = match lines.next() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(error) => return Err(ImportError::Io { file: sink.file.clone(), error }),
        };
        readers.line(&line, sink)?;
    }
    readers.summary.finish(sink);
    readers.raw.finish(sink);
    readers.ladder.finish(sink);
    readers.perf.finish(sink)?;
    readers.go.finish(sink);
    readers.tlb_probe.finish(sink);
    if let Some((number, what)) = lines.odd {
        sink.note(format!("{what}, first at line {number}; its end was not looked at"));
    }
    Ok((lines.count(), lines.bytes))
}

#[derive(Default)]
struct Readers {
    summary: summary::Reader,
    raw: raw::Reader,
    ladder: raw::LadderRows,
    in_ladder: bool,
    perf: perf::text::Reader,
    go: go::Reader,
    tlb_probe: tlb_probe::Reader,
}

impl Readers {
    #[inline]
    fn line(&mut self, line: &Line, sink: &mut Sink) -> Result<(), ImportError> {
        let first = line.text.iter().copied().find(|b| !b.is_ascii_whitespace());
        if self.in_ladder {
            self.in_ladder = self.ladder.line(line, sink);
            if self.in_ladder {
                return Ok(());
            }
        }
        if self.raw.in_block() || self.raw.is_open() {
            // what another tool begins ends a result file
            let ends = match first {
                Some(b'L') => self.summary.starts(line.text),
                Some(b'P') => self.perf.starts(line),
                _ => false,
            };
            if ends {
                self.raw.end_run(sink);
            } else {
                self.raw.line(line, sink)?;
            }
            return Ok(());
        }
        if self.perf.is_open()
            && ((matches!(first, Some(b'P' | b'#')) && self.perf.starts(line)) || self.perf.line(line, sink))
        {
            return Ok(());
        }
        let Some(first) = first else { return Ok(()) };
        if matches!(first, b'P' | b'#') && self.perf.starts(line) {
            return Ok(());
        }
        // `Benchmark...`, the lines above it, and tables drawn with boxes
        if (matches!(first, b'B' | b'g' | b'p' | b'c' | 0xe2)
            || self.go.in_table()
            || last_is_pipe(line.text))
            && self.go.line(line, sink)?
        {
            return Ok(());
        }
        // first bytes of banners and section titles
        if matches!(first, b'L' | b'B' | b'P' | b'C' | b'*' | b'F' | b'M') && self.summary.starts(line.text) {
            return Ok(());
        }
        if self.summary.is_open() && self.summary.line(line, sink)? {
            return Ok(());
        }
        match first {
            b'0'..=b'9' if self.tlb_probe.line(line, sink)? => {}
            b'0'..=b'9' => self.in_ladder = self.ladder.line(line, sink),
            _ => {
                if !self.raw.line(line, sink)? {
                    self.perf.heading(line.text);
                }
            }
        }
        Ok(())
    }
}

/// A header of benchstat ends in a box-drawing pipe (U+2502).
#[inline]
fn last_is_pipe(text: &[u8]) -> bool {
    text.last() == Some(&0x82) && text.ends_with("│".as_bytes())
}
