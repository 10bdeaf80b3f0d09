//! The curves of set-associative LRU TLBs: one short stack per set, for several numbers of sets at once.

use super::MissCurve;
use crate::event::Event;
use crate::machine::{Index, Machine};
use crate::page::{PageId, PageTable, PagingRules, TooManyPages};
use crate::sim::{Control, Decoded, Decoder, Options, Runs, Wanted};
use crate::tlb::set_index;

const HOLE: PageId = PageId::MAX;

/// Misses for every number of ways up to a limit, for several numbers of sets. Sees all references; pinned pages
/// are not looked at. Every lookup is looked at singly.
pub struct SetCurves {
    decoder: Decoder,
    decoded: Decoded,
    runs: Runs,
    ways: usize,
    tables: Vec<Sets>,
}

struct Sets {
    sets: u32,
    stacks: Vec<Vec<PageId>>,
    curve: MissCurve,
}

impl SetCurves {
    /// Curves for 1 to `ways` ways in each of the given numbers of sets.
    pub fn new(machine: &Machine, sets: &[u32], ways: usize, options: &Options) -> Self {
        let table =
            |&sets: &u32| Sets { sets, stacks: vec![Vec::new(); sets as usize], curve: MissCurve::default() };
        SetCurves {
            decoder: Decoder::new(PageTable::new(PagingRules::new(machine), options.page_limit)),
            decoded: Decoded::default(),
            runs: Runs::default(),
            ways,
            tables: sets.iter().map(table).collect(),
        }
    }

    /// Looks at the next records.
    ///
    /// # Errors
    /// The trace touches too many pages.
    pub fn feed(&mut self, events: &[Event]) -> Result<(), TooManyPages> {
        let wanted = Wanted { lookups: true, runs: false, repeats: true };
        self.decoder.decode(events, wanted, &mut self.decoded, &mut self.runs)?;
        let pages = self.decoder.table().pages();
        for (range, control) in self.decoded.stretches() {
            for &lookup in &self.decoded.lookups[range] {
                let id = lookup & crate::sim::PAGE_MASK;
                let frame = pages[id as usize].base >> 12;
                for table in &mut self.tables {
                    let set = set_index(Index::Modulo, frame, table.sets) as usize;
                    let depth = access(&mut table.stacks[set], id, self.ways);
                    table.curve.add(depth, 1);
                }
            }
            match control {
                Some(Control::FlushAll) => {
                    self.tables.iter_mut().flat_map(|t| &mut t.stacks).for_each(Vec::clear);
                }
                Some(Control::FlushPage(ids)) => {
                    for id in ids.into_iter().flatten() {
                        let stacks = self.tables.iter_mut().flat_map(|t| &mut t.stacks);
                        stacks.flatten().filter(|p| **p == id).for_each(|p| *p = HOLE);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The curve for one of the numbers of sets; its sizes are ways.
    pub fn curve(&self, sets: u32) -> Option<&MissCurve> {
        self.tables.iter().find(|t| t.sets == sets).map(|t| &t.curve)
    }
}

/// Moves a page to the front; see `stack.rs` for what holes mean.
fn access(stack: &mut Vec<PageId>, page: PageId, ways: usize) -> Option<usize> {
    let at = stack.iter().position(|&p| p == page);
    let end = at.unwrap_or(stack.len());
    match stack[..end].iter().position(|&p| p == HOLE) {
        Some(hole) => {
            stack[..=hole].rotate_right(1);
            stack[0] = page;
            if let Some(at) = at {
                stack[at] = HOLE;
            }
        }
        None => match at {
            Some(at) => stack[..=at].rotate_right(1),
            None => {
                stack.truncate(ways - 1);
                stack.insert(0, page);
            }
        },
    }
    at.map(|a| a + 1)
}
