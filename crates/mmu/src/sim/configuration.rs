//! One configuration's TLBs and counters.

use super::Options;
use super::counts::{Breakdown, Cause};
use super::decode::{CLASS_SHIFT, Control, Decoded, Decoder, PAGE_MASK};
use super::outcome::{Collected, Outcome, TlbOutcome};
use super::runs::{Run, Runs};
use crate::machine::Machine;
use crate::page::{Page, PageId};
use crate::tlb::{Hierarchy, LeadingHits, Missed};

/// Which form of the stream a configuration looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Food {
    /// Every lookup by itself: repeats matter.
    EveryLookup,
    /// Lookups, repeats left out: hits are found by a scan.
    Lookups,
    /// Runs.
    Runs,
}

/// A machine being simulated.
pub(super) struct Configuration {
    name: String,
    machine: Machine,
    tlbs: Hierarchy,
    food: Food,
    walks: Breakdown,
    references: Option<u64>,
    /// Full invalidations, single-page ones, synchronisations, switches.
    events: [u64; 4],
    collected: Option<Box<Collected>>,
}

impl Configuration {
    pub(super) fn new(name: String, machine: Machine, options: &Options) -> Self {
        let mut tlbs = Hierarchy::new(&machine);
        if options.conflicts {
            for (tlb, spec) in tlbs.tlbs.iter_mut().zip(&machine.tlbs) {
                tlb.watch_conflicts(spec);
            }
        }
        let food = match () {
            () if tlbs.needs_every_lookup() => Food::EveryLookup,
            () if tlbs.scan().is_some() => Food::Lookups,
            () if tlbs.tells_stores_apart() => Food::EveryLookup,
            () => Food::Runs,
        };
        Configuration {
            name,
            machine,
            tlbs,
            food,
            walks: Breakdown::default(),
            references: None,
            events: [0; 4],
            collected: options.explain.then(Box::default),
        }
    }

    /// What this configuration is fed with.
    pub(super) fn food(&self) -> Food {
        self.food
    }

    /// Whether it makes a difference which references are stores.
    pub(super) fn tells_stores_apart(&self) -> bool {
        self.tlbs.tells_stores_apart()
    }

    pub(super) fn tlbs(&mut self) -> &mut Hierarchy {
        &mut self.tlbs
    }

    /// Whether this event empties a TLB (of user entries, for a switch).
    pub(super) fn empties(&self, tlb: usize, control: Control) -> bool {
        match control {
            Control::FlushAll => true,
            Control::Switch => self.machine.flush_on_switch,
            Control::Sync => self.machine.tlbs[tlb].sync_flush,
            Control::FlushPage(_) => false,
        }
    }

    pub(super) fn extend(&mut self, pages: &[Page]) {
        self.tlbs.extend(pages);
    }

    /// Simulates a chunk, as runs or as single lookups.
    pub(super) fn feed(&mut self, chunk: &Decoded, runs: &Runs, pages: &[Page]) {
        self.extend(pages);
        match self.food {
            Food::EveryLookup => {
                for (range, control) in chunk.stretches() {
                    for &lookup in &chunk.lookups[range] {
                        self.lookup_alone((lookup >> CLASS_SHIFT) as usize, lookup & PAGE_MASK, pages);
                    }
                    control.into_iter().for_each(|c| self.control(c, pages));
                }
            }
            Food::Lookups => {
                for (range, control) in chunk.stretches() {
                    self.scan(&chunk.lookups[range], pages);
                    control.into_iter().for_each(|c| self.control(c, pages));
                }
            }
            Food::Runs => {
                for (part, control) in runs.parts() {
                    for run in part {
                        self.run(run, pages);
                    }
                    control.into_iter().for_each(|c| self.control(c, pages));
                }
            }
        }
    }

    /// Skips from miss to miss.
    pub(super) fn scan(&mut self, lookups: &[u32], pages: &[Page]) {
        let mut rest = lookups;
        while let Some(scan) = self.tlbs.scan() {
            let hits = scan.apply(LeadingHits(rest));
            let Some(&lookup) = rest.get(hits) else { return };
            // Not always a miss: it may be one of the twin only.
            self.lookup((lookup >> CLASS_SHIFT) as usize, lookup & PAGE_MASK, pages);
            rest = &rest[hits + 1..];
        }
    }

