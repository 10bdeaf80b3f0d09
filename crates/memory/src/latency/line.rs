//! The cache line, by the distance at which a second load no longer hits.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use crate::backing::{distinct_pages, page_bytes};
use crate::kernel::pointer_chain;
use crate::recording::{Chain, Request, quantile};
use crate::sampler::Sampler;
use harness::Clock;

/// Bytes between units.
const UNIT: usize = 1024;
/// Distances tried.
const DISTANCES: [usize; 6] = [16, 32, 64, 128, 256, 512];

/// Bytes of a line; `footprint` misses the first level and fits the second. The error says why there is no clear step.
pub fn line_bytes(clock: Clock, footprint: u64, seed: u64) -> Result<u32, String> {
    let bytes = (footprint as usize).next_multiple_of(page_bytes());
    let mapping = distinct_pages(bytes).map_err(|e| e.to_string())?;
    let mut sampler = Sampler::new(clock);
    let mut order: Vec<usize> = (0..bytes / UNIT).collect();
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut times = Vec::new();
    for distance in [8].into_iter().chain(DISTANCES) {
        order.shuffle(&mut rng);
        // Units start anywhere in their kilobyte, on a multiple of twice the distance, so all cache sets are used.
        let start = |unit: usize| unit * UNIT + (unit * 7 * distance * 2) % (UNIT / 2).max(distance * 2);
        let address = |offset: usize| mapping.base().wrapping_add(offset);
        for (i, &unit) in order.iter().enumerate() {
            let next = start(order[(i + 1) % order.len()]);
            let (first, second) = (start(unit), start(unit) + distance);
            // SAFETY: both words lie in the unit, within the mapping, 8-byte aligned.
            unsafe {
                address(first).cast::<*mut u8>().write(address(second));
                address(second).cast::<*mut u8>().write(address(next));
            }
        }
        let mut at: *const u8 = address(start(order[0]));
        let steps = 2 * order.len() as u64;
        let request = Request { chain: Chain::LoadDistinct, stride: 1, pages: 0 };
        let mut best = f64::MAX;
        for round in 0..3 {
            let batch = sampler.batch(request, round, steps as usize, || {
                // SAFETY: the ring was just written.
                at = unsafe { pointer_chain(at, steps) };
            });
            let mut ns: Vec<f64> = batch.chunk_ns.iter().map(|&ns| f64::from(ns)).collect();
            ns.sort_by(f64::total_cmp);
            best = best.min(quantile(&ns, 0.1));
        }
        times.push(best);
    }
    step(&times)
}

/// The distance whose time has left the level of the smaller ones for that of the largest.
fn step(times: &[f64]) -> Result<u32, String> {
    let (near, far) = (times[0], times[times.len() - 1]);
    if far < near * 1.2 {
        return Err(format!(
            "no step: two loads {} bytes apart take {far:.2} ns each, 8 bytes apart {near:.2} ns",
            DISTANCES[DISTANCES.len() - 1]
        ));
    }
    let middle = (near + far) / 2.0;
    let at = times.iter().position(|&t| t > middle).unwrap_or(times.len() - 1);
    let clean = times[..at].iter().all(|&t| t < near + 0.3 * (far - near))
        && times[at..].iter().all(|&t| t > near + 0.6 * (far - near));
    match (clean, at.checked_sub(1).and_then(|i| DISTANCES.get(i))) {
        (true, Some(&bytes)) => Ok(bytes as u32),
        _ => Err(format!("no clean step in {times:.2?} ns at distances 8 and {DISTANCES:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_is_the_line_and_a_flat_curve_has_none() {
        assert_eq!(step(&[2.0, 2.0, 2.1, 4.0, 4.1, 4.0, 4.1]), Ok(64));
        assert_eq!(step(&[2.0, 2.0, 2.1, 2.1, 4.1, 4.0, 4.1]), Ok(128));
        assert!(step(&[2.0; 7]).is_err());
        assert!(step(&[2.0, 2.5, 3.0, 3.3, 3.5, 3.8, 4.0]).is_err());
    }
}
