//! Stores: forwarding to a load of the same address, and stores that miss.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use crate::backing::{distinct_pages, page_bytes};
use crate::kernel::store_each;
use crate::recording::{Chain, Request, quantile};
use crate::sampler::Sampler;

use super::ring::LINE;

/// Stores to random lines of a footprint, each fenced.
#[derive(Clone, Debug, Serialize)]
pub struct StoreRow {
    /// Footprint; `None` for forwarding.
    pub bytes: Option<u64>,
    /// What it is.
    pub what: String,
    /// ns per store (per store and load for forwarding).
    pub ns: f64,
}

/// A store and a load of the same address, each depending on the other, ns per pair.
pub fn forwarding(sampler: &mut Sampler) -> StoreRow {
    let mut cell = Box::new(0u64);
    let request = Request { chain: Chain::Store, stride: 1, pages: 0 };
    let place: *mut u64 = &mut *cell;
    let mut value = 1u64;
    let batch = sampler.batch(request, 0, 1000, || {
        for _ in 0..1000 {
            // SAFETY: the cell is ours; volatile keeps the round trip through memory.
            unsafe {
                place.write_volatile(value);
                value = place.read_volatile();
            }
        }
    });
    let mut times: Vec<f64> = batch.chunk_ns.iter().map(|&ns| f64::from(ns)).collect();
    times.sort_by(f64::total_cmp);
    StoreRow { bytes: None, what: "store forwarded to a load".into(), ns: quantile(&times, 0.1) }
}

/// Stores to random lines of `bytes`, a fence after each.
pub fn stores(sampler: &mut Sampler, bytes: u64, seed: u64) -> Result<StoreRow, String> {
    let mapping =
        distinct_pages((bytes as usize).next_multiple_of(page_bytes())).map_err(|e| e.to_string())?;
    let count = u32::try_from(bytes as usize / LINE).map_err(|_| "too many lines".to_owned())?;
    let mut list: Vec<u32> = (0..count).collect();
    list.shuffle(&mut Pcg64Mcg::seed_from_u64(seed));
    let request = Request { chain: Chain::Store, stride: 1, pages: 0 };
    let mut from = 0;
    let step = 2048.min(list.len());
    let batch = sampler.batch(request, 0, step, || {
        // SAFETY: all offsets lie in the mapping, which is writable.
        unsafe { store_each(mapping.base(), &list[from..from + step], 1) };
        from = if from + 2 * step > list.len() { 0 } else { from + step };
    });
    let mut times: Vec<f64> = batch.chunk_ns.iter().map(|&ns| f64::from(ns)).collect();
    times.sort_by(f64::total_cmp);
    Ok(StoreRow {
        bytes: Some(bytes),
        what: "fenced store to a random line".into(),
        ns: quantile(&times, 0.25),
    })
}
