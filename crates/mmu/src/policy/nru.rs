//! Not recently used.

use super::offsets;

/// A referenced bit per way, set on hit and fill, and a hand per set. Victim: the first way at or after the
/// hand whose bit is clear; if there is none, all bits of the set are cleared first. The hand then stands
/// behind the victim.
pub struct Nru {
    first: Vec<u32>,
    referenced: Vec<bool>,
    hand: Vec<u32>,
}

impl Nru {
    pub(super) fn new(ways: &[u32]) -> Self {
        let first = offsets(ways);
        Nru { referenced: vec![false; first[ways.len()] as usize], hand: vec![0; ways.len()], first }
    }

    pub(super) fn touch(&mut self, set: usize, way: usize) {
        self.referenced[self.first[set] as usize + way] = true;
    }

    pub(super) fn victim(&mut self, set: usize) -> usize {
        let bits = &mut self.referenced[self.first[set] as usize..self.first[set + 1] as usize];
        let hand = self.hand[set] as usize;
        let clear = |bits: &[bool]| (hand..bits.len()).chain(0..hand).find(|&w| !bits[w]);
        let way = clear(bits).unwrap_or_else(|| {
            bits.fill(false);
            hand
        });
        self.hand[set] = if way + 1 < bits.len() { way as u32 + 1 } else { 0 };
        way
    }
}
