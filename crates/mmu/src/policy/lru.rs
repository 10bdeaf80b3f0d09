//! Least recently used, for sets of few ways: the time of each slot's last touch, searched for the oldest.
//!
//! A touch is one store that depends on nothing but the slot. That makes hits, which are many, cheap at the expense of
//! victims, which are few.

use super::marks::{Marks, Rule, room};
use super::offsets;

/// Ways up to which the search is worth it.
pub(super) const WIDEST: u32 = 256;

/// Times start at 0, so that untouched ways are given up in the order 0, 1, 2, …
pub struct Lru {
    first: Vec<u32>,
    /// By slot, and those that stand for pinned entries, whose touches mean nothing.
    touched: Vec<u64>,
    now: u64,
    rules: Vec<Rule>,
}

impl Lru {
    pub(super) fn new(ways: &[u32]) -> Self {
        let first = offsets(ways);
        let room = room(first[ways.len()]);
        let rules = (0..room).map(|word| Rule { word, keep: 0, put: 0, stamp: u64::MAX }).collect();
        Lru { touched: vec![0; room as usize], first, now: 0, rules }
    }

    /// For whoever hits many in a row.
    #[inline]
    pub(super) fn marks(&mut self) -> Marks<'_> {
        Marks { rules: &self.rules, words: &mut self.touched, now: Some(&mut self.now) }
    }

    #[inline]
    pub(super) fn touch(&mut self, set: usize, way: usize) {
        self.now += 1;
        self.touched[self.first[set] as usize + way] = self.now;
    }

    pub(super) fn victim(&mut self, set: usize) -> usize {
        let times = &self.touched[self.first[set] as usize..self.first[set + 1] as usize];
        // Four minima side by side: each comparison would wait for the one before.
        let mut least = [u64::MAX; 4];
        let (fours, rest) = times.as_chunks::<4>();
        for four in fours {
            for (least, &time) in least.iter_mut().zip(four) {
                *least = time.min(*least);
            }
        }
        let oldest = rest.iter().chain(&least).min();
        times.iter().position(|t| Some(t) == oldest).unwrap_or(0)
    }
}
