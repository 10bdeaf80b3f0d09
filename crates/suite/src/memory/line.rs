//! `mem.line`: bytes of a cache line.
//!
//! Found, not timed: in a footprint that misses the first-level cache and fits the second, units of 1 KiB are visited in
//! random order; in each, first its start is loaded, then the word `d` bytes further. While `d` stays inside the line the
//! second load hits the first level; the smallest `d` at which it no longer does is the line.
//!
//! Pitfalls: fetching pairs of lines happens beyond the second level and does not show here; a stride prefetcher can't
//! follow the random units. Proof: the value is a power of two between 16 and 512 at which the cost steps up by at least
//! half of the second level's latency, else the row is skipped.

use harness::prelude::*;
use memory::latency::line::line_bytes;

use super::cache_sizes;

/// The benchmark.
pub fn benchmark() -> Benchmark {
    let declared = count(
        "mem.line",
        "line",
        "Bytes of a cache line, found by the distance at which a second load misses.",
    )
    .unit(Unit::BYTES)
    .control();
    Benchmark::new("mem.line", run).metric(declared).weight(0.5)
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let sizes = cache_sizes()?;
    let footprint = sizes.get(1).map_or(sizes[0] * 8, |second| (second / 2).max(sizes[0] * 2));
    let bytes = line_bytes(bench.job().clock, footprint, harness::fresh_seed()).map_err(Stop::Skip)?;
    bench.put("mem.line", f64::from(bytes));
    Ok(())
}
