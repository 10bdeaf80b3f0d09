//! System parameters that other numbers are judged by.

mod clock;
mod load_scaling;

use harness::Benchmark;

/// The section's benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    vec![clock::benchmark(), load_scaling::benchmark()]
}
