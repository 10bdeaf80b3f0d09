//! The cache line, by the distance at which a second load no longer hits.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::backing::{distinct_pages, page_bytes};
use crate::kernel::pointer_chain;
use crate::recording::{Chain, Request, quantile};
use crate::sampler::Sampler;
use harness::Clock;

/// Bytes of a unit.
const UNIT: usize = 1024;
/// Units per 64 bytes of the first level: one line of each is four times what it holds.
const TIMES: usize = 4;
/// Rounds over all distances.
const ROUNDS: u32 = 8;
/// Distances tried.
const DISTANCES: [usize; 6] = [8, 16, 32, 64, 128, 256];
/// The second load of a pair costs at least this much more of the pair's time once it misses, as a share.
const STEP: f64 = 0.18;
/// Distances inside a line take the same time within this share.
const SAME: f64 = 0.09;

/// Bytes of a line, where `first_level` is the size of the first-level cache. The error says why there is no clear step.
pub fn line_bytes(clock: Clock, first_level: u64, seed: u64) -> Result<u32, String> {
    let units = (first_level as usize / 64 * TIMES).max(64);
    let bytes = (units * UNIT).next_multiple_of(page_bytes());
    let mapping = distinct_pages(bytes).map_err(|e| e.to_string())?;
    let mut sampler = Sampler::new(clock);
    let mut order: Vec<usize> = (0..units).collect();
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    // Rounds over all distances, so that what disturbs for a while disturbs all of them; the quietest round counts.
    let mut times = [f64::MAX; DISTANCES.len()];
    for round in 0..ROUNDS {
        for (best, distance) in times.iter_mut().zip(DISTANCES) {
            order.shuffle(&mut rng);
            // On a multiple of twice the distance: a line longer than the distance holds both words.
            let starts: Vec<usize> = order
                .iter()
                .map(|unit| unit * UNIT + rng.random_range(0..UNIT / (2 * distance)) * 2 * distance)
                .collect();
            let address = |offset: usize| mapping.base().wrapping_add(offset);
            for (i, &first) in starts.iter().enumerate() {
                let next = starts[(i + 1) % starts.len()];
                // SAFETY: both words lie in the unit, within the mapping, 8-byte aligned.
                unsafe {
                    address(first).cast::<*mut u8>().write(address(first + distance));
                    address(first + distance).cast::<*mut u8>().write(address(next));
                }
            }
            let mut at: *const u8 = address(starts[0]);
            let steps = 2 * starts.len() as u64;
            let request = Request { chain: Chain::LoadDistinct, stride: 1, pages: 0 };
            let batch = sampler.batch(request, round, steps as usize, || {
                // SAFETY: the ring was just written.
                at = unsafe { pointer_chain(at, steps) };
            });
            let mut ns: Vec<f64> = batch.chunk_ns.iter().map(|&ns| f64::from(ns)).collect();
            ns.sort_by(f64::total_cmp);
            *best = best.min(quantile(&ns, 0.1));
        }
    }
    step(&times)
}

/// The first distance at which a pair of loads takes clearly longer, all shorter ones taking the same time. Beyond the step
/// the time may grow further: distant words fall on a part of the sets only.
fn step(times: &[f64]) -> Result<u32, String> {
    let near = times[0];
    let Some(at) = times.iter().position(|&t| t > near * (1.0 + STEP)) else {
        return Err(format!("no step: pairs of loads take {times:.2?} ns a load at distances {DISTANCES:?}"));
    };
    let clean = times[..at].iter().all(|&t| (t / near - 1.0).abs() < SAME)
        && times[at..].iter().all(|&t| t > near * (1.0 + STEP));
    if clean {
        Ok(DISTANCES[at] as u32)
    } else {
        Err(format!("no clean step in {times:.2?} ns a load at distances {DISTANCES:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_is_the_line_and_a_flat_curve_has_none() {
        assert_eq!(step(&[3.8, 3.8, 3.9, 5.1, 5.3, 7.0]), Ok(64));
        assert_eq!(step(&[3.8, 3.8, 3.9, 3.8, 5.3, 7.0]), Ok(128));
        assert!(step(&[2.0; 6]).is_err());
        assert!(step(&[2.0, 2.3, 2.5, 3.3, 3.5, 3.8]).is_err());
    }
}
