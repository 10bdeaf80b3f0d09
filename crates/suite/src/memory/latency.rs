//! `mem.lat.l1`, `mem.lat.l2`, `mem.lat.l3`, `mem.lat.dram`, `mem.lat.dram_random`: one dependent load; and
//! `mem.parallelism`: how many of the last kind are in flight at once.
//!
//! Timed: a ring of pointers, one per 64-byte line, that visits every line of its footprint once in random order; each
//! load's address is what the one before loaded. Per load. The footprint is half the cache's size by sysfs (for the first
//! level and the second) or a quarter (for a shared one), four times the last-level cache for `dram`, at most 256 MiB.
//! `l3` and `dram` visit all lines of a page (in random order) before the next page, so that translation costs little and
//! one is the other's continuation; `dram_random` is random over all lines and includes translation (in definition 1, with
//! page table entries as near as a fast walk before had left them). (Definition 1 of
//! `l3` was random over all lines: where its footprint exceeds the TLB's reach it came out above `dram`.) Base pages throughout: huge pages are refused by advice. Each invocation has pages and a
//! permutation of its own.
//!
//! Pitfalls: a guest may be told caches it does not have; the neighbours use a shared cache too, so `l3` may be slower
//! than an idle machine's. The first level is a control.
//!
//! `mem.parallelism` is found on the ring of `dram_random`, which is dear to build: 1 to 48 chains through it at once, each on lines of its own (definition 1: to 24, on lines that fewer chains had walked before); the
//! time per load of one chain over the best time per load. A ratio of times, so neither the clock nor the latency enters.
//! Page walks run in parallel up to the number of walkers, which may be the limit.
//!
//! Proof: stretches of the ring walked at once each end where the next begins, in as many steps as there are lines.

use harness::prelude::*;
use memory::latency::parallelism::parallelism;
use memory::latency::ring::{Pages, Pattern, Ring};

use super::{beyond_caches, cache_sizes};

const PARALLELISM: &str = "mem.parallelism";

/// Where the lines are.
#[derive(Clone, Copy)]
enum Place {
    Cache(usize),
    Memory(Pattern),
}

/// The benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    let of = |name: &'static str, place, doc: &str, control: bool| {
        let declared = time(name, "load", doc);
        let declared = if control { declared.control() } else { declared };
        let declared = if matches!(name, "mem.lat.l3" | "mem.lat.dram_random") {
            declared.definition(2)
        } else {
            declared
        };
        let memory = if matches!(place, Place::Memory(_)) { 64 << 20 } else { 16 << 20 };
        Benchmark::new(name, move |bench| run(bench, name, place)).metric(declared).memory(memory)
    };
    vec![
        of("mem.lat.l1", Place::Cache(0), "A dependent load that hits the first-level data cache.", true),
        of(
            "mem.lat.l2",
            Place::Cache(1),
            "A dependent load that hits the second-level cache, random order.",
            false,
        ),
        of(
            "mem.lat.l3",
            Place::Cache(2),
            "A dependent load that hits the third-level cache, all lines of a page before the next page, as dram.",
            false,
        ),
        of(
            "mem.lat.dram",
            Place::Memory(Pattern::PageLocal),
            "A dependent load from memory, all lines of a page before the next page: little translation in it.",
            false,
        ),
        of(
            "mem.lat.dram_random",
            Place::Memory(Pattern::Random),
            "A dependent load from memory, random over all lines of base pages: cache and TLB miss together.",
            false,
        )
        .metric(
            count(
                PARALLELISM,
                "core",
                "Loads from memory one core keeps in flight: time per load of one chain over the best of up to 48 chains.",
            )
            .direction(Direction::Bigger)
            .definition(2),
        ),
    ]
}

fn run(bench: &mut Bench, name: &str, place: Place) -> Result<(), Stop> {
    let (bytes, pattern) = match place {
        Place::Cache(level) => {
            let sizes = cache_sizes()?;
            let size = sizes
                .get(level)
                .copied()
                .ok_or_else(|| Stop::skip(format!("{} cache levels are described here", sizes.len())))?;
            if level < 2 { (size / 2, Pattern::Random) } else { (size / 4, Pattern::PageLocal) }
        }
        Place::Memory(pattern) => (beyond_caches(bench.job().memory_limit)?, pattern),
    };
    let mut ring =
        Ring::new(bytes as usize, pattern, Pages::Base, harness::fresh_seed()).map_err(Stop::Skip)?;
    check(ring.is_closed(), "the ring does not lead around in as many steps as it has lines")?;
    // The check walked many stretches at once, which leaves the page table entries nearer than one walk does.
    ring.settle(cache_sizes()?.last().copied().unwrap_or(0));
    bench.note(name, "footprint_bytes", ring.bytes() as u64);
    bench.measure(name, |iterations, timer| {
        timer.time(|| ring.walk(iterations));
        Ok(())
    })?;
    if matches!(place, Place::Memory(Pattern::Random)) {
        let found = parallelism(&bench.job().clock, &ring);
        check(found.concurrent >= 1.0, "several chains are slower than one")?;
        bench.put(PARALLELISM, found.concurrent);
    }
    Ok(())
}
