//! From trace records to lookups of numbered pages.

use super::configuration::Configuration;
use super::quick::{BLOCK, Packed, Quick, Through, USUAL_SHIFT};
use super::runs::Runs;
use crate::event::{Event, Kind};
use crate::page::{OUTSIDE, PageId, PageTable, TooManyPages};

/// Bits of a lookup that hold the class of reference (0 fetch, 1 load, 2 store).
pub(crate) const CLASS_SHIFT: u32 = 30;
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

/// What [`Decoder::decode`] is to produce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Single lookups, into a [`Decoded`].
    pub lookups: bool,
    /// Runs, into a [`Runs`].
    pub runs: bool,
    /// Whether every lookup must be among them. Else the second of two lookups of one page in a row may be left out
    /// (it hits and changes nothing unless touches are counted), and the classes of loads and stores are one.
    pub repeats: bool,
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
    /// Pieces translated outside the TLBs, by class.
    outside: [u64; 3],
    /// Pieces beyond the first of accesses that straddle pages, by class.
    extra: [u64; 3],
    /// Whether loads and stores always see the same pages.
    data_alike: bool,
    quick: Quick,
}

/// Where lookups go.
struct Sink<'a> {
    wanted: Wanted,
    lookups: &'a mut Decoded,
    runs: &'a mut Runs,
    /// Whether a repeat of a run's page needs no more than to be counted.
    repeats: bool,
}

impl Sink<'_> {
    #[inline]
    fn lookup(&mut self, class: usize, last: Last) {
        if self.wanted.lookups {
            self.lookups.lookups.push(last.lookup);
        }
        if self.wanted.runs {
            self.runs.push(usize::from(class != 0), last.lookup & PAGE_MASK, last.frame, last.kernel);
        }
    }

    fn control(&mut self, control: Control) {
        self.lookups.controls.push((self.lookups.lookups.len(), control));
        self.runs.control(control);
    }
}

impl Decoder {
    /// A decoder that numbers pages in `table`.
    pub fn new(table: PageTable) -> Self {
        Decoder {
            shift: table.frame_shift(),
            data_alike: table.rules().data_alike(),
            table,
            quick: Quick::default(),
            last: [NOTHING; 3],
            counts: [[0; 2]; 3],
            outside: [0; 3],
            extra: [0; 3],
        }
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
        self.outside.iter().sum()
    }

    /// References decoded, by class; a modify is a load and a store.
    pub fn references(&self) -> [u64; 3] {
        std::array::from_fn(|c| self.counts[c][0] + self.counts[c][1] + self.outside[c] - self.extra[c])
    }

    /// Decodes `events`, replacing the contents of what is wanted.
    pub fn decode(
        &mut self,
        events: &[Event],
        wanted: Wanted,
        lookups: &mut Decoded,
        runs: &mut Runs,
    ) -> Result<(), TooManyPages> {
        lookups.lookups.clear();
        lookups.controls.clear();
        runs.clear();
        let frames = self.data_alike && self.shift > 0;
        let repeats = wanted.runs && !wanted.lookups && frames;
        let mut sink = Sink { wanted, lookups, runs, repeats };
        if wanted.lookups && !wanted.runs && !wanted.repeats && frames {
            return self.decode_quickly(events, &mut sink);
        }
        for event in events {
            self.event(event, &mut sink)?;
        }
        sink.runs.close();
        Ok(())
    }

    fn event(&mut self, event: &Event, sink: &mut Sink) -> Result<(), TooManyPages> {
        match event.kind {
            Kind::Fetch => self.access(0, event, sink)?,
            Kind::Read => self.access(1, event, sink)?,
            Kind::Write => self.access(2, event, sink)?,
            Kind::Modify => {
                self.access(1, event, sink)?;
                self.access(2, event, sink)?;
            }
            Kind::AddressSpace => self.switch(event.addr as u32, sink),
            Kind::FlushAll => sink.control(Control::FlushAll),
            Kind::FlushPage => sink.control(Control::FlushPage(self.table.known(event.addr))),
            Kind::Sync => sink.control(Control::Sync),
            Kind::Phase | Kind::Task => {}
        }
        Ok(())
    }

