//! Waking a process that sleeps: on another idle CPU, and by a timer.

mod across;
mod idle;
mod timer;

use harness::Benchmark;

/// The section's benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    let mut all = across::benchmarks();
    all.push(timer::benchmark());
    all
}
