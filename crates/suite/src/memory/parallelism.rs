//! `mem.parallelism`: loads from memory in flight at once.
//!
//! Timed: 1 to 24 independent chains through one random ring of four times the last-level cache (at most 256 MiB, base
//! pages); the metric is the time per load of one chain over the best time per load. A ratio of times, so neither the
//! clock nor the latency enters. Pitfalls: page walks run in parallel up to the number of walkers, which may be the limit.

use harness::prelude::*;
use memory::latency::parallelism::parallelism;
use memory::latency::ring::{Pages, Pattern, Ring};
use memory::sampler::Sampler;

use super::beyond_caches;

/// The benchmark.
pub fn benchmark() -> Benchmark {
    let declared = count(
        "mem.parallelism",
        "core",
        "Loads from memory one core keeps in flight: time per load of one chain over the best of up to 24 chains.",
    )
    .direction(Direction::Bigger);
    Benchmark::new("mem.parallelism", run).metric(declared).memory(64 << 20)
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let bytes = beyond_caches(bench.job().memory_limit)?;
    let ring =
        Ring::new(bytes as usize, Pattern::Random, Pages::Base, harness::fresh_seed()).map_err(Stop::Skip)?;
    let found = parallelism(&mut Sampler::new(bench.job().clock), &ring);
    check(found.concurrent >= 1.0, "several chains are slower than one")?;
    bench.put("mem.parallelism", found.concurrent);
    Ok(())
}
