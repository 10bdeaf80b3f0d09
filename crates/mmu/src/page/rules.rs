//! Which page an address belongs to.

use super::Page;
use crate::machine::{Machine, MapRange};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    first: u64,
    last: u64,
    shift: u8,
    global: bool,
}

/// The part of a machine that decides which page an address belongs to. Machines with equal rules share
/// one numbering of pages, and so one decoded stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagingRules {
    ranges: Vec<Range>,
    pinned: [Vec<(u64, u8)>; 3],
    outside: [Vec<(u64, u64)>; 3],
    base_shift: u8,
    asid: bool,
    global_from: u64,
    kernel_from: u64,
    frame_shift: u8,
}

impl PagingRules {
    /// From a checked machine.
    pub fn new(machine: &Machine) -> Self {
        let ranges: Vec<_> = machine.map.iter().map(Range::new).collect();
        let pinned: [Vec<(u64, u8)>; 3] = std::array::from_fn(|class| {
            let serving = machine.tlbs.iter().filter(|t| t.serves.class(class));
            serving.flat_map(|t| t.pinned.iter().map(|p| (p.base.0, shift(p.size.0)))).collect()
        });
        let outside: [Vec<(u64, u64)>; 3] = std::array::from_fn(|class| {
            let serving = machine.bats.iter().filter(|b| b.serves.class(class));
            serving.map(|b| (b.base.0, b.base.0 + (b.len.0 - 1))).collect()
        });
        let base_shift = shift(machine.base_page.0);
        // Boundaries of ranges need not be aligned to their page size, so they narrow the frame too.
        let mut frame_shift = base_shift.min(12);
        for r in &ranges {
            frame_shift = frame_shift.min(r.shift).min(edge(r.first)).min(edge(r.last.wrapping_add(1)));
        }
        for &(base, size) in pinned.iter().flatten() {
            frame_shift = frame_shift.min(size).min(edge(base));
        }
        for &(first, last) in outside.iter().flatten() {
            frame_shift = frame_shift.min(edge(first)).min(edge(last.wrapping_add(1)));
        }
        let global_from = machine.global_from.map_or(u64::MAX, |a| a.0);
        frame_shift = frame_shift.min(edge(global_from.wrapping_add(u64::from(global_from == u64::MAX))));
        PagingRules {
            ranges,
            pinned,
            outside,
            base_shift,
            asid: machine.asid || machine.flush_on_switch,
            global_from,
            kernel_from: machine.first_kernel_address(),
            frame_shift,
        }
    }

    /// See [`super::PageTable::frame_shift`].
    pub(super) fn frame_shift(&self) -> u32 {
        u32::from(self.frame_shift)
    }

    /// Whether loads and stores of an address always see the same page.
    pub fn data_alike(&self) -> bool {
        self.pinned[1] == self.pinned[2] && self.outside[1] == self.outside[2]
    }

    /// First address and log2 size of the page of `addr`; `None` when a block range translates it.
    pub(super) fn page(&self, class: usize, addr: u64) -> Option<(u64, u8)> {
        if self.outside[class].iter().any(|&(first, last)| first <= addr && addr <= last) {
            return None;
        }
        let pinned = self.pinned[class].iter().find(|&&(base, s)| base >> s == addr >> s);
        if let Some(&(base, s)) = pinned {
            return Some((base, s));
        }
        let s = self.range(addr).map_or(self.base_shift, |r| r.shift);
        Some((addr >> s << s, s))
    }

    /// The range that decides about `addr`: the last one that holds it.
    fn range(&self, addr: u64) -> Option<&Range> {
        self.ranges.iter().rev().find(|r| r.first <= addr && addr <= r.last)
    }

    /// The page that starts at `base`, seen from address space `space`.
    pub(super) fn describe(&self, base: u64, shift: u8, space: u32) -> Page {
        let global = base >= self.global_from || self.range(base).is_some_and(|r| r.global);
        let tagged = self.asid && !global;
        Page {
            base,
            shift,
            kernel: base >= self.kernel_from,
            large: shift > self.base_shift,
            space: if tagged { space.saturating_add(1) } else { 0 },
        }
    }
}

impl Range {
    fn new(range: &MapRange) -> Self {
        let MapRange { base, len, page, global } = range;
        Range { first: base.0, last: base.0 + (len.0 - 1), shift: shift(page.0), global: *global }
    }
}

fn shift(size: u64) -> u8 {
    size.trailing_zeros() as u8
}

/// log2 of the alignment of a boundary.
fn edge(address: u64) -> u8 {
    address.trailing_zeros() as u8
}
