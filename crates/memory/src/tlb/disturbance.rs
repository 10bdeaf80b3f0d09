//! How often something outside this program empties the TLB or takes the CPU.

use std::time::{Duration, Instant};

use crate::backing::{LINES, zero_pages};
use crate::kernel::zero_chain;
use crate::recording::quantile;
use crate::sampler::Sampler;

/// Pages of one pass: few enough for every first-level TLB, enough to notice that it was emptied.
const PAGES: usize = 32;
const WATCHED: Duration = Duration::from_millis(60);

/// Slow passes per ms and the median cost of one, ns; `None` where the pages can't be had.
pub fn disturbance(sampler: &Sampler) -> Option<(f64, f64)> {
    let pages = zero_pages(PAGES, 1).ok()?;
    let units = crate::backing::page_bytes() / crate::kernel::OFFSET_UNIT;
    let list: Vec<u32> = (0..PAGES).map(|i| (i * units + i % LINES) as u32).collect();
    let mut passes: Vec<f64> = Vec::with_capacity(400_000);
    let started = Instant::now();
    let mut carry = 0usize;
    while started.elapsed() < WATCHED && passes.len() < 400_000 {
        for _ in 0..64 {
            let start = sampler.clock.stamp();
            // SAFETY: all offsets lie in the mapping, which holds zeros.
            carry = unsafe { zero_chain(pages.base().wrapping_add(carry), &list) } as usize;
            passes.push(sampler.clock.ns(sampler.clock.stamp().saturating_sub(start)));
        }
    }
    let elapsed_ms = passes.iter().sum::<f64>() / 1e6;
    let mut sorted = passes.clone();
    sorted.sort_by(f64::total_cmp);
    let usual = quantile(&sorted, 0.5);
    let slow: Vec<f64> = sorted.iter().filter(|&&ns| ns > 2.0 * usual).map(|ns| ns - usual).collect();
    Some((slow.len() as f64 / elapsed_ms.max(1e-3), if slow.is_empty() { 0.0 } else { quantile(&slow, 0.5) }))
}
