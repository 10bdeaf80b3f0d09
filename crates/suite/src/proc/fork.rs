//! `proc.fork` and `proc.fork.64m`, `.256m`, `.1g`: a process made, ended and reaped.
//!
//! Timed: a raw fork, the child's immediate exit, and the wait for it, on one CPU. Per fork. `proc.fork` has a small
//! parent, the measuring process itself (its resident pages are in the record); the others have that much more anonymous
//! memory resident in base pages, whose tables fork copies and the child's exit walks again. `.page` is the whole time
//! over the pages resident, nothing subtracted.
//! Proof: every child is reaped with status 0; the resident pages are counted by the faults that filled them.

use harness::prelude::*;

use super::child;
use super::resident::{Resident, page_bytes};

/// The benchmark with a small parent.
pub fn tiny() -> Benchmark {
    Benchmark::new("proc.fork", run_tiny).metric(
        time(
            "proc.fork",
            "fork, exit and wait",
            "A raw fork of a small process, the child's exit, the wait for it.",
        )
        .blocking()
        .with_tails(),
    )
}

/// The benchmark with `bytes` resident in the parent.
pub fn resident(size: &'static str, bytes: u64) -> Benchmark {
    let name = format!("proc.fork.{size}");
    let per_page = format!("{name}.page");
    let metric = time(
        name.clone(),
        "fork, exit and wait",
        format!("As proc.fork, with {} MiB resident in the parent in base pages.", bytes >> 20),
    );
    Benchmark::new(name.clone(), move |bench| run_resident(bench, &name, bytes))
        .metric(metric.blocking().single_shot(3))
        .metric(
            time(per_page, "resident page", "The same time over the pages resident in the parent.")
                .blocking(),
        )
        .memory(bytes + (64 << 20))
        .weight(1.0)
}

/// Forks once, lets the child exit, reaps it.
#[inline]
fn fork_and_reap() -> Result<(), Stop> {
    let pid = child::fork()?;
    if pid == 0 {
        child::exit(0);
    }
    child::reap(pid).map(drop)
}

fn run_tiny(bench: &mut Bench) -> Result<(), Stop> {
    if let Some(pages) = resident_pages() {
        bench.note("proc.fork", "parent_pages", pages);
    }
    bench.measure("proc.fork", |iterations, timer| {
        timer.time(|| (0..iterations).try_for_each(|_| fork_and_reap()))
    })
}

fn run_resident(bench: &mut Bench, name: &str, bytes: u64) -> Result<(), Stop> {
    let memory = Resident::map(bytes)?;
    let pages = memory.pages();
    bench.note(name, "pages", pages);
    bench.note(name, "page_bytes", page_bytes());
    bench.note(name, "huge_pages", "off");
    let per_page = format!("{name}.page");
    // The first fork marks every page read-only in the parent; later ones find that done.
    fork_and_reap()?;
    bench.measure(name, |_, timer| {
        timer.also_per(&per_page, pages as f64);
        timer.time(fork_and_reap)
    })
}

/// Resident pages of this process, from /proc/self/statm (proc_pid_statm(5)).
fn resident_pages() -> Option<u64> {
    std::fs::read_to_string("/proc/self/statm").ok()?.split(' ').nth(1)?.parse().ok()
}
