//! Namespaces and cgroups: what a container's first process costs.

mod cgroup;
mod child;
mod namespace;

use harness::prelude::*;

/// The section's benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    let mut all = namespace::benchmarks();
    all.extend(cgroup::benchmarks());
    all
}

/// Times `operation` once per sample for half of the invocation's time, at least twice: for operations that wait for
/// the kernel's grace periods, of which few fit. Yields how many there were.
fn one_by_one(
    bench: &mut Bench,
    metric: &str,
    mut operation: impl FnMut() -> Result<(), Stop>,
) -> Result<u64, Stop> {
    let clock = bench.job().clock;
    let slice_ns = bench.job().slice_ns as f64 / 2.0;
    let begin = clock.stamp();
    let mut done = 0;
    while done < 2 || (done < 500 && clock.ns(clock.stamp() - begin) < slice_ns) {
        let start = clock.stamp();
        operation()?;
        bench.put(metric, clock.ns(clock.stamp() - start));
        done += 1;
    }
    Ok(done)
}
