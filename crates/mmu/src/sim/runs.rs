//! Runs: the lossless compression that makes many configurations cheap.
//!
//! Programs fetch from one page and touch one data page for a while. A run is the longest stretch of lookups
//! with at most one instruction page and one data page. Within it, once both are found without a fill in
//! between, every further lookup is a hit that changes nothing, whatever the policy; so a configuration looks
//! at two or three lookups of a run and takes the rest on trust. Only the order of the last touches and the
//! number of alternations are kept.

use super::decode::{CLASS_SHIFT, Control, Decoded, PAGE_MASK};
use crate::page::PageId;

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Instruction page and data page; meaningless where the count is 0.
    pub page: [PageId; 2],
    /// Lookups of each.
    pub count: [u32; 2],
    /// Stretches of consecutive lookups of one of the two pages: `I I D D I` has three.
    pub stretches: u32,
    /// Which page comes first: 0 instruction, 1 data.
    pub first: u32,
}

/// The runs of a chunk, between its controls.
#[derive(Default)]
pub struct Runs {
    /// All runs in order.
    pub runs: Vec<Run>,
    /// What happens before the run at an index.
    pub controls: Vec<(usize, Control)>,
}

impl Runs {
    /// Compresses a chunk, replacing the contents.
    pub fn compress(&mut self, chunk: &Decoded) {
        self.runs.clear();
        self.controls.clear();
        for (range, control) in chunk.stretches() {
            compress(&chunk.lookups[range], &mut self.runs);
            if let Some(control) = control {
                self.controls.push((self.runs.len(), control));
            }
        }
    }

    /// Stretches of runs, each followed by a control (none at the end).
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&[Run], Option<Control>)> {
        let ends = self.controls.iter().map(|&(at, c)| (at, Some(c)));
        let mut from = 0;
        ends.chain([(self.runs.len(), None)]).map(move |(to, control)| {
            let part = &self.runs[from..to];
            from = to;
            (part, control)
        })
    }
}

fn compress(lookups: &[u32], out: &mut Vec<Run>) {
    let Some(&start) = lookups.first() else { return };
    let side = |lookup: u32| usize::from(lookup >> CLASS_SHIFT != 0);
    let begin = |lookup: u32| {
        let mut run = Run { page: [PageId::MAX; 2], count: [0; 2], stretches: 1, first: side(lookup) as u32 };
        run.page[side(lookup)] = lookup & PAGE_MASK;
        run.count[side(lookup)] = 1;
        run
    };
    let mut run = begin(start);
    let mut last = side(start);
    for &lookup in &lookups[1..] {
        let s = side(lookup);
        let page = lookup & PAGE_MASK;
        if run.page[s] == page || run.count[s] == 0 {
            run.page[s] = page;
            run.count[s] += 1;
            run.stretches += u32::from(s != last);
        } else {
            out.push(run);
            run = begin(lookup);
        }
        last = s;
    }
    out.push(run);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_and_numbers() {
        let data = 1 << CLASS_SHIFT;
        let chunk = Decoded { lookups: vec![5, 5, data | 7, 5, data | 7, data | 8, 5], controls: vec![] };
        let mut runs = Runs::default();
        runs.compress(&chunk);
        let first = Run { page: [5, 7], count: [3, 2], stretches: 4, first: 0 };
        let second = Run { page: [5, 8], count: [1, 1], stretches: 2, first: 1 };
        assert_eq!(runs.runs, [first, second]);
    }
}
