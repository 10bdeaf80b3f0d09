//! Switching between processes and threads on one CPU.

mod pipe_ring;
mod thread_ring;
mod vector_signal;
mod vectors;
mod yielding;

use harness::Benchmark;

/// The section's benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    let mut all = pipe_ring::benchmarks();
    all.push(thread_ring::benchmark());
    all.extend(yielding::benchmarks());
    all.push(vector_signal::benchmark());
    all
}
