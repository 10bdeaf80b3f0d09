//! Memory bandwidth of one thread and of all CPUs, in the caches and beyond them.
//!
//! `bw.mem.{read,write,rdwr,copy,zero}`: the machine's widest vectors on memory that no cache holds; `.scalar` with
//! 64-bit registers, `.nt` with stores that bypass the caches, `.rep` with the string instructions of x86
//! (`rep movsb`, `rep stosb`), `_libc` with one call of `memcpy` or `memset` for all of the buffer; `.l1`, `.l2`, `.l3` the vectors inside that cache;
//! `.all` the vectors on every CPU at once. `bw.stream.{copy,scale,add,triad}` are the four loops of STREAM in double
//! precision, `.all` likewise.
//!
//! Counted: every byte of the buffer once for read, write, zero and rdwr (a load and a store of each address), once
//! for copy (LMbench's way); STREAM counts each array it reads or writes (its own way), so its copy shows twice ours.
//! What a store must first read from memory (write allocation) is never counted.
//! Footprints come from the cache topology in 64-bit sizes: four times the last-level cache (twice where that is over
//! 512 MiB), half of L1 and L2, and a part of L3 well above L2. Samples sweep through the footprint, so no
//! sample finds what an earlier one left in a cache.
//! Proof: each kernel is run once on a small buffer whose contents are then checked, and says how far it went.

mod all_cpus;
mod buffers;
mod footprint;
mod kernel;
mod one_thread;

#[cfg(target_arch = "aarch64")]
#[path = "aarch64.rs"]
mod instructions;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[path = "portable.rs"]
mod instructions;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod instructions;

use harness::Benchmark;

/// The section's benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    let mut all = one_thread::benchmarks();
    all.push(all_cpus::benchmark());
    all
}
