//! The memory hierarchy and its translation: short forms of what `tlbench mem` and `tlbench tlb` measure in full.

mod latency;
mod line;
mod tlb;

use environment::{Root, Topology};
use harness::{Benchmark, Stop};

/// The section's benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    let mut all = latency::benchmarks();
    all.push(line::benchmark());
    all.push(tlb::benchmark());
    all
}

/// Largest footprint of these benchmarks: guests may be told the cache of a whole socket, and building a larger ring
/// takes longer than measuring it.
const MOST: u64 = 256 << 20;

/// Sizes of the data caches by level, first to last; the error says that there is no description.
fn cache_sizes() -> Result<Vec<u64>, Stop> {
    let topology = Topology::read(&Root::host());
    let sizes: Vec<u64> = (1..=4).map_while(|level| topology.cache_bytes(level)).collect();
    if sizes.is_empty() {
        Err(Stop::skip("no cache is described in /sys/devices/system/cpu/cpu0/cache"))
    } else {
        Ok(sizes)
    }
}

/// Four times the last-level cache, at most [`MOST`]; the error says what it lacks: the cache must be left behind at
/// least twice over.
fn beyond_caches(limit: u64) -> Result<u64, Stop> {
    let sizes = cache_sizes()?;
    let last = sizes.last().copied().unwrap_or(0);
    let wanted = (last * 4).clamp(64 << 20, MOST);
    let bytes = wanted.min(limit / 2);
    if bytes < last * 2 {
        return Err(Stop::skip(format!(
            "needs twice the last-level cache of {} MiB, {} MiB may be used here",
            last >> 20,
            bytes >> 20
        )));
    }
    Ok(bytes)
}
