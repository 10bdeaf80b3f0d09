//! From miss to miss: the first level of a machine as one loop over lookups that all hit.
//!
//! There is a loop of its own for every combination of what hits do, made by the compiler from one source.

use super::PINNED;
use crate::policy::{Marks, Rule, Touches};
use crate::sim::{CLASS_SHIFT, PAGE_MASK};

/// One TLB for a scan.
pub struct Scanned<'a> {
    pub(super) place: &'a [u32],
    pub(super) touches: Touches<'a>,
    /// Its twin's places and stamps: what the twin misses ends a scan too.
    pub(super) twin: Option<(&'a [u32], Marks<'a>)>,
}

/// The TLBs that are looked in first.
pub enum Scan<'a> {
    /// One by all.
    Unified(Scanned<'a>),
    /// By fetches, and by loads and stores.
    Split([Scanned<'a>; 2]),
    /// By fetches, loads, and stores.
    Apart([Scanned<'a>; 3]),
}

/// A loop that looks pages up.
pub trait Lookups {
    /// What it returns.
    type Output;
    /// Calls `hit` with one lookup after the other until it says no: such a lookup has changed nothing yet. `APART` if
    /// it matters which are stores.
    fn run<const APART: bool>(self, hit: impl FnMut(u32) -> bool) -> Self::Output;
}

/// How many of the lookups hit before the first that does not.
pub struct LeadingHits<'a>(pub &'a [u32]);

impl Lookups for LeadingHits<'_> {
    type Output = usize;
    #[inline(always)]
    fn run<const APART: bool>(self, mut hit: impl FnMut(u32) -> bool) -> usize {
        self.0.iter().position(|&lookup| !hit(lookup)).unwrap_or(self.0.len())
    }
}

impl<'a> Scan<'a> {
    /// Looks pages up until one is not there; policies are told of the others.
    #[inline]
    pub fn apply<L: Lookups>(self, lookups: L) -> L::Output {
        match self {
            Scan::Unified(Scanned { place, touches, twin }) => match touches {
                Touches::Nothing => one(place, Nothing, twin, lookups),
                Touches::Stamp(marks) => one(place, Stamp::from(marks), twin, lookups),
                Touches::Mark(marks) => one(place, Mark(marks), twin, lookups),
            },
            Scan::Split(tlbs) => several(tlbs, lookups),
            Scan::Apart(tlbs) => several(tlbs, lookups),
        }
    }
}

/// TLBs that need not be alike; the most general of what their hits do is done in all.
fn several<const N: usize, L: Lookups>(tlbs: [Scanned; N], lookups: L) -> L::Output {
    let any = |is: fn(&Touches) -> bool| tlbs.iter().any(|t| is(&t.touches));
    let marks = any(|t| matches!(t, Touches::Mark(_)));
    let stamps = any(|t| matches!(t, Touches::Stamp(_)));
    let place = tlbs.each_ref().map(|t| t.place);
    let mut spare = [[0]; N];
    let mut spare = spare.each_mut().into_iter();
    let mut twins = [const { None }; N];
    let mut at = 0;
    let touches = tlbs.map(|t| {
        twins[at] = t.twin;
        at += 1;
        t.touches
    });
    let mut next = || spare.next().map_or(&mut [][..], |s| &mut s[..]);
    match (marks, stamps) {
        (true, _) => together(place, touches.map(|t| Mark::or(t, next())), twins, lookups),
        (false, true) => together(place, touches.map(|t| Stamp::or(t, next())), twins, lookups),
        (false, false) => together(place, touches.map(|_| Nothing), twins, lookups),
    }
}

/// What a hit does. Times grow by one per hit and are shared by all that take part: only their order counts.
trait Touch {
    /// The page at `place` is hit. `false`, and nothing done, if it is missing where else it is looked for.
    fn touch(&mut self, page: usize, place: u32, time: u64) -> bool;
    /// The time of the last touch.
    fn now(&self) -> u64 {
        0
    }
    /// Sets the time of the last touch.
    fn end(&mut self, _time: u64) {}
}

struct Nothing;

impl Touch for Nothing {
    #[inline(always)]
    fn touch(&mut self, _: usize, _: u32, _: u64) -> bool {
        true
    }
}

/// Times by slot.
struct Stamp<'a> {
    words: &'a mut [u64],
    now: Option<&'a mut u64>,
}

impl<'a> From<Marks<'a>> for Stamp<'a> {
    #[inline]
    fn from(marks: Marks<'a>) -> Self {
        Stamp { words: marks.words, now: marks.now }
    }
}

impl<'a> Stamp<'a> {
    /// Stamps, or a word that nobody reads.
    fn or(touches: Touches<'a>, spare: &'a mut [u64]) -> Self {
        match touches {
            Touches::Stamp(marks) => marks.into(),
            Touches::Nothing | Touches::Mark(_) => Stamp { words: spare, now: None },
        }
    }
}

