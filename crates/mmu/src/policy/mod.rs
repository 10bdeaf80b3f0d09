//! Replacement policies: which entry of a set is given up.
//!
//! A policy is told of every hit (`touch`) and every fill (`filled`), and names a victim when a set has no
//! slot to fill. It sees sets and ways only; which slots are pinned or invalid is the TLB's business.

mod bit_plru;
mod fifo;
mod lfu;
mod lru;
mod lru_list;
mod marks;
mod nru;
mod opt;
mod random;
mod tree_plru;

use bit_plru::BitPlru;
use fifo::Fifo;
use lfu::Lfu;
use lru::Lru;
use lru_list::LruList;
pub use marks::{Marks, Rule, Touches, room};
use nru::Nru;
use opt::Opt;
use random::Random;
use tree_plru::TreePlru;

use crate::machine::{PolicyName, TlbSpec};

pub use random::SplitMix64;

/// The replacement state of one TLB.
pub enum Policy {
    /// Round robin.
    Fifo(Fifo),
    /// Least recently used, sets of few ways.
    Lru(Lru),
    /// Least recently used, sets of many ways.
    LruList(LruList),
    /// Seeded random.
    Random(Random),
    /// Tree of bits.
    TreePlru(TreePlru),
    /// One most-recently-used bit per entry.
    BitPlru(BitPlru),
    /// Referenced bits and a hand.
    Nru(Nru),
    /// Fewest lookups.
    Lfu(Lfu),
    /// Furthest next use.
    Opt(Opt),
}

impl Policy {
    /// Fresh state for `sets` sets; `ways` are the ways that can be replaced in each.
    pub fn new(spec: &TlbSpec, ways: &[u32]) -> Self {
        match spec.policy {
            PolicyName::Fifo => Policy::Fifo(Fifo::new(ways, spec.pointer)),
            PolicyName::Lru if ways.iter().all(|&w| w <= lru::WIDEST) => Policy::Lru(Lru::new(ways)),
            PolicyName::Lru => Policy::LruList(LruList::new(ways)),
            PolicyName::Random => Policy::Random(Random::new(ways, spec.seed)),
            PolicyName::TreePlru => Policy::TreePlru(TreePlru::new(ways)),
            PolicyName::BitPlru => Policy::BitPlru(BitPlru::new(ways)),
            PolicyName::Nru => Policy::Nru(Nru::new(ways)),
            PolicyName::Lfu => Policy::Lfu(Lfu::new(ways)),
            PolicyName::Opt => Policy::Opt(Opt::new(ways)),
        }
    }

    /// `way` of `set` was hit.
    #[inline]
    pub fn touch(&mut self, set: usize, way: usize) {
        match self {
            Policy::Fifo(_) | Policy::Random(_) => {}
            Policy::Lru(p) => p.touch(set, way),
            Policy::LruList(p) => p.touch(set, way),
            Policy::TreePlru(p) => p.touch(set, way),
            Policy::BitPlru(p) => p.touch(set, way),
            Policy::Nru(p) => p.touch(set, way),
            Policy::Lfu(p) => p.touch(set, way),
            Policy::Opt(p) => p.touch(set, way),
        }
    }

    /// A page was put into `way` of `set`.
    #[inline]
    pub fn filled(&mut self, set: usize, way: usize) {
        match self {
            Policy::Lfu(p) => p.filled(set, way),
            _ => self.touch(set, way),
        }
    }

    /// The way of `set` to give up now; advances pointers and generators.
    #[inline]
    pub fn victim(&mut self, set: usize) -> usize {
        match self {
            Policy::Fifo(p) => p.victim(set),
            Policy::Lru(p) => p.victim(set),
            Policy::LruList(p) => p.victim(set),
            Policy::Random(p) => p.victim(set),
            Policy::TreePlru(p) => p.victim(set),
            Policy::BitPlru(p) => p.victim(set),
            Policy::Nru(p) => p.victim(set),
            Policy::Lfu(p) => p.victim(set),
            Policy::Opt(p) => p.victim(set),
        }
    }

    /// What a hit does, if that is to write to a word or nothing; `None` for policies to which a hit means more.
    #[inline]
    pub fn touches(&mut self) -> Option<Touches<'_>> {
        match self {
            Policy::Fifo(_) | Policy::Random(_) => Some(Touches::Nothing),
            Policy::Lru(p) => Some(Touches::Stamp(p.marks())),
            Policy::TreePlru(p) => p.marks().map(Touches::Mark),
            Policy::Nru(p) => Some(Touches::Mark(p.marks())),
            Policy::LruList(_) | Policy::BitPlru(_) | Policy::Lfu(_) | Policy::Opt(_) => None,
        }
    }

    /// Tells `opt` when the page looked up next will be used again; others ignore it.
    #[inline]
    pub fn next_use(&mut self, time: u64) {
        if let Policy::Opt(p) = self {
            p.incoming = time;
        }
    }

    /// How many further alternating touches of two resident pages may still change the state before it
    /// repeats (always even). One round suffices for all but `bit-plru`, whose reset takes a second one.
    pub fn settling_touches(&self) -> u32 {
        if matches!(self, Policy::BitPlru(_)) { 4 } else { 0 }
    }

    /// Whether the number of touches matters, not only their order.
    pub fn counts_touches(&self) -> bool {
        matches!(self, Policy::Lfu(_))
    }
}

/// First slot of every set, and one past the last one at the end.
fn offsets(ways: &[u32]) -> Vec<u32> {
    let mut at = 0;
    let mut out = vec![0];
    for w in ways {
        at += w;
        out.push(at);
    }
    out
}
