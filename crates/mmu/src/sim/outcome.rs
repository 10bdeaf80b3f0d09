//! What a simulation yields.

use super::counts::{Breakdown, Cause};
use crate::machine::Machine;
use crate::page::{Page, PageId};

/// Counters of one TLB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlbOutcome {
    /// Its name.
    pub name: String,
    /// Its level.
    pub level: u32,
    /// References looked up in it.
    pub lookups: u64,
    /// Lookups that found nothing.
    pub misses: u64,
}

/// What one configuration did with the stream.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Name of the configuration.
    pub name: String,
    /// The machine it simulated.
    pub machine: Machine,
    /// References in the stream (a modify is two).
    pub references: u64,
    /// Instruction fetches in the stream.
    pub instructions: u64,
    /// Lookups by class (0 fetch, 1 load, 2 store) and user (0) or kernel (1) page: one per page touched.
    pub lookups: [[u64; 2]; 3],
    /// References translated outside the TLBs.
    pub outside: u64,
    /// Per TLB.
    pub tlbs: Vec<TlbOutcome>,
    /// Misses of the last level.
    pub walks: Breakdown,
    /// Page-table references, when the machine counts them.
    pub walk_refs: Option<u64>,
    /// Full invalidations.
    pub flushes: u64,
    /// Invalidations of one page.
    pub page_flushes: u64,
    /// Context synchronisations.
    pub synchronisations: u64,
    /// Changes of address space.
    pub switches: u64,
    /// Present when asked for.
    pub explanation: Option<Explanation>,
}

impl Outcome {
    /// All lookups at the first level.
    pub fn total_lookups(&self) -> u64 {
        self.lookups.iter().flatten().sum()
    }
}

/// Misses of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageMisses {
    /// The page.
    pub page: Page,
    /// Its misses at the last level.
    pub misses: u64,
}

/// Where misses come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// Pages with misses, worst first.
    pub pages: Vec<PageMisses>,
    /// Entries that lost their slot: `[victim user 0 or kernel 1][evictor user 0 or kernel 1]`.
    pub evictions: [[u64; 2]; 2],
    /// Misses that each invalidation caused, in the order of the stream; at most the first 2^20.
    pub per_flush: Vec<u64>,
}

const MAX_FLUSHES: usize = 1 << 20;

/// What is collected for an [`Explanation`].
#[derive(Default)]
pub(super) struct Collected {
    misses: Vec<u64>,
    evictions: [[u64; 2]; 2],
    flushed_by: Vec<u32>,
    per_flush: Vec<u64>,
    flush: u32,
}

impl Collected {
    pub(super) fn miss(&mut self, page: PageId, cause: Cause, evicted: Option<(bool, bool)>) {
        let at = page as usize;
        if at >= self.misses.len() {
            self.misses.resize(at + 1, 0);
        }
        self.misses[at] += 1;
        if let Some((victim, evictor)) = evicted {
            self.evictions[usize::from(victim)][usize::from(evictor)] += 1;
        }
        if cause == Cause::Flush
            && let Some(&flush) = self.flushed_by.get(at)
            && let Some(n) = self.per_flush.get_mut(flush as usize)
        {
            *n += 1;
        }
    }

    pub(super) fn flushed(&mut self, page: PageId) {
        let at = page as usize;
        if at >= self.flushed_by.len() {
            self.flushed_by.resize(at + 1, u32::MAX);
        }
        self.flushed_by[at] = self.flush;
    }

    pub(super) fn next_flush(&mut self) {
        self.flush = self.flush.saturating_add(1);
        if self.per_flush.len() < MAX_FLUSHES {
            self.per_flush.push(0);
        }
    }

    pub(super) fn explain(self, pages: &[Page]) -> Explanation {
        let missed = self.misses.iter().enumerate().filter(|(_, n)| **n > 0);
        let mut list: Vec<_> = missed.map(|(i, &misses)| PageMisses { page: pages[i], misses }).collect();
        list.sort_by_key(|p| (std::cmp::Reverse(p.misses), p.page.base));
        Explanation { pages: list, evictions: self.evictions, per_flush: self.per_flush }
    }
}
