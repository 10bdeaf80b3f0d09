//! Least recently used, for sets of many ways: one doubly linked list of ways per set.

use super::offsets;

const NONE: u32 = u32::MAX;

/// Lists run from the most to the least recently used way. All ways are linked from the start, way 0 last,
/// so that untouched ways are given up in the order 0, 1, 2, …
pub struct LruList {
    first: Vec<u32>,
    head: Vec<u32>,
    tail: Vec<u32>,
    newer: Vec<u32>,
    older: Vec<u32>,
}

impl LruList {
    pub(super) fn new(ways: &[u32]) -> Self {
        let first = offsets(ways);
        let slots = first[ways.len()];
        let mut lru = LruList {
            head: vec![NONE; ways.len()],
            tail: vec![NONE; ways.len()],
            newer: vec![NONE; slots as usize],
            older: vec![NONE; slots as usize],
            first,
        };
        for set in 0..ways.len() {
            for slot in lru.first[set]..lru.first[set + 1] {
                lru.push(set, slot);
            }
        }
        lru
    }

    fn push(&mut self, set: usize, slot: u32) {
        let head = self.head[set];
        self.newer[slot as usize] = NONE;
        self.older[slot as usize] = head;
        match head {
            NONE => self.tail[set] = slot,
            h => self.newer[h as usize] = slot,
        }
        self.head[set] = slot;
    }

    #[inline]
    pub(super) fn touch(&mut self, set: usize, way: usize) {
        let slot = self.first[set] + way as u32;
        if self.head[set] == slot {
            return;
        }
        let (newer, older) = (self.newer[slot as usize], self.older[slot as usize]);
        // Not the head, so a newer one exists.
        self.older[newer as usize] = older;
        match older {
            NONE => self.tail[set] = newer,
            o => self.newer[o as usize] = newer,
        }
        self.push(set, slot);
    }

    pub(super) fn victim(&mut self, set: usize) -> usize {
        (self.tail[set] - self.first[set]) as usize
    }
}
