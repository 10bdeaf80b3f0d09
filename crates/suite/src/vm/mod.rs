//! Virtual memory: mapping, faulting, and taking translations away again.

mod advice;
mod fault;
mod flush;
mod folio;
mod mapping;
mod memcg;
mod mmap;
mod pagemap;
mod remap;
mod swap;
mod threads;
mod userfault;

use harness::Benchmark;
pub(crate) use mapping::{Mapping, map_file};
pub(crate) use pagemap::{anon_huge_kb, folio_bytes};

/// The section's benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    let mut all = mmap::benchmarks();
    all.extend(fault::benchmarks());
    all.extend(flush::benchmarks());
    all.push(advice::benchmark());
    all.extend(remap::benchmarks());
    all.extend(userfault::benchmarks());
    all.extend(folio::benchmarks());
    all.push(swap::benchmark());
    all.push(memcg::benchmark());
    all.extend(threads::benchmarks());
    all
}
