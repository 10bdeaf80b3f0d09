//! Least frequently used.

use super::offsets;

/// Lookups since the fill, which counts as the first. Victim: the lowest way with the fewest.
pub struct Lfu {
    first: Vec<u32>,
    uses: Vec<u64>,
}

impl Lfu {
    pub(super) fn new(ways: &[u32]) -> Self {
        let first = offsets(ways);
        Lfu { uses: vec![0; first[ways.len()] as usize], first }
    }

    pub(super) fn touch(&mut self, set: usize, way: usize) {
        self.uses[self.first[set] as usize + way] += 1;
    }

    pub(super) fn filled(&mut self, set: usize, way: usize) {
        self.uses[self.first[set] as usize + way] = 1;
    }

    pub(super) fn victim(&mut self, set: usize) -> usize {
        let uses = &self.uses[self.first[set] as usize..self.first[set + 1] as usize];
        let mut least = 0;
        for (way, &n) in uses.iter().enumerate() {
            if n < uses[least] {
                least = way;
            }
        }
        least
    }
}
