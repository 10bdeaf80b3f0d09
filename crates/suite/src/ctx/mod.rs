//! Switching between processes on one CPU.

mod pipe_ring;

use harness::Benchmark;

/// The section's benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    pipe_ring::benchmarks()
}
