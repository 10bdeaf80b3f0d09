//! The curve of a fully associative LRU TLB.

use super::MissCurve;
use super::stack::Stack;
use crate::event::Event;
use crate::machine::Machine;
use crate::page::{Page, PageId, PageTable, PagingRules, TooManyPages};
use crate::sim::{Control, Decoded, Decoder, Options, Run, Runs, Wanted};

/// Which references a curve is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum References {
    /// All, in one unified TLB.
    All,
    /// Fetches only.
    Instruction,
    /// Loads and stores only.
    Data,
}

impl References {
    fn side(self) -> Option<usize> {
        match self {
            References::All => None,
            References::Instruction => Some(0),
            References::Data => Some(1),
        }
    }
}

/// Misses of every size of a fully associative LRU TLB. Pinned pages of the machine always hit; sizes count the
/// entries left to the others.
pub struct LruCurve {
    decoder: Decoder,
    decoded: Decoded,
    runs: Runs,
    references: References,
    pinned: Vec<(u64, u64)>,
    is_pinned: Vec<bool>,
    flush_on_switch: bool,
    stack: Stack,
    curve: MissCurve,
}

impl LruCurve {
    /// A curve over a machine's pages (its TLBs matter only for what they pin).
    pub fn new(machine: &Machine, references: References, options: &Options) -> Self {
        let pins = machine.tlbs.iter().flat_map(|t| &t.pinned);
        LruCurve {
            decoder: Decoder::new(PageTable::new(PagingRules::new(machine), options.page_limit)),
            decoded: Decoded::default(),
            runs: Runs::default(),
            references,
            pinned: pins.map(|p| (p.base.0, p.base.0 + (p.size.0 - 1))).collect(),
            is_pinned: Vec::new(),
            flush_on_switch: machine.flush_on_switch,
            stack: Stack::new(),
            curve: MissCurve::default(),
        }
    }

    /// Looks at the next records.
    ///
    /// # Errors
    /// The trace touches too many pages.
    pub fn feed(&mut self, events: &[Event]) -> Result<(), TooManyPages> {
        let wanted = Wanted { lookups: false, runs: true, repeats: true };
        self.decoder.decode(events, wanted, &mut self.decoded, &mut self.runs)?;
        let pages = self.decoder.table().pages();
        self.stack.extend(pages.len());
        for page in &pages[self.is_pinned.len()..] {
            let pinned = self.pinned.iter().any(|&(a, b)| a <= page.base && page.last() <= b);
            self.is_pinned.push(pinned);
        }
        let mut lookup = Lookup { stack: &mut self.stack, curve: &mut self.curve, pinned: &self.is_pinned };
        for (part, control) in self.runs.parts() {
            for run in part {
                match self.references.side() {
                    Some(side) => lookup.side(run, side),
                    None => lookup.both(run),
                }
            }
            if let Some(control) = control {
                lookup.control(control, pages, self.flush_on_switch);
            }
        }
        Ok(())
    }

    /// The curve so far.
    pub fn curve(&self) -> &MissCurve {
        &self.curve
    }
}

struct Lookup<'a> {
    stack: &'a mut Stack,
    curve: &'a mut MissCurve,
    pinned: &'a [bool],
}

impl Lookup<'_> {
    fn one(&mut self, page: PageId, n: u64) {
        if self.pinned[page as usize] {
            return self.curve.add(Some(0), n);
        }
        let depth = self.stack.access(page);
        self.curve.add(depth, 1);
        if n > 1 {
            self.curve.add(Some(1), n - 1);
        }
    }

    fn side(&mut self, run: &Run, side: usize) {
        if run.count[side] > 0 {
            self.one(run.page[side], u64::from(run.count[side]));
        }
    }

    fn both(&mut self, run: &Run) {
        let first = run.first as usize;
        let second = first ^ 1;
        if run.count[second] == 0 {
            return self.side(run, first);
        }
        let pages = [run.page[first], run.page[second]];
        let alone = pages[0] == pages[1] || pages.iter().any(|&p| self.pinned[p as usize]);
        if alone {
            self.side(run, first);
            return self.side(run, second);
        }
        self.one(pages[0], 1);
        self.one(pages[1], 1);
        // The two now lie on top; each later change between them finds the other at depth 2.
        let changes = u64::from(run.stretches - 2);
        let lookups = u64::from(run.count[0]) + u64::from(run.count[1]);
        self.curve.add(Some(2), changes);
        self.curve.add(Some(1), lookups - 2 - changes);
        if changes % 2 == 1 {
            self.stack.access(pages[0]);
        }
    }

    fn control(&mut self, control: Control, pages: &[Page], flush_on_switch: bool) {
        match control {
            Control::FlushAll => self.stack.clear(),
            Control::FlushPage(ids) => {
                for id in ids.into_iter().flatten() {
                    self.stack.remove(id);
                }
            }
            Control::Switch if flush_on_switch => {
                for (id, page) in pages.iter().enumerate() {
                    if page.space != 0 {
                        self.stack.remove(id as PageId);
                    }
                }
            }
            Control::Switch | Control::Sync => {}
        }
    }
}
