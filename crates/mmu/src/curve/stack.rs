//! The recency stack: a short array for the most recent pages, a tree of times for the rest.
//!
//! Single-page invalidation leaves a hole that keeps its place: a TLB big enough to have held the page now has an
//! invalid slot there, which the next page to come in from below takes. That page's old place becomes the hole for
//! still larger TLBs.

use std::collections::BTreeSet;

use super::times::Times;
use crate::page::PageId;

const HOLE: PageId = PageId::MAX;
/// Pages in the array; most lookups end here.
const TOP: usize = 16;
const FIRST_SLOTS: usize = 4096;

/// Recency stack of pages.
pub(super) struct Stack {
    top: Vec<PageId>,
    /// Slot plus one of each page below the top; 0 for all others.
    slot: Vec<u32>,
    /// Page in each slot (or [`HOLE`]).
    page_at: Vec<PageId>,
    times: Times,
    next: usize,
    holes: BTreeSet<usize>,
}

impl Stack {
    pub(super) fn new() -> Self {
        Stack {
            top: Vec::with_capacity(TOP),
            slot: Vec::new(),
            page_at: vec![HOLE; FIRST_SLOTS],
            times: Times::new(FIRST_SLOTS),
            next: 0,
            holes: BTreeSet::new(),
        }
    }

    /// Makes room for page numbers below `pages`.
    pub(super) fn extend(&mut self, pages: usize) {
        self.slot.resize(pages, 0);
    }

    /// Depth of a page (1 = most recent), `None` when it is not in; the page then is the most recent.
    #[inline]
    pub(super) fn access(&mut self, page: PageId) -> Option<usize> {
        if self.top.first() == Some(&page) {
            return Some(1);
        }
        if let Some(at) = self.top.iter().position(|&p| p == page) {
            match self.top[..at].iter().position(|&p| p == HOLE) {
                Some(hole) => {
                    self.top[..=hole].rotate_right(1);
                    self.top[0] = page;
                    self.top[at] = HOLE;
                }
                None => self.top[..=at].rotate_right(1),
            }
            return Some(at + 1);
        }
        self.access_below(page)
    }

    fn access_below(&mut self, page: PageId) -> Option<usize> {
        let old = (self.slot[page as usize] as usize).checked_sub(1);
        let depth = old.map(|slot| self.top.len() + self.times.after(slot) + 1);
        self.slot[page as usize] = 0;
        if let Some(hole) = self.top.iter().position(|&p| p == HOLE) {
            self.top[..=hole].rotate_right(1);
            self.top[0] = page;
            if let Some(slot) = old {
                self.dig(slot);
            }
            return depth;
        }
        let above = old.map_or(0, |s| s + 1);
        let hole = self.holes.last().copied().filter(|&h| h >= above);
        match (hole, old) {
            (Some(hole), _) => {
                self.holes.remove(&hole);
                self.times.clear(hole);
                if let Some(slot) = old {
                    self.dig(slot);
                }
            }
            (None, Some(slot)) => self.times.clear(slot),
            (None, None) => {}
        }
        if self.top.len() == TOP {
            let last = self.top[TOP - 1];
            self.top.rotate_right(1);
            self.top[0] = page;
            self.sink(last);
        } else {
            self.top.insert(0, page);
        }
        depth
    }

    /// Puts the page that left the top on the tree, as its latest.
    fn sink(&mut self, page: PageId) {
        if self.next == self.times.slots() {
            self.compact();
        }
        self.times.set(self.next);
        self.page_at[self.next] = page;
        self.slot[page as usize] = self.next as u32 + 1;
        self.next += 1;
    }

    /// Turns an occupied slot into a hole.
    fn dig(&mut self, slot: usize) {
        self.page_at[slot] = HOLE;
        self.holes.insert(slot);
    }

    /// Renumbers the slots from 0, with room for at least three times as many.
    fn compact(&mut self) {
        let occupied: Vec<(usize, PageId)> = (0..self.next)
            .filter(|&s| self.holes.contains(&s) || self.page_at[s] != HOLE && self.slot_is(s))
            .map(|s| (s, self.page_at[s]))
            .collect();
        let slots = (4 * occupied.len()).next_power_of_two().max(FIRST_SLOTS);
        if slots == self.times.slots() {
            self.times.clear_all();
        } else {
            self.times = Times::new(slots);
        }
        self.page_at.clear();
        self.page_at.resize(slots, HOLE);
        let holes = std::mem::take(&mut self.holes);
        for (new, &(old, page)) in occupied.iter().enumerate() {
            self.times.set(new);
            self.page_at[new] = page;
            if holes.contains(&old) {
                self.holes.insert(new);
            } else {
                self.slot[page as usize] = new as u32 + 1;
            }
        }
        self.next = occupied.len();
        debug_assert_eq!(self.times.occupied(), self.next);
    }

    /// Whether the page noted in a slot still lives there.
    fn slot_is(&self, slot: usize) -> bool {
        self.slot[self.page_at[slot] as usize] as usize == slot + 1
    }

    /// Invalidates one page; whether it was in.
    pub(super) fn remove(&mut self, page: PageId) -> bool {
        if let Some(at) = self.top.iter().position(|&p| p == page) {
            self.top[at] = HOLE;
            return true;
        }
        match self.slot.get_mut(page as usize) {
            Some(slot) if *slot > 0 => {
                let at = *slot as usize - 1;
                *slot = 0;
                self.dig(at);
                true
            }
            _ => false,
        }
    }

    /// Invalidates everything.
    pub(super) fn clear(&mut self) {
        for slot in 0..self.next {
            let page = self.page_at[slot];
            if page != HOLE {
                self.slot[page as usize] = 0;
            }
        }
        self.page_at[..self.next].fill(HOLE);
        self.top.clear();
        self.times.clear_all();
        self.holes.clear();
        self.next = 0;
    }
}
