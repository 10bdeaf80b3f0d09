//! How many misses run at once: k independent chains through one ring.

use serde::Serialize;

use crate::recording::{Chain, Request, quantile};
use crate::sampler::Sampler;

use super::ring::Ring;
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

/// Steps per chain in one call.
const STEPS: u64 = 256;

/// Measures 1 to 24 chains through `ring`, which must be random.
pub fn parallelism(sampler: &mut Sampler, ring: &Ring) -> Parallelism {
    let places = ring.places();
    let mut chains = Vec::new();
    macro_rules! with {
        ($($k:literal)*) => {$(
            let mut at: [*const u8; $k] = std::array::from_fn(|i| places[i * places.len() / $k]);
            let request = Request { chain: Chain::LoadDistinct, stride: 1, pages: 0 };
            let batch = sampler.batch(request, 0, STEPS as usize * $k, || {
                // SAFETY: the places lie on the ring, which outlives this call.
                unsafe { walk_together(&mut at, STEPS) };
            });
            let mut times: Vec<f64> = batch.chunk_ns.iter().map(|&ns| f64::from(ns)).collect();
            times.sort_by(f64::total_cmp);
            chains.push(($k, quantile(&times, 0.25)));
        )*};
    }
    with!(1 2 3 4 6 8 10 12 16 20 24);
    let one = chains.first().map_or(0.0, |c: &(u32, f64)| c.1);
    // So many chains have no more loads in flight, whatever the noise of their times says.
    let of = |&(count, ns): &(u32, f64)| (one / ns).min(f64::from(count));
    let concurrent = chains.iter().map(of).fold(0.0, f64::max);
    Parallelism { bytes: ring.bytes() as u64, chains, concurrent }
}
