//! Tree pseudo-LRU.

use super::marks::{Marks, Rule, rules};
use super::offsets;

/// A binary tree of bits over the ways of a set. A touch makes every node on its path point to the other
/// half; the victim is found by following the bits. Ways that are no power of two give an uneven tree.
///
/// Nodes are numbered as in a heap, the root 1, so the nodes of up to 64 ways are bits of one word.
pub struct TreePlru {
    first: Vec<u32>,
    /// Words per set.
    width: usize,
    /// Bit `n % 64` of a set's word `n / 64`: node n points right.
    right: Vec<u64>,
    /// What a touch does, by slot; empty where a set takes more than one word.
    rules: Vec<Rule>,
}

/// The nodes above a way, and whether it lies right of each.
fn path(ways: u32, way: usize) -> impl Iterator<Item = (usize, bool)> {
    let (mut low, mut high, mut node) = (0, ways as usize, 1);
    std::iter::from_fn(move || {
        if high - low <= 1 {
            return None;
        }
        let (here, middle) = (node, low.midpoint(high));
        let right = way >= middle;
        (low, high) = if right { (middle, high) } else { (low, middle) };
        node = 2 * node + usize::from(right);
        Some((here, right))
    })
}

impl TreePlru {
    pub(super) fn new(ways: &[u32]) -> Self {
        let widest = ways.iter().copied().max().unwrap_or(1).max(1);
        let width = widest.next_power_of_two().div_ceil(64) as usize;
        let rule = |set: usize, way: u32| {
            path(ways[set], way as usize).fold(
                Rule { word: set as u32, ..Rule::NONE },
                |rule, (node, right)| {
                    let bit = 1 << node;
                    Rule { keep: rule.keep & !bit, put: rule.put | if right { 0 } else { bit }, ..rule }
                },
            )
        };
        let rules = if width == 1 {
            let slots = (0..ways.len()).flat_map(|set| (0..ways[set]).map(move |way| rule(set, way)));
            rules(slots)
        } else {
            Vec::new()
        };
        TreePlru { first: offsets(ways), width, right: vec![0; (width * ways.len()).max(1)], rules }
    }

    /// For whoever hits many in a row; `None` for sets too wide for that.
    #[inline]
    pub(super) fn marks(&mut self) -> Option<Marks<'_>> {
        (self.width == 1).then_some(Marks { rules: &self.rules, words: &mut self.right, now: None })
    }

    pub(super) fn touch(&mut self, set: usize, way: usize) {
        if self.width == 1 {
            let Rule { keep, put, .. } = self.rules[self.first[set] as usize + way];
            self.right[set] = self.right[set] & keep | put;
            return;
        }
        let bits = &mut self.right[set * self.width..(set + 1) * self.width];
        for (node, right) in path(self.first[set + 1] - self.first[set], way) {
            let bit = 1 << (node % 64);
            bits[node / 64] = if right { bits[node / 64] & !bit } else { bits[node / 64] | bit };
        }
    }

    pub(super) fn victim(&mut self, set: usize) -> usize {
        let bits = &self.right[set * self.width..(set + 1) * self.width];
        let (mut low, mut high, mut node) = (0, (self.first[set + 1] - self.first[set]) as usize, 1);
        while high - low > 1 {
            let middle = low.midpoint(high);
            let right = bits[node / 64] >> (node % 64) & 1 != 0;
            (low, high) = if right { (middle, high) } else { (low, middle) };
            node = 2 * node + usize::from(right);
        }
        low
    }
}
