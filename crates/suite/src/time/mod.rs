//! Asking for the time, and sleeping for some.

mod gettime;
mod sleep;

use harness::Benchmark;

/// The section's benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    let mut all = gettime::benchmarks();
    all.extend(sleep::benchmarks());
    all
}
