//! Not recently used.

use super::marks::{Marks, Rule, rules};
use super::offsets;

/// A referenced bit per way, set on hit and fill, and a hand per set. Victim: the first way at or after the
/// hand whose bit is clear; if there is none, all bits of the set are cleared first. The hand then stands
/// behind the victim.
pub struct Nru {
    first: Vec<u32>,
    /// A word per slot, 0 or 1.
    referenced: Vec<u64>,
    hand: Vec<u32>,
    rules: Vec<Rule>,
}

impl Nru {
    pub(super) fn new(ways: &[u32]) -> Self {
        let first = offsets(ways);
        let slots = first[ways.len()];
        let rules = rules((0..slots).map(|word| Rule { word, put: 1, ..Rule::NONE }));
        Nru { referenced: vec![0; (slots as usize).max(1)], hand: vec![0; ways.len()], first, rules }
    }

    /// For whoever hits many in a row.
    #[inline]
    pub(super) fn marks(&mut self) -> Marks<'_> {
        Marks { rules: &self.rules, words: &mut self.referenced, now: None }
    }

    pub(super) fn touch(&mut self, set: usize, way: usize) {
        self.referenced[self.first[set] as usize + way] = 1;
    }

    pub(super) fn victim(&mut self, set: usize) -> usize {
        let bits = &mut self.referenced[self.first[set] as usize..self.first[set + 1] as usize];
        let hand = self.hand[set] as usize;
        let clear = |bits: &[u64]| (hand..bits.len()).chain(0..hand).find(|&w| bits[w] == 0);
        let way = clear(bits).unwrap_or_else(|| {
            bits.fill(0);
            hand
        });
        self.hand[set] = if way + 1 < bits.len() { way as u32 + 1 } else { 0 };
        way
    }
}
