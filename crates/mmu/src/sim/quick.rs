//! The short way from records to lookups.
//!
//! Which page an access belongs to depends on its frame and on whether it fetches. A small direct-mapped table
//! remembers that. Fetches, loads and stores take the same instructions, so that the order in which they come, which
//! no branch predictor knows, costs nothing; the only branch of the loop leaves it.

use super::decode::CLASS_SHIFT;
use crate::event::Event;
use crate::page::PageId;

/// Records per block; bounds the counters of [`Packed`].
pub(super) const BLOCK: usize = 4096;
/// Pages remembered per side.
const KNOWN: usize = 1024;
/// Width of a counter.
const FIELD: u32 = 21;
/// What an access adds, by kind: a fetch, a load, a store; a modify is a load and a store.
const STEP: [u64; 4] = [1, 1 << FIELD, 1 << (2 * FIELD), 1 << FIELD | 1 << (2 * FIELD)];
/// No frame: frames are addresses shifted right by one at least.
const NO_FRAME: u64 = u64::MAX;

#[derive(Clone, Copy)]
struct Known {
    frame: u64,
    lookup: u32,
    /// All ones for a page of the kernel, else 0.
    kernel: u64,
}

/// Pages by frame, fetches apart from the rest.
pub(super) struct Quick {
    known: Vec<[Known; KNOWN]>,
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
        Quick { known: vec![[Known { frame: NO_FRAME, lookup: 0, kernel: 0 }; KNOWN]; 2] }
    }
}

fn slot(frame: u64) -> usize {
    frame as usize % KNOWN
}

impl Quick {
    /// Forgets every page: the address space changed.
    pub(super) fn forget(&mut self) {
        self.known.iter_mut().flatten().for_each(|k| k.frame = NO_FRAME);
    }

    /// Remembers the page of a frame for fetches (0) or data (1).
    pub(super) fn learn(&mut self, side: usize, frame: u64, page: PageId, kernel: bool) {
        let lookup = (side as u32) << CLASS_SHIFT | page;
        self.known[side][slot(frame)] = Known { frame, lookup, kernel: u64::from(kernel).wrapping_neg() };
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
        done: impl FnMut(&[u32]),
    ) -> Option<(&'a Event, &'a [Event])> {
        // Nearly always 12, and shifting by a constant is cheaper.
        match shift {
            12 => self.decode_by(events, 12, packed, out, done),
            _ => self.decode_by(events, shift, packed, out, done),
        }
    }

    #[inline(always)]
    fn decode_by<'a>(
        &self,
        events: &'a [Event],
        shift: u32,
        packed: &mut Packed,
        out: &mut [u32; BLOCK],
        mut done: impl FnMut(&[u32]),
    ) -> Option<(&'a Event, &'a [Event])> {
        let [fetched, loaded] = self.known.as_slice() else { return events.split_first() };
        let known = [fetched, loaded];
        let Packed { mut all, mut kernel } = *packed;
        let (mut n, mut before) = (0, u32::MAX);
        let mut rest = events.iter();
        let odd = loop {
            let Some(event) = rest.next() else { break None };
            let kind = event.kind as usize;
            let frame = event.addr >> shift;
            let end = event.addr.wrapping_add(u64::from(event.size)).wrapping_sub(1) >> shift;
            let entry = &known[usize::from(kind != 0)][slot(frame)];
            if (entry.frame ^ frame) | (entry.frame ^ end) | (kind as u64 >> 2) != 0 {
                break Some((event, rest.as_slice()));
            }
            all += STEP[kind & 3];
            kernel += STEP[kind & 3] & entry.kernel;
            let lookup = entry.lookup;
            out[n % BLOCK] = lookup;
            n += usize::from(lookup != before);
            before = lookup;
        };
        *packed = Packed { all, kernel };
        done(&out[..n]);
        odd
    }
}
