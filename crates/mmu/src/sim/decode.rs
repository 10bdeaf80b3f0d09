//! From trace records to lookups of numbered pages.

use crate::event::{Event, Kind};
use crate::page::{OUTSIDE, PageId, PageTable, TooManyPages};

/// Bits of a lookup that hold the class of reference (0 fetch, 1 load, 2 store).
pub(super) const CLASS_SHIFT: u32 = 30;
pub(crate) const PAGE_MASK: u32 = (1 << CLASS_SHIFT) - 1;

/// What happens between two lookups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Invalidate everything that is not pinned.
    FlushAll,
    /// Invalidate one page, numbered per class of reference; `None` when it was never looked up.
    FlushPage([Option<PageId>; 3]),
    /// A context synchronisation.
    Sync,
    /// The address space changed.
    Switch,
}

/// A chunk of the stream in page numbers.
#[derive(Default)]
pub struct Decoded {
    /// Page number, class of reference in the two top bits.
    pub lookups: Vec<u32>,
    /// What happens before the lookup at an index.
    pub controls: Vec<(usize, Control)>,
}

impl Decoded {
    /// Stretches of lookups, each followed by a control (none at the end).
    pub(crate) fn stretches(&self) -> impl Iterator<Item = (std::ops::Range<usize>, Option<Control>)> {
        let ends = self.controls.iter().map(|&(at, c)| (at, Some(c)));
        let mut from = 0;
        ends.chain([(self.lookups.len(), None)]).map(move |(to, control)| {
            let range = from..to;
            from = to;
            (range, control)
        })
    }
}

#[derive(Clone, Copy)]
struct Last {
    frame: u64,
    lookup: u32,
    kernel: bool,
}

const NOTHING: Last = Last { frame: u64::MAX, lookup: OUTSIDE, kernel: false };

/// Turns records into lookups; one per page that an access touches, lowest first.
pub struct Decoder {
    table: PageTable,
    shift: u32,
    last: [Last; 3],
    /// Lookups by class and by user (0) or kernel (1) page.
    counts: [[u64; 2]; 3],
    outside: u64,
}

impl Decoder {
    /// A decoder that numbers pages in `table`.
    pub fn new(table: PageTable) -> Self {
        Decoder { shift: table.frame_shift(), table, last: [NOTHING; 3], counts: [[0; 2]; 3], outside: 0 }
    }

    /// The pages seen so far.
    pub fn table(&self) -> &PageTable {
        &self.table
    }

    /// Lookups by class (0 fetch, 1 load, 2 store) and by user (0) or kernel (1) page.
    pub fn counts(&self) -> [[u64; 2]; 3] {
        self.counts
    }

    /// References translated outside the TLBs.
    pub fn outside(&self) -> u64 {
        self.outside
    }

    /// Decodes `events` into `out`, replacing its contents.
    pub fn decode(&mut self, events: &[Event], out: &mut Decoded) -> Result<(), TooManyPages> {
        out.lookups.clear();
        out.controls.clear();
        for event in events {
            match event.kind {
                Kind::Fetch => self.access(0, event, out)?,
                Kind::Read => self.access(1, event, out)?,
                Kind::Write => self.access(2, event, out)?,
                Kind::Modify => {
                    self.access(1, event, out)?;
                    self.access(2, event, out)?;
                }
                Kind::AddressSpace => self.switch(event.addr as u32, out),
                Kind::FlushAll => out.controls.push((out.lookups.len(), Control::FlushAll)),
                Kind::FlushPage => {
                    let pages = self.table.known(event.addr);
                    out.controls.push((out.lookups.len(), Control::FlushPage(pages)));
                }
                Kind::Sync => out.controls.push((out.lookups.len(), Control::Sync)),
                Kind::Phase | Kind::Task => {}
            }
        }
        Ok(())
    }

    fn switch(&mut self, space: u32, out: &mut Decoded) {
        if space != self.table.space() {
            self.table.set_space(space);
            self.last = [NOTHING; 3];
            out.controls.push((out.lookups.len(), Control::Switch));
        }
    }

    #[inline]
    fn access(&mut self, class: usize, event: &Event, out: &mut Decoded) -> Result<(), TooManyPages> {
        let last = self.last[class];
        let end = event.addr.saturating_add(u64::from(event.size.max(1)) - 1);
        if event.addr >> self.shift == last.frame && end >> self.shift == last.frame && last.lookup != OUTSIDE
        {
            out.lookups.push(last.lookup);
            self.counts[class][usize::from(last.kernel)] += 1;
            return Ok(());
        }
        self.new_frame(class, event.addr, end, out)
    }

    fn new_frame(
        &mut self,
        class: usize,
        addr: u64,
        end: u64,
        out: &mut Decoded,
    ) -> Result<(), TooManyPages> {
        let mut at = addr;
        loop {
            let frame = at >> self.shift;
            let id = self.table.id(class, at)?;
            if id == OUTSIDE {
                self.outside += 1;
                self.last[class] = NOTHING;
                // The next frame may be inside again.
                let next = (frame + 1).checked_shl(self.shift).unwrap_or(0);
                if next == 0 || next > end {
                    return Ok(());
                }
                at = next;
                continue;
            }
            let page = self.table.pages()[id as usize];
            let lookup = (class as u32) << CLASS_SHIFT | id;
            out.lookups.push(lookup);
            self.counts[class][usize::from(page.kernel)] += 1;
            self.last[class] = Last { frame, lookup, kernel: page.kernel };
            if end <= page.last() {
                return Ok(());
            }
            at = page.last() + 1;
        }
    }
}