    /// Lookups without repeats. Nearly every access is to a page known to `quick` and takes the same few
    /// instructions, whatever its kind; all else goes through [`Decoder::event`].
    fn decode_quickly(&mut self, events: &[Event], sink: &mut Sink) -> Result<(), TooManyPages> {
        let mut out = [0; BLOCK];
        for block in events.chunks(BLOCK) {
            let mut packed = Packed::default();
            let mut rest = block;
            while let Some((odd, after)) =
                self.quick.decode(rest, self.shift, &mut packed, &mut out, |lookups| {
                    sink.lookups.lookups.extend_from_slice(lookups);
                })
            {
                self.event(odd, sink)?;
                self.learn(odd, false);
                rest = after;
            }
            packed.add_to(&mut self.counts);
        }
        Ok(())
    }

    /// Whether [`Decoder::simulate`] can be used.
    pub(super) fn simulates(&self) -> bool {
        self.data_alike && self.shift == USUAL_SHIFT
    }

    /// Decodes and simulates in one go: what [`Decoder::decode`] and a feed of its lookups do, for a single
    /// configuration whose hits can be scanned.
    pub(super) fn simulate(
        &mut self,
        events: &[Event],
        member: &mut Configuration,
        lookups: &mut Decoded,
        runs: &mut Runs,
    ) -> Result<(), TooManyPages> {
        let wanted = Wanted { lookups: true, runs: false, repeats: false };
        let apart = member.tells_stores_apart();
        for block in events.chunks(BLOCK) {
            let mut packed = Packed::default();
            let mut rest = block;
            while let Some(scan) = member.tlbs().scan() {
                let through = Through { quick: &self.quick, events: rest, packed: &mut packed };
                let Some((odd, after)) = scan.apply(through) else { break };
                rest = after;
                if let Some(lookup) = self.quick.one(odd, &mut packed, apart) {
                    member.scan(&[lookup], self.table.pages());
                    continue;
                }
                lookups.lookups.clear();
                lookups.controls.clear();
                runs.clear();
                self.event(odd, &mut Sink { wanted, lookups, runs, repeats: false })?;
                self.learn(odd, apart);
                member.feed(lookups, runs, self.table.pages());
            }
            packed.add_to(&mut self.counts);
        }
        Ok(())
    }

    /// Tells `quick` of the page that an access ended in; loads and stores each for themselves if `apart`.
    fn learn(&mut self, event: &Event, apart: bool) {
        let class = match event.kind {
            Kind::Fetch => 0,
            Kind::Read | Kind::Modify => 1,
            Kind::Write => 2,
            _ => return,
        };
        let last = self.last[class];
        if last.lookup != OUTSIDE {
            let side = if apart { class } else { class.min(1) };
            self.quick.learn(side, last.frame, last.lookup & PAGE_MASK, last.kernel);
        }
    }

    fn switch(&mut self, space: u32, sink: &mut Sink) {
        if space != self.table.space() {
            self.table.set_space(space);
            self.last = [NOTHING; 3];
            self.quick.forget();
            sink.control(Control::Switch);
        }
    }

    #[inline(always)]
    fn access(&mut self, class: usize, event: &Event, sink: &mut Sink) -> Result<(), TooManyPages> {
        let frame = event.addr >> self.shift;
        let in_frame =
            (event.addr & ((1 << self.shift) - 1)) + u64::from(event.size.max(1)) <= 1 << self.shift;
        if sink.repeats
            && in_frame
            && let Some(kernel) = sink.runs.repeat(usize::from(class != 0), frame)
        {
            self.counts[class][usize::from(kernel)] += 1;
            return Ok(());
        }
        let last = self.last[class];
        if in_frame && frame == last.frame && last.lookup != OUTSIDE {
            self.counts[class][usize::from(last.kernel)] += 1;
            sink.lookup(class, last);
            return Ok(());
        }
        self.new_frame(class, event, sink)
    }

    fn new_frame(&mut self, class: usize, event: &Event, sink: &mut Sink) -> Result<(), TooManyPages> {
        let end = event.addr.saturating_add(u64::from(event.size.max(1)) - 1);
        let mut at = event.addr;
        loop {
            let frame = at >> self.shift;
            let id = self.table.id(class, at)?;
            let next = if id == OUTSIDE {
                self.outside[class] += 1;
                self.last[class] = NOTHING;
                // The next frame may be inside again.
                (frame + 1).checked_shl(self.shift).unwrap_or(0)
            } else {
                let page = self.table.pages()[id as usize];
                self.counts[class][usize::from(page.kernel)] += 1;
                let lookup = (class as u32) << CLASS_SHIFT | id;
                self.last[class] = Last { frame, lookup, kernel: page.kernel };
                sink.lookup(class, self.last[class]);
                page.last().wrapping_add(1)
            };
            if next == 0 || next > end {
                return Ok(());
            }
            self.extra[class] += 1;
            at = next;
        }
    }
}