    /// Looks up as much of a run as can change anything.
    #[inline]
    fn run(&mut self, run: &Run, pages: &[Page]) {
        let mut side = run.first as usize;
        self.count_run(run, pages);
        self.lookup(side, run.page[side], pages);
        let mut left = run.stretches - 1;
        while left > 0 {
            side ^= 1;
            left -= 1;
            if self.lookup(side, run.page[side], pages) {
                // Both pages are in. What follows are hits; only who is touched last can still matter.
                let settle = self.tlbs.settling().min(left - left % 2) + left % 2;
                for _ in 0..settle {
                    side ^= 1;
                    self.tlbs.first_hit(side, run.page[side], pages);
                }
                return;
            }
        }
    }

    #[inline]
    fn count_run(&mut self, run: &Run, pages: &[Page]) {
        for side in 0..2 {
            if run.count[side] > 0 {
                self.tlbs.count(side, run.page[side], pages, u64::from(run.count[side]));
            }
        }
    }

    /// One lookup of a stream that holds every one.
    pub(super) fn lookup_alone(&mut self, class: usize, page: PageId, pages: &[Page]) {
        self.tlbs.count(class, page, pages, 1);
        self.lookup(class, page, pages);
    }

    /// One lookup; whether the first level had the page.
    #[inline]
    fn lookup(&mut self, class: usize, page: PageId, pages: &[Page]) -> bool {
        if self.tlbs.first_hit(class, page, pages) {
            return true;
        }
        self.miss(class, page, pages);
        false
    }

    #[inline(never)]
    fn miss(&mut self, class: usize, id: PageId, pages: &[Page]) {
        let Some(missed) = self.tlbs.missed(class, id, pages) else { return };
        let Missed { absence, evicted, references, .. } = missed;
        let page = &pages[id as usize];
        self.walks.add(class != 0, page.kernel, page.large, Cause::from(absence));
        if let Some(n) = references {
            *self.references.get_or_insert(0) += n;
        }
        if let Some(collected) = &mut self.collected {
            let by = evicted.map(|old| (pages[old as usize].kernel, page.kernel));
            collected.miss(id, Cause::from(absence), by);
        }
    }

    pub(super) fn control(&mut self, control: Control, pages: &[Page]) {
        let collected = &mut self.collected;
        let mut gone = |page| {
            if let Some(c) = collected {
                c.flushed(page);
            }
        };
        match control {
            Control::FlushAll => {
                self.events[0] += 1;
                self.tlbs.flush(|_| true, &mut gone);
            }
            Control::Switch => {
                self.events[3] += 1;
                if !self.machine.flush_on_switch {
                    return;
                }
                self.tlbs.flush(|p| pages[p as usize].space != 0, &mut gone);
            }
            Control::FlushPage(ids) => {
                self.events[1] += 1;
                for id in ids.into_iter().flatten() {
                    if self.tlbs.flush_page(id) {
                        gone(id);
                    }
                }
            }
            Control::Sync => {
                self.events[2] += 1;
                self.tlbs.sync();
                return;
            }
        }
        if let Some(c) = &mut self.collected {
            c.next_flush();
        }
    }

    /// What came out; call once.
    pub(super) fn outcome(&mut self, decoder: &Decoder) -> Outcome {
        let references = decoder.references();
        let mut lookups = [[0; 2]; 3];
        for (class, n) in decoder.counts().into_iter().enumerate() {
            if self.tlbs.serves(class) {
                self.tlbs.count_all(class, n[0] + n[1]);
                lookups[class] = n;
            }
        }
        let tlb = |(t, spec): (&crate::tlb::Tlb, &crate::machine::TlbSpec)| TlbOutcome {
            name: spec.name.clone(),
            level: spec.level,
            lookups: t.lookups,
            misses: t.misses,
        };
        let collected = self.collected.take();
        Outcome {
            name: std::mem::take(&mut self.name),
            references: references.iter().sum(),
            instructions: references[0],
            tlbs: self.tlbs.tlbs.iter().zip(&self.machine.tlbs).map(tlb).collect(),
            machine: self.machine.clone(),
            lookups,
            outside: decoder.outside(),
            walks: self.walks.clone(),
            walk_refs: self.references.or_else(|| self.counts_references().then_some(0)),
            flushes: self.events[0],
            page_flushes: self.events[1],
            synchronisations: self.events[2],
            switches: self.events[3],
            explanation: collected.map(|c| c.explain(decoder.table().pages())),
        }
    }

    fn counts_references(&self) -> bool {
        !matches!(crate::tlb::PageWalk::new(&self.machine), crate::tlb::PageWalk::Uncounted)
    }
}
