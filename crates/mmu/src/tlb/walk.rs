//! Page-table references of a miss: page-walk caches and radix levels.

use crate::machine::{Machine, WalkKind};
use crate::page::Page;

/// A small fully associative LRU cache of tags, most recent first.
struct TagCache {
    tags: Vec<u64>,
    entries: usize,
    shift: u32,
}

impl TagCache {
    fn new(entries: u32, shift: u32) -> Self {
        TagCache { tags: Vec::new(), entries: entries as usize, shift }
    }

    /// Whether the tag of `addr` is in; a hit makes it the most recent.
    fn hit(&mut self, addr: u64) -> bool {
        let tag = addr >> self.shift;
        let Some(at) = self.tags.iter().position(|&t| t == tag) else { return false };
        self.tags[..=at].rotate_right(1);
        true
    }

    fn insert(&mut self, addr: u64) {
        if self.entries == 0 {
            return;
        }
        self.tags.truncate(self.entries - 1);
        self.tags.insert(0, addr >> self.shift);
    }
}

/// Counts the memory references of page walks.
pub enum PageWalk {
    /// The machine says nothing of references.
    Uncounted,
    /// A fixed number per miss.
    Fixed(u64),
    /// A radix table with caches of its upper levels, deepest first.
    Radix(RadixWalk),
}

/// A radix walk with caches.
pub struct RadixWalk {
    levels: u32,
    caches: [TagCache; 3],
}

impl PageWalk {
    /// From a machine: `pwc` means a radix table (4 levels unless told otherwise).
    pub fn new(machine: &Machine) -> Self {
        let walk = machine.walk;
        match (machine.pwc, walk.map(|w| w.kind)) {
            (None, Some(WalkKind::Hash | WalkKind::Segment)) => {
                walk.and_then(|w| w.refs).map_or(PageWalk::Uncounted, |r| PageWalk::Fixed(u64::from(r)))
            }
            (pwc, Some(WalkKind::Radix)) | (pwc @ Some(_), _) => {
                let pwc = pwc.unwrap_or_default();
                let levels = walk.and_then(|w| w.levels).unwrap_or(4);
                let caches =
                    [TagCache::new(pwc.pde, 21), TagCache::new(pwc.pdpte, 30), TagCache::new(pwc.pml4e, 39)];
                PageWalk::Radix(RadixWalk { levels, caches })
            }
            _ => PageWalk::Uncounted,
        }
    }

    /// References of one walk for `page`; `None` when they are not counted.
    pub fn references(&mut self, page: &Page) -> Option<u64> {
        match self {
            PageWalk::Uncounted => None,
            PageWalk::Fixed(n) => Some(*n),
            PageWalk::Radix(walk) => Some(walk.references(page)),
        }
    }
}

impl RadixWalk {
    /// The deepest hit decides: it is touched, and the deeper levels read on the way are inserted. A large
    /// page ends the walk one level earlier per factor of 512, and its own entry is in no walk cache.
    fn references(&mut self, page: &Page) -> u64 {
        let leaf = match page.shift {
            0..21 => 0,
            21..30 => 1,
            30..39 => 2,
            _ => 3,
        };
        let mut hit = None;
        for (depth, cache) in self.caches.iter_mut().enumerate().skip(leaf) {
            if cache.hit(page.base) {
                hit = Some(depth);
                break;
            }
        }
        let reached = hit.unwrap_or(self.caches.len());
        for cache in &mut self.caches[leaf.min(reached)..reached] {
            cache.insert(page.base);
        }
        let references = match hit {
            Some(depth) => depth + 1 - leaf,
            None => (self.levels as usize).saturating_sub(leaf),
        };
        references.max(1) as u64
    }
}
