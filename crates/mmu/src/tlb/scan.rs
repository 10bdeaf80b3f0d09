//! From miss to miss: the first level of a machine as one loop over lookups that all hit.

use super::PINNED;
use crate::policy::Stamps;
use crate::sim::{CLASS_SHIFT, PAGE_MASK};

/// One TLB for a scan.
pub(super) struct Scanned<'a> {
    pub(super) place: &'a [u32],
    pub(super) stamps: Option<Stamps<'a>>,
}

/// The TLBs that fetches and data look in first.
pub struct Scan<'a> {
    first: Scanned<'a>,
    /// Data's, when it is another one.
    data: Option<Scanned<'a>>,
}

impl<'a> Scan<'a> {
    #[inline]
    pub(super) fn unified(tlb: Scanned<'a>) -> Self {
        Scan { first: tlb, data: None }
    }

    #[inline]
    pub(super) fn split(fetch: Scanned<'a>, data: Scanned<'a>) -> Self {
        Scan { first: fetch, data: Some(data) }
    }

    /// How many of `lookups` hit before the first miss; the policy is told of them.
    #[inline]
    pub fn leading_hits(self, lookups: &[u32]) -> usize {
        let Scan { first, data } = self;
        match (first.stamps, data) {
            (None, None) => untouched(lookups, |l| first.place[(l & PAGE_MASK) as usize]),
            (Some(stamps), None) => stamped(lookups, first.place, stamps),
            (None, Some(Scanned { place, stamps: None })) => {
                let places = [first.place, place];
                untouched(lookups, |l| places[side(l)][(l & PAGE_MASK) as usize])
            }
            (fetch, Some(Scanned { place, stamps: data })) => {
                stamped_apart(lookups, [first.place, place], [fetch, data])
            }
        }
    }
}

/// 0 for fetches, 1 for loads and stores.
#[inline]
fn side(lookup: u32) -> usize {
    usize::from(lookup >> CLASS_SHIFT != 0)
}

#[inline]
fn untouched(lookups: &[u32], place: impl Fn(u32) -> u32) -> usize {
    lookups.iter().position(|&l| place(l) > PINNED).unwrap_or(lookups.len())
}

#[inline]
fn stamped(lookups: &[u32], place: &[u32], stamps: Stamps) -> usize {
    let Stamps { touched, now } = stamps;
    let mut time = *now;
    let mut hits = 0;
    if let Some(pinned) = touched.len().checked_sub(1) {
        for &lookup in lookups {
            let place = place[(lookup & PAGE_MASK) as usize];
            if place > PINNED {
                break;
            }
            time += 1;
            touched[(place as usize).min(pinned)] = time;
            hits += 1;
        }
    }
    *now = time;
    hits
}

/// Stamps of one TLB, or one slot of no meaning.
fn touched<'a>(stamps: Option<&'a mut Stamps>, nothing: &'a mut [u64; 1]) -> &'a mut [u64] {
    stamps.map_or(nothing, |s| &mut *s.touched)
}

fn stamped_apart(lookups: &[u32], places: [&[u32]; 2], mut stamps: [Option<Stamps>; 2]) -> usize {
    // One clock serves both: only the order within a TLB counts.
    let mut time = stamps.iter().flatten().map(|s| *s.now).max().unwrap_or(0);
    let mut hits = 0;
    let mut nothing = [[0], [0]];
    let ([fetch, data], [none, nor]) = (&mut stamps, &mut nothing);
    let touched = [touched(fetch.as_mut(), none), touched(data.as_mut(), nor)];
    for &lookup in lookups {
        let side = side(lookup);
        let place = places[side][(lookup & PAGE_MASK) as usize];
        if place > PINNED {
            break;
        }
        time += 1;
        let last = touched[side].len() - 1;
        touched[side][(place as usize).min(last)] = time;
        hits += 1;
    }
    stamps.into_iter().flatten().for_each(|s| *s.now = time);
    hits
}
