//! System calls that do as little as possible.

mod fstat;
mod getrandom;
mod null;
mod open_close;
mod read;
mod sched_yield;
mod stat;
mod write;

use harness::Benchmark;

/// The section's benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    vec![
        null::benchmark(),
        read::benchmark(),
        write::benchmark(),
        stat::benchmark(),
        fstat::benchmark(),
        open_close::benchmark(),
        getrandom::benchmark(),
        sched_yield::benchmark(),
    ]
}
