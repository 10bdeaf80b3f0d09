//! Bit pseudo-LRU.

use super::offsets;

/// One bit per way, set on touch; when the last clear bit of a set would vanish, all others are cleared.
/// Victim: the lowest way whose bit is clear.
pub struct BitPlru {
    first: Vec<u32>,
    recent: Vec<bool>,
    clear: Vec<u32>,
}

impl BitPlru {
    pub(super) fn new(ways: &[u32]) -> Self {
        let first = offsets(ways);
        BitPlru { recent: vec![false; first[ways.len()] as usize], clear: ways.to_vec(), first }
    }

    pub(super) fn touch(&mut self, set: usize, way: usize) {
        let (from, to) = (self.first[set] as usize, self.first[set + 1] as usize);
        if self.recent[from + way] {
            return;
        }
        self.clear[set] -= 1;
        if self.clear[set] == 0 {
            self.recent[from..to].fill(false);
            self.clear[set] = (to - from) as u32 - 1;
        }
        self.recent[from + way] = true;
    }

    pub(super) fn victim(&mut self, set: usize) -> usize {
        let (from, to) = (self.first[set] as usize, self.first[set + 1] as usize);
        // A set of one way always has its bit set.
        self.recent[from..to].iter().position(|&r| !r).unwrap_or(0)
    }
}