impl Touch for Stamp<'_> {
    #[inline(always)]
    fn touch(&mut self, _: usize, place: u32, time: u64) -> bool {
        let mask = self.words.len().wrapping_sub(1);
        if let Some(word) = self.words.get_mut(place as usize & mask) {
            *word = time;
        }
        true
    }
    #[inline(always)]
    fn now(&self) -> u64 {
        self.now.as_deref().copied().unwrap_or(0)
    }
    #[inline(always)]
    fn end(&mut self, time: u64) {
        self.now.iter_mut().for_each(|now| **now = time);
    }
}

/// Rules by slot.
struct Mark<'a>(Marks<'a>);

impl<'a> Mark<'a> {
    /// Marks, or a word that nobody reads.
    fn or(touches: Touches<'a>, spare: &'a mut [u64]) -> Self {
        Mark(match touches {
            Touches::Stamp(marks) | Touches::Mark(marks) => marks,
            Touches::Nothing => Marks { rules: &[Rule::NONE], words: spare, now: None },
        })
    }
}

impl Touch for Mark<'_> {
    #[inline(always)]
    fn touch(&mut self, _: usize, place: u32, time: u64) -> bool {
        let mask = self.0.rules.len().wrapping_sub(1);
        if let Some(rule) = self.0.rules.get(place as usize & mask)
            && let Some(word) = self.0.words.get_mut(rule.word as usize)
        {
            *word = *word & rule.keep | rule.put | time & rule.stamp;
        }
        true
    }
    #[inline(always)]
    fn now(&self) -> u64 {
        self.0.now.as_deref().copied().unwrap_or(0)
    }
    #[inline(always)]
    fn end(&mut self, time: u64) {
        self.0.now.iter_mut().for_each(|now| **now = time);
    }
}

/// A hit that has to be one in the twin too.
struct Twinned<'a, T> {
    touch: T,
    place: &'a [u32],
    stamp: Stamp<'a>,
}

impl<T: Touch> Touch for Twinned<'_, T> {
    #[inline(always)]
    fn touch(&mut self, page: usize, place: u32, time: u64) -> bool {
        let twins = self.place[page];
        twins <= PINNED && self.stamp.touch(page, twins, time) && self.touch.touch(page, place, time)
    }
    #[inline(always)]
    fn now(&self) -> u64 {
        self.touch.now().max(self.stamp.now())
    }
    #[inline(always)]
    fn end(&mut self, time: u64) {
        self.touch.end(time);
        self.stamp.end(time);
    }
}

#[inline]
fn one<L: Lookups>(place: &[u32], touch: impl Touch, twin: Option<(&[u32], Marks)>, lookups: L) -> L::Output {
    match twin {
        None => run_one(place, touch, lookups),
        Some((twins, marks)) => run_one(place, Twinned { touch, place: twins, stamp: marks.into() }, lookups),
    }
}

#[inline]
fn run_one<L: Lookups>(place: &[u32], mut touch: impl Touch, lookups: L) -> L::Output {
    let mut time = touch.now();
    let out = lookups.run::<false>(|lookup| {
        let page = (lookup & PAGE_MASK) as usize;
        let place = place[page];
        let hit = place <= PINNED && touch.touch(page, place, time + 1);
        time += u64::from(hit);
        hit
    });
    touch.end(time);
    out
}

#[inline]
fn together<const N: usize, L: Lookups, T: Touch>(
    place: [&[u32]; N],
    touch: [T; N],
    mut twins: [Option<(&[u32], Marks)>; N],
    lookups: L,
) -> L::Output {
    if twins.iter().all(Option::is_none) {
        return run(place, touch, lookups);
    }
    let mut spare = [[0]; N];
    let mut spare = spare.each_mut().into_iter();
    let mut at = 0;
    let twinned = touch.map(|touch| {
        // Without a twin, the TLB serves as its own.
        let own =
            || (place[at], Stamp { words: spare.next().map_or(&mut [][..], |s| &mut s[..]), now: None });
        let (place, stamp) = twins[at].take().map_or_else(own, |(place, marks)| (place, marks.into()));
        at += 1;
        Twinned { touch, place, stamp }
    });
    run(place, twinned, lookups)
}

/// Of two TLBs, the second is that of loads and stores.
#[inline]
fn run<const N: usize, L: Lookups, T: Touch>(place: [&[u32]; N], mut touch: [T; N], lookups: L) -> L::Output {
    let mut time = touch.iter().map(Touch::now).max().unwrap_or(0);
    let hit = |lookup| {
        let side = ((lookup >> CLASS_SHIFT) as usize).min(N - 1);
        let page = (lookup & PAGE_MASK) as usize;
        let place = place[side][page];
        let hit = place <= PINNED && touch[side].touch(page, place, time + 1);
        time += u64::from(hit);
        hit
    };
    let out = if N > 2 { lookups.run::<true>(hit) } else { lookups.run::<false>(hit) };
    touch.iter_mut().for_each(|t| t.end(time));
    out
}
