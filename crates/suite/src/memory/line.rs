//! `mem.line`: bytes of a cache line.
//!
//! Found, not timed: units of 1 KiB are visited in random order, more of them than the first-level cache has lines; in each,
//! first a word at a random multiple of `2 d` is loaded, then the word `d` bytes further. While `d` stays inside the line
//! the second load hits the first level; the smallest `d` at which it no longer does is the line.
//!
//! Pitfalls: fetching pairs of lines happens beyond the second level and does not show here; a stride prefetcher can't
//! follow the random units. Proof: the value is a power of two from 16 to 256 at which the cost of a pair steps up by at least
//! 18 %, all smaller distances costing the same within 9 %; else the row is skipped.

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
    .definition(2)
    .control();
    Benchmark::new("mem.line", run).metric(declared).weight(0.5)
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let sizes = cache_sizes()?;
    let bytes = line_bytes(bench.job().clock, sizes[0], harness::fresh_seed()).map_err(Stop::Skip)?;
    bench.put("mem.line", f64::from(bytes));
    Ok(())
}
