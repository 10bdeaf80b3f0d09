//! The TLBs of one machine, level by level.

use super::{Absence, PageWalk, Scan, Tlb};
use crate::machine::{Machine, TlbSpec};
use crate::page::{Page, PageId};

/// A miss of the last level.
#[derive(Clone, Copy, Debug)]
pub struct Missed {
    /// Index of the last TLB on the path.
    pub tlb: usize,
    /// Why the page was not there.
    pub absence: Absence,
    /// The page that lost its slot there.
    pub evicted: Option<PageId>,
    /// Page-table references, when the machine counts them.
    pub references: Option<u64>,
}

/// The TLBs that a class of reference visits for one page size, in the order of their levels.
type Path = Vec<usize>;

/// All TLBs of a machine and its walk.
pub struct Hierarchy {
    /// In the order of the description.
    pub tlbs: Vec<Tlb>,
    /// Levels that a synchronisation empties.
    synced: Vec<usize>,
    /// By class of reference; one path if page sizes play no role, else one per log2 size.
    paths: [Vec<Path>; 3],
    by_size: bool,
    /// First TLB of each class's path, when there is one path per class.
    first: [Option<usize>; 3],
    served: [bool; 3],
    walk: PageWalk,
    settling: u32,
}

impl Hierarchy {
    /// Empty TLBs of a checked machine.
    pub fn new(machine: &Machine) -> Self {
        let by_size = machine.tlbs.iter().any(|t| !t.page_sizes.is_empty());
        let paths: [Vec<Path>; 3] = std::array::from_fn(|class| {
            let shifts = if by_size { 0..64 } else { 0..1 };
            shifts.map(|shift| path(&machine.tlbs, class, by_size.then(|| 1u64 << shift))).collect()
        });
        let tlbs: Vec<_> = machine.tlbs.iter().map(Tlb::new).collect();
        let synced = machine.tlbs.iter().enumerate().filter(|(_, t)| t.sync_flush).map(|(i, _)| i).collect();
        let settling = tlbs.iter().map(Tlb::settling).max().unwrap_or(0);
        let first =
            std::array::from_fn(|class| if by_size { None } else { paths[class][0].first().copied() });
        let served = std::array::from_fn(|class| machine.tlbs.iter().any(|t| t.serves.class(class)));
        Hierarchy { tlbs, synced, paths, by_size, first, served, walk: PageWalk::new(machine), settling }
    }

    /// Whether a repeated lookup could change something that a first one did not: such machines need every
    /// single lookup in order, others only the first of each run.
    pub fn needs_every_lookup(&mut self) -> bool {
        let gaps = |class: usize| self.served[class] && self.paths[class].iter().any(Vec::is_empty);
        let some_page_unheld = (0..3).any(gaps);
        some_page_unheld || self.tlbs.iter_mut().any(|t| t.has_full_set() || t.policy().counts_touches())
    }

    /// Whether loads and stores visit different TLBs.
    pub fn tells_stores_apart(&self) -> bool {
        self.paths[1] != self.paths[2]
    }

