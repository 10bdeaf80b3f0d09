//! Futexes without sleeping: the look-up in the kernel's hash, alone and contended.

mod hash;

use harness::Benchmark;

/// The section's benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    hash::benchmarks()
}
