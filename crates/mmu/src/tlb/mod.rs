//! One TLB: which pages are in, which slot a new one gets.

mod hierarchy;
mod scan;
mod walk;

pub use hierarchy::{Hierarchy, Missed};
use scan::Scanned;
pub use scan::{LeadingHits, Lookups, Scan};
pub use walk::PageWalk;

use crate::machine::{Index, PolicyName, TlbSpec};
use crate::page::{Page, PageId};
use crate::policy::{Policy, Touches};

/// The set of the page that starts at `base_frame * 4096`.
pub fn set_index(index: Index, base_frame: u64, sets: u32) -> u32 {
    match index {
        _ if sets == 1 => 0,
        Index::Modulo => (base_frame % u64::from(sets)) as u32,
        Index::Xor => ((base_frame ^ (base_frame >> sets.trailing_zeros())) & (u64::from(sets) - 1)) as u32,
    }
}

/// Why a page is not in a TLB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// It never was.
    Never,
    /// An invalidation took it out.
    Flushed,
    /// A fill took its slot.
    Evicted,
    /// A fill took its slot, but a fully associative LRU TLB of the same size would still hold it.
    Conflict,
}

// What `place` holds for a page that is in no slot.
const NEVER: u32 = u32::MAX;
const FLUSHED: u32 = u32::MAX - 1;
const EVICTED: u32 = u32::MAX - 2;
/// Above every slot number, below the three words for absence.
/// Its low bits lead a scan to a spare place; see [`crate::policy::room`].
const PINNED: u32 = u32::MAX - 3;
const EMPTY: PageId = u32::MAX;
/// Where a page goes in a TLB of one set does not depend on the page.
const ANY_PAGE: Page = Page { base: 0, shift: 12, kernel: false, large: false, space: 0 };

/// One TLB with its contents.
pub struct Tlb {
    /// Where each page is: a slot, or one of the words above.
    place: Vec<u32>,
    /// The page in each slot.
    content: Vec<PageId>,
    /// First slot of each set; one more at the end.
    first: Vec<u32>,
    /// Invalid slots of each set, if they are to be filled first.
    invalid: Vec<u32>,
    invalid_first: bool,
    index: Index,
    pinned: Vec<(u64, u64)>,
    policy: Policy,
    settling: u32,
    /// A fully associative LRU twin that tells conflict from capacity misses.
    twin: Option<Box<Tlb>>,
    twin_had_it: bool,
    /// References looked up here.
    pub lookups: u64,
    /// Lookups that found nothing.
    pub misses: u64,
}

impl Tlb {
    /// An empty TLB, its pinned entries loaded.
    pub fn new(spec: &TlbSpec) -> Self {
        let sets = spec.sets();
        let mut ways = vec![spec.ways(); sets as usize];
        for pin in &spec.pinned {
            let set = set_index(spec.index, pin.base.0 >> 12, sets) as usize;
            ways[set] -= 1;
        }
        if sets == 1 {
            ways[0] = ways[0].min(spec.entries - spec.reserved);
        }
        let mut first = vec![0];
        for w in &ways {
            first.push(first[first.len() - 1] + w);
        }
        let policy = Policy::new(spec, &ways);
        Tlb {
            place: Vec::new(),
            content: vec![EMPTY; first[sets as usize] as usize],
            first,
            invalid_first: spec.fills_invalid_first(),
            invalid: ways,
            index: spec.index,
            pinned: spec.pinned.iter().map(|p| (p.base.0, p.base.0 + (p.size.0 - 1))).collect(),
            settling: policy.settling_touches(),
            policy,
            twin: None,
            twin_had_it: false,
            lookups: 0,
            misses: 0,
        }
    }

    /// Tells conflict misses from capacity misses from now on (costs a second simulation if it has sets).
    pub fn watch_conflicts(&mut self, spec: &TlbSpec) {
        if spec.sets() > 1 {
            let full = TlbSpec { ways: None, policy: PolicyName::Lru, ..spec.clone() };
            self.twin = Some(Box::new(Tlb::new(&full)));
        }
    }

    /// Learns of pages numbered since the last call.
    pub fn extend(&mut self, pages: &[Page]) {
        for page in &pages[self.place.len()..] {
            let pinned = self.pinned.iter().any(|&(first, last)| first <= page.base && page.last() <= last);
            self.place.push(if pinned { PINNED } else { NEVER });
        }
        if let Some(twin) = &mut self.twin {
            twin.extend(pages);
        }
    }

    /// Whether some set has no slot that could be filled.
    pub fn has_full_set(&self) -> bool {
        self.first.windows(2).any(|w| w[0] == w[1])
    }

