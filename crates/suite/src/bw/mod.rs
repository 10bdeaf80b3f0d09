//! Bandwidth: bytes moved per second.

mod file;
mod local;
mod tcp;
mod transfer;

use harness::Benchmark;

/// The section on this machine.
pub fn benchmarks() -> Vec<Benchmark> {
    let mut all = local::benchmarks();
    all.extend(tcp::benchmarks());
    all.extend(file::benchmarks());
    all
}

/// The section against `tlbench serve`.
pub fn remote_benchmarks() -> Vec<Benchmark> {
    tcp::remote_benchmarks()
}
