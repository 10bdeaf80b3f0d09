//! The short way from records to lookups.
//!
//! Which page an access belongs to depends on its frame and on whether it fetches. A small direct-mapped table
//! remembers that. Fetches, loads and stores take the same instructions, so that the order in which they come, which
//! no branch predictor knows, costs nothing; the only branch of the loop leaves it.

use super::decode::CLASS_SHIFT;
use crate::event::Event;
use crate::page::PageId;
use crate::tlb::Lookups;

/// Records per block; bounds the counters of [`Packed`].
pub(super) const BLOCK: usize = 4096;
/// Pages remembered per side.
const KNOWN: usize = 1024;
const SIDES: usize = 3;
/// Width of a counter.
const FIELD: u32 = 21;
/// What an access adds, by kind: a fetch, a load, a store; a modify is a load and a store.
const STEP: [u64; 4] = [1, 1 << FIELD, 1 << (2 * FIELD), 1 << FIELD | 1 << (2 * FIELD)];
/// Nearly all machines have frames of 4096 bytes.
pub(super) const USUAL_SHIFT: u32 = 12;
/// No frame: frames are addresses shifted right by one at least.
const NO_FRAME: u64 = u64::MAX;

#[derive(Clone, Copy)]
struct Known {
    frame: u64,
    lookup: u32,
    /// All ones for a page of the kernel, else 0.
    kernel: i32,
}

/// Pages by frame: those of fetches, of data (of loads, where stores are told apart), of stores.
pub(super) struct Quick {
    known: Vec<Known>,
}

/// Counts of fetches, loads and stores in one word each: of all pages and of the kernel's.
#[derive(Clone, Copy, Default)]
pub(super) struct Packed {
    all: u64,
    kernel: u64,
}

impl Packed {
    /// Adds to counts by class and by user (0) or kernel (1) page.
    pub(super) fn add_to(self, counts: &mut [[u64; 2]; 3]) {
        for (class, counts) in counts.iter_mut().enumerate() {
            let field = |word: u64| (word >> (FIELD * class as u32)) & ((1 << FIELD) - 1);
            counts[0] += field(self.all) - field(self.kernel);
            counts[1] += field(self.kernel);
        }
    }
}

impl Default for Quick {
    fn default() -> Self {
        Quick { known: vec![Known { frame: NO_FRAME, lookup: 0, kernel: 0 }; SIDES * KNOWN] }
    }
}

/// Where a frame is known, for fetches (0), data (1) or stores told apart (2).
#[inline(always)]
fn slot(side: usize, frame: u64) -> usize {
    side * KNOWN + frame as usize % KNOWN
}

/// A record that is no access within one known page, or whose page is not in the TLB, and what follows it.
pub(super) type Odd<'a> = Option<(&'a Event, &'a [Event])>;

impl Quick {
    /// Forgets every page: the address space changed.
    pub(super) fn forget(&mut self) {
        self.known.iter_mut().for_each(|k| k.frame = NO_FRAME);
    }

    /// Remembers the page of a frame for fetches (0), data (1) or stores told apart (2).
    pub(super) fn learn(&mut self, side: usize, frame: u64, page: PageId, kernel: bool) {
        let lookup = (side as u32) << CLASS_SHIFT | page;
        self.known[slot(side, frame)] = Known { frame, lookup, kernel: -i32::from(kernel) };
    }

    /// Decodes up to the first record that is no access within one known page; that record and what follows it, or
    /// `None` at the end. At most [`BLOCK`] records; `out` is room for their lookups, handed to `done`.
    #[inline]
    pub(super) fn decode<'a>(
        &self,
        events: &'a [Event],
        shift: u32,
        packed: &mut Packed,
        out: &mut [u32; BLOCK],
        mut done: impl FnMut(&[u32]),
    ) -> Odd<'a> {
        let (mut n, mut before) = (0, u32::MAX);
        let write = |lookup| {
            out[n % BLOCK] = lookup;
            n += usize::from(lookup != before);
            before = lookup;
            true
        };
        // Nearly always 12, and shifting by a constant is cheaper.
        let odd = match shift {
            USUAL_SHIFT => self.each::<false>(events, USUAL_SHIFT, packed, write),
            _ => self.each::<false>(events, shift, packed, write),
        };
        done(&out[..n]);
        odd
    }

    /// Calls `hit` with the lookups of accesses within one known page, until another record comes or it says no; that
    /// record and what follows it, or `None` at the end. If stores are told apart, a modify, which has two lookups, is
    /// such a record.
    #[inline(always)]
    fn each<'a, const APART: bool>(
        &self,
        events: &'a [Event],
        shift: u32,
        packed: &mut Packed,
        mut hit: impl FnMut(u32) -> bool,
    ) -> Odd<'a> {
        let Ok(known) = <&[Known; SIDES * KNOWN]>::try_from(self.known.as_slice()) else {
            return events.split_first();
        };
        let Packed { mut all, mut kernel } = *packed;
        let mut rest = events.iter();
        let odd = loop {
            let Some(event) = rest.next() else { break None };
            let kind = event.kind as usize;
            let frame = event.addr >> shift;
            let end = event.addr.wrapping_add(u64::from(event.size)).wrapping_sub(1) >> shift;
            let side = if APART { kind.min(SIDES - 1) } else { usize::from(kind != 0) };
            let other = if APART { kind > 2 } else { kind > 3 };
            let entry = &known[slot(side, frame)];
            if (entry.frame ^ frame) | (entry.frame ^ end) | u64::from(other) != 0 || !hit(entry.lookup) {
                break Some((event, rest.as_slice()));
            }
            all += STEP[kind & 3];
            kernel += STEP[kind & 3] & i64::from(entry.kernel) as u64;
        };
        *packed = Packed { all, kernel };
        odd
    }

    /// Counts a record and returns its lookup, if it is an access within one known page.
    pub(super) fn one(&self, event: &Event, packed: &mut Packed, apart: bool) -> Option<u32> {
        let mut found = None;
        let find = |lookup| {
            found = Some(lookup);
            true
        };
        let event = std::slice::from_ref(event);
        let odd = if apart {
            self.each::<true>(event, USUAL_SHIFT, packed, find)
        } else {
            self.each::<false>(event, USUAL_SHIFT, packed, find)
        };
        found.filter(|_| odd.is_none())
    }
}

/// Records straight through a TLB, for frames of the usual size.
pub(super) struct Through<'a, 'b> {
    pub(super) quick: &'b Quick,
    pub(super) events: &'a [Event],
    pub(super) packed: &'b mut Packed,
}

impl<'a> Lookups for Through<'a, '_> {
    type Output = Odd<'a>;
    #[inline(always)]
    fn run<const APART: bool>(self, hit: impl FnMut(u32) -> bool) -> Odd<'a> {
        self.quick.each::<APART>(self.events, USUAL_SHIFT, self.packed, hit)
    }
}
