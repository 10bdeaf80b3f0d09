//! How many misses run at once: k independent chains through one ring.

use harness::Clock;
use serde::Serialize;

use crate::recording::quantile;

use super::ring::{PLACES, Ring};
use super::together::walk_together;

/// Time per load by number of chains.
#[derive(Clone, Debug, Serialize)]
pub struct Parallelism {
    /// Footprint.
    pub bytes: u64,
    /// (chains, ns per load).
    pub chains: Vec<(u32, f64)>,
    /// Loads in flight at once: one chain's time over the best, at most as many as there were chains.
    pub concurrent: f64,
}

/// Numbers of chains tried, and the most of them.
const TRIED: usize = 14;
const MOST: usize = 48;

/// Steps of each chain in one chunk: short, so that a chunk in which others had the CPU is one of many.
const STEPS: u64 = 64;

/// Most chunks of a number of chains, however large the ring: 20 ms at most at 160 ns per load.
const MOST_CHUNKS: usize = 2000;

/// Measures 1 to 48 chains through `ring`, which must be random. Every number of chains has a part of the ring of its own,
/// and every chain a part of that: what was walked before is in some cache.
pub fn parallelism(clock: &Clock, ring: &Ring) -> Parallelism {
    let places = ring.places();
    let mut parts = places.chunks_exact(PLACES / TRIED);
    let mut chains = Vec::new();
    macro_rules! with {
        ($($k:literal)*) => {$(
            let part = parts.next().unwrap_or(&places);
            let each = part.len() / $k;
            let mut at: [*const u8; $k] = std::array::from_fn(|i| part[i * each]);
            // The first chunk learns where the chains are; the last may not run into the next chain's part.
            let chunks = (each * (ring.lines() / PLACES) / STEPS as usize).clamp(2, MOST_CHUNKS);
            let mut times = Vec::with_capacity(chunks);
            for _ in 0..chunks {
                let start = clock.stamp();
                // SAFETY: the places lie on the ring, which outlives this call.
                unsafe { walk_together(&mut at, STEPS) };
                let ns = clock.ns(clock.stamp().saturating_sub(start)) - clock.cost_ns;
                times.push(ns / (STEPS * $k) as f64);
            }
            times.remove(0);
            times.sort_by(f64::total_cmp);
            chains.push(($k, quantile(&times, 0.25)));
        )*};
    }
    const { assert!(PLACES / TRIED >= MOST) };
    with!(1 2 3 4 6 8 10 12 16 20 24 32 40 48);
    let one = chains.first().map_or(0.0, |c: &(u32, f64)| c.1);
    // So many chains have no more loads in flight, whatever the noise of their times says.
    let of = |&(count, ns): &(u32, f64)| (one / ns).min(f64::from(count));
    let concurrent = chains.iter().map(of).fold(0.0, f64::max);
    Parallelism { bytes: ring.bytes() as u64, chains, concurrent }
}
