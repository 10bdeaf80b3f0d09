//! Virtual memory: mapping, faulting, and taking translations away again.

mod fault;
mod flush;
mod mapping;
mod mmap;
mod pagemap;

use harness::Benchmark;
pub(crate) use mapping::{Mapping, map_file};
pub(crate) use pagemap::{anon_huge_kb, folio_bytes};

/// The section's benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    let mut all = mmap::benchmarks();
    all.extend(fault::benchmarks());
    all.extend(flush::benchmarks());
    all
}
