//! How many things happened after a given time, with deletions: a bit set with a Fenwick tree over its words.

/// Occupied time slots.
pub(super) struct Times {
    words: Vec<u64>,
    tree: Vec<u32>,
    occupied: usize,
}

impl Times {
    pub(super) fn new(slots: usize) -> Self {
        let words = slots.div_ceil(64);
        Times { words: vec![0; words], tree: vec![0; words + 1], occupied: 0 }
    }

    pub(super) fn slots(&self) -> usize {
        self.words.len() * 64
    }

    pub(super) fn occupied(&self) -> usize {
        self.occupied
    }

    pub(super) fn set(&mut self, slot: usize) {
        self.words[slot / 64] |= 1 << (slot % 64);
        self.occupied += 1;
        let mut i = slot / 64 + 1;
        while i < self.tree.len() {
            self.tree[i] += 1;
            i += i & i.wrapping_neg();
        }
    }

    pub(super) fn clear(&mut self, slot: usize) {
        self.words[slot / 64] &= !(1 << (slot % 64));
        self.occupied -= 1;
        let mut i = slot / 64 + 1;
        while i < self.tree.len() {
            self.tree[i] -= 1;
            i += i & i.wrapping_neg();
        }
    }

    /// Occupied slots later than `slot`.
    pub(super) fn after(&self, slot: usize) -> usize {
        let below_or_at = (self.words[slot / 64] << (63 - slot % 64)).count_ones() as usize;
        let mut i = slot / 64;
        let mut before = 0;
        while i > 0 {
            before += self.tree[i] as usize;
            i -= i & i.wrapping_neg();
        }
        self.occupied - before - below_or_at
    }

    pub(super) fn clear_all(&mut self) {
        self.words.fill(0);
        self.tree.fill(0);
        self.occupied = 0;
    }
}
