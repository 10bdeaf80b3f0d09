//! Runs: the lossless compression that makes many configurations cheap.
//!
//! Programs fetch from one page and touch one data page for a while. A run is the longest stretch of lookups
//! with at most one instruction page and one data page. Within it, once both are found without a fill in
//! between, every further lookup is a hit that changes nothing, whatever the policy; so a configuration looks
//! at two or three lookups of a run and takes the rest on trust. Only the order of the last touches and the
//! number of alternations are kept.

use super::decode::Control;
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

/// No frame; frames are addresses shifted right.
const NO_FRAME: u64 = u64::MAX;

/// The runs of a chunk, between its controls.
pub struct Runs {
    /// All runs in order.
    pub runs: Vec<Run>,
    /// What happens before the run at an index.
    pub controls: Vec<(usize, Control)>,
    /// The run being built, if its counts are not 0.
    open: Run,
    /// Side of the last lookup.
    last: usize,
    /// Frame last seen on each page of the open run.
    frame: [u64; 2],
    kernel: [bool; 2],
}

impl Default for Runs {
    fn default() -> Self {
        Runs {
            runs: Vec::new(),
            controls: Vec::new(),
            open: EMPTY,
            last: 0,
            frame: [NO_FRAME; 2],
            kernel: [false; 2],
        }
    }
}

const EMPTY: Run = Run { page: [PageId::MAX; 2], count: [0; 2], stretches: 0, first: 0 };

impl Runs {
    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.close();
        self.runs.clear();
        self.controls.clear();
    }

    /// Counts a lookup in `frame` if that is the frame last seen on this side of the open run; whether its page is
    /// the kernel's.
    #[inline(always)]
    pub(super) fn repeat(&mut self, side: usize, frame: u64) -> Option<bool> {
        if self.frame[side] != frame {
            return None;
        }
        self.open.count[side] += 1;
        self.open.stretches += u32::from(side != self.last);
        self.last = side;
        Some(self.kernel[side])
    }

    /// Adds a lookup.
    #[inline]
    pub(super) fn push(&mut self, side: usize, page: PageId, frame: u64, kernel: bool) {
        let open = &mut self.open;
        if open.page[side] != page && open.count[side] > 0 {
            self.close();
        }
        let open = &mut self.open;
        if open.stretches == 0 {
            open.first = side as u32;
            open.stretches = 1;
        } else {
            open.stretches += u32::from(side != self.last);
        }
        open.page[side] = page;
        open.count[side] += 1;
        self.last = side;
        self.frame[side] = frame;
        self.kernel[side] = kernel;
    }

    /// Notes what happens now.
    pub(super) fn control(&mut self, control: Control) {
        self.close();
        self.controls.push((self.runs.len(), control));
    }

    /// Ends the open run.
    pub(super) fn close(&mut self) {
        if self.open.stretches > 0 {
            self.runs.push(self.open);
            self.open = EMPTY;
            self.frame = [NO_FRAME; 2];
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_and_numbers() {
        let mut runs = Runs::default();
        for (side, page) in [(0, 5), (0, 5), (1, 7), (0, 5)] {
            runs.push(side, page, u64::from(page), false);
        }
        assert_eq!(runs.repeat(1, 7), Some(false));
        assert_eq!(runs.repeat(1, 8), None);
        runs.push(1, 8, 8, true);
        // The instruction page is the same, but not known to the new run yet.
        assert_eq!(runs.repeat(0, 5), None);
        runs.push(0, 5, 5, false);
        runs.control(Control::Sync);
        let first = Run { page: [5, 7], count: [3, 2], stretches: 4, first: 0 };
        let second = Run { page: [5, 8], count: [1, 1], stretches: 2, first: 1 };
        assert_eq!(runs.runs, [first, second]);
        assert_eq!(runs.controls, [(2, Control::Sync)]);
    }
}
