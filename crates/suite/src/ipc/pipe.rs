//! `ipc.pipe`: a round trip of one byte through two pipes.
//!
//! Timed: see `byte_echo`. Per round trip, which on one CPU is two context switches and four pipe calls.
//! Pitfalls: across CPUs the number is mostly the cost to wake an idle CPU, twice; `wake.pipe` shows that alone.

use std::io;
use std::os::fd::OwnedFd;

use harness::prelude::*;

use super::byte_echo::{self, Side};

/// The family.
pub fn benchmarks() -> Vec<Benchmark> {
    crate::placed::round_trip("ipc.pipe", true, "A byte to another process and back through two pipes", run)
}

fn run(bench: &mut Bench, metric: &str) -> Result<(), Stop> {
    let (their_from, to) = pipe()?;
    let (from, their_to) = pipe()?;
    byte_echo::measure(bench, metric, Side { from, to }, Side { from: their_from, to: their_to })
}

/// A pipe's reading and writing end.
pub fn pipe() -> Result<(OwnedFd, OwnedFd), Stop> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|e| Stop::unavailable("pipe", &io::Error::from(e)))
}
