//! What a page walk costs, by where its page table entries are, and how many walks run at once.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use crate::backing::{LINES, page_bytes, zero_pages};
use crate::curve::Curve;
use crate::kernel::{OFFSET_UNIT, zero_chains};
use crate::recording::{Chain, Request};
use crate::sampler::Sampler;
use crate::survey::{Probe, Survey};

use super::report::{Walk, WalkRow};

/// Bytes of a page table entry and of a cache line.
const ENTRY: u64 = 8;
const LINE: u64 = 64;

/// Cache sizes in bytes, where known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Caches {
    /// First-level data cache.
    pub l1: Option<u64>,
    /// Second level.
    pub l2: Option<u64>,
    /// Third level.
    pub l3: Option<u64>,
}

/// What is known of the last level.
#[derive(Clone, Copy, Debug)]
pub struct LastLevel {
    /// Entries.
    pub entries: u32,
    /// Cycles of an access that hits it, aliasing included.
    pub hit: f64,
    /// Cycles that a miss adds at its knee.
    pub miss: Option<f64>,
}

/// Measures the rows of the table. With page table entries in the first-level cache the pages can't be so many that every
/// access misses a table with random victims: there the rise fitted at the knee counts where it is more than was measured.
pub fn walk_costs<P: Probe>(survey: &mut Survey<P>, last: LastLevel, caches: Caches) -> Vec<WalkRow> {
    let LastLevel { entries, hit, miss } = last;
    let (l1, l2) = (caches.l1.unwrap_or(32 << 10), caches.l2.unwrap_or(512 << 10));
    let l3 = caches.l3.unwrap_or(0);
    let dense = (f64::from(entries) * 1.22) as u32;
    // Footprints of one line per page: half the second level, but beyond the first; then well beyond the second.
    let in_l2 = ((l2 / 2 / LINE) as u32).max(dense);
    let in_l3 = ((l2 * 6 / LINE) as u32).clamp(dense, 1 << 16);
    let footprint_fits = |pages: u32, cache: u64| u64::from(pages) * LINE <= cache * 3 / 4;
    let plan = [
        ("L1 data cache", Chain::LoadAliased, 1, dense, u64::from(dense) * ENTRY <= l1),
        ("L2 cache", Chain::LoadAliased, 8, in_l2, footprint_fits(in_l2, l2)),
        (
            "L3 cache",
            Chain::LoadAliased,
            8,
            in_l3,
            l3 > 0 && footprint_fits(in_l3, l3) && !footprint_fits(in_l3, l2),
        ),
        ("a table page of its own each", Chain::LoadScattered, 512, dense.max(4096), true),
    ];
    plan.iter()
        .map(|&(place, chain, stride, pages, possible)| {
            let mut row = WalkRow {
                entries_in: place.into(),
                pages,
                stride,
                table_bytes: u64::from(pages) * if stride == 1 { ENTRY } else { LINE },
                cycles: None,
                ns: None,
                reason: None,
            };
            if !possible {
                row.reason = Some(
                    "no page count beyond the TLB has its page table entries in this cache alone".into(),
                );
                return row;
            }
            survey.take(&[Request { chain, stride, pages }], 0..3);
            let curve = Curve::of(&survey.recording, chain, stride);
            match curve.points.iter().find(|p| p.pages == pages) {
                Some(point) => {
                    let least = miss.filter(|_| chain == Chain::LoadAliased && stride == 1).unwrap_or(0.0);
                    row.cycles = Some((point.p10 - hit).max(least));
                }
                None => row.reason = survey.refused.get(&(chain, stride)).cloned(),
            }
            row
        })
        .collect()
}

/// Cycles per access of 1 to 12 independent chains over twice as many pages as the last level holds.
pub fn concurrent_walks(sampler: &mut Sampler, entries: u32, seed: u64) -> Result<Walk, String> {
    let pages = entries.saturating_mul(2).clamp(256, 16_384);
    let mapping = zero_pages(pages as usize, 1).map_err(|e| e.to_string())?;
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut order: Vec<u32> = (0..pages).collect();
    order.shuffle(&mut rng);
    let units = page_bytes() / OFFSET_UNIT;
    let list: Vec<u32> = order.iter().map(|&p| (p as usize * units + p as usize % LINES) as u32).collect();
    let mut walk = Walk::default();
    macro_rules! chains {
        ($($k:literal)*) => {$(
            let each = list.len() / $k;
            let lists: [&[u32]; $k] = std::array::from_fn(|j| &list[j * each..(j + 1) * each]);
            let request = Request { chain: Chain::LoadAliased, stride: 1, pages };
            let mut best = f64::MAX;
            for round in 0..3 {
                let batch = sampler.batch(request, round, each * $k, || {
                    // SAFETY: all offsets lie in the mapping, which holds zeros.
                    std::hint::black_box(unsafe { zero_chains::<$k>(mapping.base(), &lists) });
                });
                best = best.min(crate::recording::quantile(&batch.sorted_cycles(), 0.1));
            }
            walk.chains.push(($k, best));
        )*};
    }
    chains!(1 2 3 4 6 8 12);
    let one = walk.chains.first().map(|c| c.1);
    let best = walk.chains.iter().map(|c| c.1).fold(f64::MAX, f64::min);
    walk.concurrent = one.map(|one| one / best);
    Ok(walk)
}
