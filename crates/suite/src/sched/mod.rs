//! The scheduler under load.

mod wake;

use harness::Benchmark;

/// The section's benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    wake::benchmarks()
}
