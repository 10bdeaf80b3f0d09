//! A ring of pointers that visits every cache line of its footprint exactly once.

use std::sync::atomic::{AtomicBool, Ordering};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use crate::backing::{Backed, Mapping, backed, distinct_pages, page_bytes, transparent_huge_pages};
use crate::kernel::pointer_chain;
use crate::latency::together::walk_together;

/// Bytes per node: the usual cache line.
pub const LINE: usize = 64;

/// In which order lines are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// A random permutation of all lines: no prefetcher follows.
    Random,
    /// Pages in random order, all lines of a page (in random order) before the next: few TLB misses.
    PageLocal,
    /// Ascending: what prefetchers are made for.
    Linear,
}

/// On which pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pages {
    /// Base pages.
    Base,
    /// Transparent huge pages.
    Transparent,
}

/// Places of a ring that are known without walking it; a ring of fewer lines has some of them twice.
pub const PLACES: usize = 1024;

/// The ring.
pub struct Ring {
    mapping: Mapping,
    at: *const u8,
    lines: usize,
    /// Evenly apart along the ring: place `i` is `i * lines / PLACES` steps from the first.
    places: [*const u8; PLACES],
}

// SAFETY: the pointers are into the mapping, which moves with it.
unsafe impl Send for Ring {}

impl Ring {
    /// A ring over `bytes` (whole pages).
    pub fn new(bytes: usize, pattern: Pattern, pages: Pages, seed: u64) -> Result<Ring, String> {
        let bytes = bytes.next_multiple_of(page_bytes());
        let mapping = match pages {
            Pages::Base => distinct_pages(bytes),
            Pages::Transparent => transparent_huge_pages(bytes),
        }
        .map_err(|e| e.to_string())?;
        Self::over(mapping, bytes, pattern, seed)
    }

    /// A ring over the first `bytes` of a writable mapping.
    pub fn over(mapping: Mapping, bytes: usize, pattern: Pattern, seed: u64) -> Result<Ring, String> {
        let lines = bytes.min(mapping.len()) / LINE;
        let count = u32::try_from(lines).map_err(|_| format!("{bytes} bytes are too many lines"))?;
        if count == 0 {
            return Err("a ring needs at least one line".into());
        }
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut order: Vec<u32> = (0..count).collect();
        match pattern {
            Pattern::Linear => {}
            Pattern::Random => order.shuffle(&mut rng),
            Pattern::PageLocal => {
                let per_page = page_bytes() / LINE;
                let mut pages: Vec<Vec<u32>> = order.chunks(per_page).map(<[u32]>::to_vec).collect();
                pages.shuffle(&mut rng);
                for page in &mut pages {
                    page.shuffle(&mut rng);
                }
                order = pages.concat();
            }
        }
        let address = |line: u32| mapping.base().wrapping_add(line as usize * LINE);
        for (i, &line) in order.iter().enumerate() {
            let next = address(order[(i + 1) % order.len()]);
            // SAFETY: the line lies in the mapping, which is writable and 8-byte aligned at each line.
            unsafe { address(line).cast::<*mut u8>().write(next) };
        }
        let places = std::array::from_fn(|i| address(order[i * lines / PLACES]).cast_const());
        Ok(Ring { mapping, at: places[0], lines, places })
    }

    /// Lines it visits.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// Bytes it covers.
    pub fn bytes(&self) -> usize {
        self.lines * LINE
    }

    /// What the kernel put behind it.
    pub fn backed(&self) -> Result<Backed, String> {
        backed(&self.mapping)
    }

    /// Loads `steps` lines, each by the address the one before holds.
    #[inline]
    pub fn walk(&mut self, steps: u64) {
        // SAFETY: every line of the ring holds the address of another one, and the mapping lives as long as the ring.
        self.at = unsafe { pointer_chain(self.at, steps) };
    }

    /// Walks until the caches hold what a dependent walk leaves in them: once around where the ring may fit a last-level
    /// cache of `last_level` bytes; a larger one twice as many loads as it has pages. The ring was written many stores at
    /// a time, so that its page table entries came round quickly and stayed near: on one machine the first thousand
    /// loads of 128 MiB took 200 ns, those after thirty thousand 310 ns.
    pub fn settle(&mut self, last_level: u64) {
        let pages = self.bytes().div_ceil(page_bytes());
        let fits = self.bytes() as u64 <= last_level * 3 / 2;
        self.walk(if fits { self.lines } else { self.lines.min(2 * pages) } as u64);
    }

    /// Where the walk stands; after as many steps as there are lines it is there again.
    pub fn position(&self) -> *const u8 {
        self.at
    }

    /// Places evenly apart along the ring.
    pub fn places(&self) -> [*const u8; PLACES] {
        self.places
    }

    /// Whether as many steps as there are lines lead once around: the stretches between the places are walked at once, and
    /// each must end where the next begins.
    pub fn is_closed(&self) -> bool {
        let mut at = self.places;
        // SAFETY: the places lie on the ring, whose mapping outlives this call.
        unsafe { walk_together(&mut at, (self.lines / PLACES) as u64) };
        (0..PLACES).all(|i| {
            let stretch = (i + 1) * self.lines / PLACES - i * self.lines / PLACES;
            let rest = stretch - self.lines / PLACES;
            // SAFETY: as above.
            let end = unsafe { pointer_chain(at[i], rest as u64) };
            end == self.places[(i + 1) % PLACES]
        })
    }

    /// Walks until `stop`; returns the steps made.
    pub fn walk_until(&mut self, stop: &AtomicBool) -> u64 {
        let mut steps = 0;
        while !stop.load(Ordering::Relaxed) {
            self.walk(1000);
            steps += 1000;
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_visits_every_line_once_and_returns() {
        for pattern in [Pattern::Random, Pattern::PageLocal, Pattern::Linear] {
            let mut ring = Ring::new(20 * page_bytes(), pattern, Pages::Base, 5).unwrap();
            assert_eq!(ring.bytes(), 20 * page_bytes());
            let start = ring.position();
            let mut seen = std::collections::HashSet::new();
            let mut page_changes = 0;
            let mut last = start as usize / page_bytes();
            for _ in 0..ring.lines() {
                assert!(seen.insert(ring.position()), "{pattern:?}: a line twice");
                ring.walk(1);
                page_changes += usize::from(ring.position() as usize / page_bytes() != last);
                last = ring.position() as usize / page_bytes();
            }
            assert_eq!(ring.position(), start, "{pattern:?}");
            assert!(ring.is_closed(), "{pattern:?}");
            for place in ring.places() {
                assert!(seen.remove(&place), "{pattern:?}: a place twice");
            }
            assert_eq!(page_changes == 20, pattern != Pattern::Random, "{pattern:?}: {page_changes}");
        }
    }

    #[test]
    fn a_short_cut_is_seen() {
        let ring = Ring::new(20 * page_bytes(), Pattern::Random, Pages::Base, 5).unwrap();
        let (from, past) = (ring.places()[3], ring.places()[5]);
        // SAFETY: a line of the ring, which holds an address and may hold another one of the same ring.
        unsafe { from.cast_mut().cast::<*const u8>().write(past) };
        assert!(!ring.is_closed());
    }
}