    /// What a scan needs; `None` when a hit here means more than to write a word.
    #[inline]
    fn scanned(&mut self) -> Option<Scanned<'_>> {
        let twin = match &mut self.twin {
            None => None,
            Some(twin) => match twin.policy.touches()? {
                Touches::Stamp(marks) => Some((twin.place.as_slice(), marks)),
                Touches::Nothing | Touches::Mark(_) => return None,
            },
        };
        Some(Scanned { place: &self.place, touches: self.policy.touches()?, twin })
    }

    /// The replacement state.
    pub fn policy(&mut self) -> &mut Policy {
        &mut self.policy
    }

    /// See [`Policy::settling_touches`].
    pub fn settling(&self) -> u32 {
        self.settling
    }

    /// Looks a page up; a hit is told to the policy. Counts nothing.
    #[inline]
    pub fn hit(&mut self, page: PageId) -> bool {
        if let Some(twin) = &mut self.twin {
            self.twin_had_it = twin.hit(page);
            if !self.twin_had_it {
                twin.fill(page, &ANY_PAGE);
            }
        }
        let place = self.place[page as usize];
        if place < PINNED {
            self.touch(place);
            return true;
        }
        place == PINNED
    }

    #[inline]
    fn touch(&mut self, slot: u32) {
        match &mut self.policy {
            Policy::Fifo(_) | Policy::Random(_) => {}
            policy => {
                let set = set_of_slot(&self.first, slot);
                policy.touch(set, (slot - self.first[set]) as usize);
            }
        }
    }

    /// Why a page that was just missed is not here.
    pub fn absence(&self, page: PageId) -> Absence {
        match self.place[page as usize] {
            NEVER => Absence::Never,
            FLUSHED => Absence::Flushed,
            _ if self.twin_had_it => Absence::Conflict,
            _ => Absence::Evicted,
        }
    }

    /// Puts a missed page in; returns the page that lost its slot.
    pub fn fill(&mut self, id: PageId, page: &Page) -> Option<PageId> {
        let sets = self.first.len() as u32 - 1;
        let set = set_index(self.index, page.base >> 12, sets) as usize;
        let (from, to) = (self.first[set], self.first[set + 1]);
        if from == to {
            self.place[id as usize] = EVICTED;
            return None;
        }
        let free = if self.invalid_first && self.invalid[set] > 0 {
            self.content[from as usize..to as usize].iter().position(|&p| p == EMPTY)
        } else {
            None
        };
        let way = free.unwrap_or_else(|| self.policy.victim(set));
        let slot = from as usize + way;
        let old = std::mem::replace(&mut self.content[slot], id);
        if old == EMPTY {
            self.invalid[set] -= 1;
        } else {
            self.place[old as usize] = EVICTED;
        }
        self.place[id as usize] = slot as u32;
        self.policy.filled(set, way);
        (old != EMPTY).then_some(old)
    }

    /// Invalidates every entry that `which` selects and that is not pinned; calls `gone` for each.
    pub fn flush(&mut self, which: impl Fn(PageId) -> bool + Copy, mut gone: impl FnMut(PageId)) {
        if let Some(twin) = &mut self.twin {
            twin.flush_twin(which);
        }
        for slot in 0..self.content.len() {
            let page = self.content[slot];
            if page != EMPTY && which(page) {
                self.remove(slot as u32);
                gone(page);
            }
        }
    }

    fn flush_twin(&mut self, which: impl Fn(PageId) -> bool) {
        for slot in 0..self.content.len() {
            if self.content[slot] != EMPTY && which(self.content[slot]) {
                self.remove(slot as u32);
            }
        }
    }

    /// Invalidates one page; whether it was here.
    pub fn flush_page(&mut self, page: PageId) -> bool {
        if let Some(twin) = &mut self.twin {
            twin.flush_page(page);
        }
        match self.place.get(page as usize) {
            Some(&slot) if slot < PINNED => {
                self.remove(slot);
                true
            }
            _ => false,
        }
    }

    fn remove(&mut self, slot: u32) {
        let page = std::mem::replace(&mut self.content[slot as usize], EMPTY);
        self.place[page as usize] = FLUSHED;
        self.invalid[set_of_slot(&self.first, slot)] += 1;
    }
}

/// The set a slot belongs to: sets are nearly always of one width, which a division then finds.
#[inline]
fn set_of_slot(first: &[u32], slot: u32) -> usize {
    if first.len() == 2 {
        return 0;
    }
    let width = first[1].max(1);
    let guess = (slot / width) as usize;
    if guess + 1 < first.len() && first[guess] <= slot && slot < first[guess + 1] {
        return guess;
    }
    first.partition_point(|&f| f <= slot) - 1
}
