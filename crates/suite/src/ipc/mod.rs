//! Two processes on one machine that pass something back and forth.

mod byte_echo;
mod eventfd;
mod fcntl;
mod fifo;
pub(crate) mod futex;
mod mq;
pub(crate) mod pipe;
mod sem;
mod unix;

use harness::Benchmark;

/// The section's benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    [
        pipe::benchmarks(),
        fifo::benchmarks(),
        unix::benchmarks(),
        sem::benchmarks(),
        mq::benchmarks(),
        fcntl::benchmarks(),
        futex::benchmarks(),
        eventfd::benchmarks(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