    /// The first level as a [`Scan`], when every class has a TLB to look in first and its policy allows.
    #[inline]
    pub fn scan(&mut self) -> Option<Scan<'_>> {
        let [fetch, load, store] = self.first;
        let (fetch, load, store) = (fetch?, load?, store?);
        if self.tells_stores_apart() {
            let [fetch, load, store] = self.tlbs.get_disjoint_mut([fetch, load, store]).ok()?;
            return Some(Scan::Apart([fetch.scanned()?, load.scanned()?, store.scanned()?]));
        }
        if fetch == load {
            return self.tlbs[fetch].scanned().map(Scan::Unified);
        }
        let [fetch, data] = self.tlbs.get_disjoint_mut([fetch, load]).ok()?;
        Some(Scan::Split([fetch.scanned()?, data.scanned()?]))
    }

    /// See [`crate::policy::Policy::settling_touches`].
    pub fn settling(&self) -> u32 {
        self.settling
    }

    /// Whether references of `class` are translated by this machine at all.
    pub fn serves(&self, class: usize) -> bool {
        self.served[class]
    }

    /// Learns of newly numbered pages.
    pub fn extend(&mut self, pages: &[Page]) {
        for tlb in &mut self.tlbs {
            tlb.extend(pages);
        }
    }

    /// Which of the paths of a class a page takes.
    #[inline]
    fn route(&self, page: PageId, pages: &[Page]) -> usize {
        if self.by_size { usize::from(pages[page as usize].shift) } else { 0 }
    }

    /// The TLB that a class looks up first for a page.
    #[inline]
    pub fn first_tlb(&self, class: usize, page: PageId, pages: &[Page]) -> Option<usize> {
        if self.by_size {
            self.paths[class][self.route(page, pages)].first().copied()
        } else {
            self.first[class]
        }
    }

    /// Counts `n` lookups of one page, where page sizes decide who is asked.
    #[inline]
    pub fn count(&mut self, class: usize, page: PageId, pages: &[Page], n: u64) {
        if self.by_size
            && let Some(first) = self.first_tlb(class, page, pages)
        {
            self.tlbs[first].lookups += n;
        }
    }

    /// Adds the lookups of a whole trace, where one TLB serves all of a class.
    pub fn count_all(&mut self, class: usize, n: u64) {
        if let Some(first) = self.first[class] {
            self.tlbs[first].lookups += n;
        }
    }

    /// Looks up at the first level only; always a hit for a class that the machine does not translate.
    #[inline]
    pub fn first_hit(&mut self, class: usize, page: PageId, pages: &[Page]) -> bool {
        match self.first_tlb(class, page, pages) {
            Some(first) => self.tlbs[first].hit(page),
            None => !self.served[class],
        }
    }

    /// Serves a miss of the first level: later levels are looked up, and every level that missed is filled,
    /// the last one first. Returns what a miss of the last level was.
    pub fn missed(&mut self, class: usize, id: PageId, pages: &[Page]) -> Option<Missed> {
        let page = &pages[id as usize];
        let route = self.route(id, pages);
        let path = &self.paths[class][route];
        let mut found = path.len();
        for (level, &t) in path.iter().enumerate() {
            if level > 0 {
                self.tlbs[t].lookups += 1;
                if self.tlbs[t].hit(id) {
                    found = level;
                    break;
                }
            }
            self.tlbs[t].misses += 1;
        }
        let mut missed = None;
        if found == path.len() {
            let references = self.walk.references(page);
            missed = Some(match path.last() {
                Some(&tlb) => {
                    let absence = self.tlbs[tlb].absence(id);
                    Missed { tlb, absence, evicted: None, references }
                }
                None => Missed { tlb: usize::MAX, absence: Absence::Never, evicted: None, references },
            });
        }
        for (level, &t) in path[..found].iter().enumerate().rev() {
            let evicted = self.tlbs[t].fill(id, page);
            if let (Some(m), true) = (&mut missed, level + 1 == path.len()) {
                m.evicted = evicted;
            }
        }
        missed
    }

    /// Invalidates everything that is not pinned and that `which` selects; `gone` hears of the last level.
    pub fn flush(&mut self, which: impl Fn(PageId) -> bool + Copy, mut gone: impl FnMut(PageId)) {
        for tlb in &mut self.tlbs {
            tlb.flush(which, &mut gone);
        }
    }

    /// Invalidates one page everywhere; whether it was anywhere.
    pub fn flush_page(&mut self, page: PageId) -> bool {
        self.tlbs.iter_mut().fold(false, |any, t| t.flush_page(page) | any)
    }

    /// A context synchronisation.
    pub fn sync(&mut self) {
        for &t in &self.synced {
            self.tlbs[t].flush(|_| true, |_| {});
        }
    }

    /// Tells the `opt` TLB of this class when the page looked up next is used again.
    pub fn next_use(&mut self, class: usize, page: PageId, pages: &[Page], time: u64) {
        if let Some(first) = self.first_tlb(class, page, pages) {
            self.tlbs[first].policy().next_use(time);
        }
    }
}

fn path(tlbs: &[TlbSpec], class: usize, size: Option<u64>) -> Path {
    let mut path: Path = (0..tlbs.len())
        .filter(|&i| {
            let t = &tlbs[i];
            let fits = size.is_none_or(|s| t.page_sizes.is_empty() || t.page_sizes.iter().any(|p| p.0 == s));
            t.serves.class(class) && fits
        })
        .collect();
    path.sort_by_key(|&i| tlbs[i].level);
    path
}
