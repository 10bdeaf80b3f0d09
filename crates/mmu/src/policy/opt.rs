//! Belady's optimum (IBM Systems Journal 5(2), 1966).

use super::offsets;

/// The time of the next use of every resident page. Victim: the one used last, or never again.
pub struct Opt {
    first: Vec<u32>,
    next: Vec<u64>,
    pub(super) incoming: u64,
}

impl Opt {
    pub(super) fn new(ways: &[u32]) -> Self {
        let first = offsets(ways);
        Opt { next: vec![u64::MAX; first[ways.len()] as usize], first, incoming: u64::MAX }
    }

    pub(super) fn touch(&mut self, set: usize, way: usize) {
        self.next[self.first[set] as usize + way] = self.incoming;
    }

    pub(super) fn victim(&mut self, set: usize) -> usize {
        let next = &self.next[self.first[set] as usize..self.first[set + 1] as usize];
        let mut furthest = 0;
        for (way, &time) in next.iter().enumerate() {
            if time > next[furthest] {
                furthest = way;
            }
        }
        furthest
    }
}
