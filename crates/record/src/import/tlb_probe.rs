//! The result line of the TLB-miss probe posted to linux-mm in 2005:
//! `32768 randomly accessed pages, 13 cycles avg, 73.751831% TLB misses.`

use serde_json::json;

use super::ImportError;
use super::lines::Line;
use super::number::{Decimal, decimal, text, words};
use super::sink::{Run, Sink};
use crate::{Direction, Invocation, Status, Unit};

/// Reads the lines of one text; each is a run of its own.
#[derive(Default)]
pub(super) struct Reader {
    runs: Vec<Run>,
}

impl Reader {
    /// Takes a result line; false when it is none.
    #[inline]
    pub fn line(&mut self, line: &Line, sink: &mut Sink) -> Result<bool, ImportError> {
        if !line.text.ends_with(b"TLB misses.") {
            return Ok(false);
        }
        let parts: Vec<&[u8]> = words(line.text).collect();
        let [pages, order, b"accessed", b"pages,", cycles, b"cycles", b"avg,", misses, b"TLB", b"misses."] =
            parts[..]
        else {
            return Ok(false);
        };
        let read = (decimal(pages), decimal(cycles), misses.strip_suffix(b"%").and_then(decimal));
        let (Some(pages), Some(cycles), Some(misses)) = read else {
            sink.skip(line.number, line.text, "a result of the TLB probe whose numbers can't be read");
            return Ok(true);
        };
        sink.count(line.number)?;
        let name = format!("tlb-probe/{} pages {}", pages.value, text(order));
        let mut run = Run::new("tlb-probe 2005");
        run.invocations.push(valued(&format!("{name} cycles"), Unit("cycles".into()), cycles));
        run.invocations.push(valued(&format!("{name} misses"), Unit("%".into()), misses));
        self.runs.push(run);
        Ok(true)
    }

    /// Hands over what was read.
    pub fn finish(self, sink: &mut Sink) {
        self.runs.into_iter().for_each(|run| sink.run(run));
    }
}

/// The average is printed in whole cycles: 0 means less than one, not nothing.
fn valued(metric: &str, unit: Unit, shown: Decimal) -> Invocation {
    let bare = Invocation::foreign(metric, unit, Direction::Smaller);
    if shown.value == 0.0 {
        let mut zero = bare.without_value(Status::Skipped, "printed 0: below the resolution of the probe");
        zero.extra.insert("counted".into(), json!(0));
        return zero;
    }
    let mut made = bare.with_value(shown.value);
    // whole cycles are cut off by the probe's integer division
    made.printed = match shown.decimals {
        0 => Some(crate::Printed { lo: shown.value, hi: shown.value + 1.0 }),
        _ => Some(shown.rounded()),
    };
    made
}
