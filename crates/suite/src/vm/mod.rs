//! Virtual memory: mapping, faulting, and taking translations away again.

mod fault;
mod flush;
mod mapping;
mod mmap;
mod pagemap;

use harness::Benchmark;
pub(crate) use mapping::map_file;
pub(crate) use pagemap::folio_bytes;

/// The section's benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    let mut all = mmap::benchmarks();
    all.extend(fault::benchmarks());
    all.extend(flush::benchmarks());
    all
}
