//! `vm.flush.{mprotect,dontneed,munmap}.{1,32,33,34,64,512}p.{0,1,n}t`: taking translations away.
//!
//! Timed: one `mprotect` to read-only, `madvise(MADV_DONTNEED)` or `munmap` of that many base pages, all written just
//! before, so that their translations are in the TLB, while 0, 1 or n threads of the same memory run on other CPUs
//! (n: all the other CPUs). Per call; making the range writable and present again is not timed. `.victim` is what
//! the other threads lose: the gaps in their own loop of clock reads, summed over all of them, per call.
//! Proof: every call returns 0, and writing the range again takes as many faults as it has pages where they were
//! dropped; the threads are seen to run before each call.
//! Pitfalls: 33 pages is where x86 kernels turn from flushing page by page to flushing everything
//! (`tlb_single_page_flush_ceiling`), hence 32, 33 and 34. Freeing the pages is in the number of `dontneed` and
//! `munmap`. With no thread there is nothing to interrupt. On a machine of two CPUs one thread is already all of them.
//! The record counts the machine's TLB interrupts per call where the architecture has such a row in
//! `/proc/interrupts`.

mod operation;
mod spinners;

use std::sync::atomic::AtomicBool;

use environment::Root;
use harness::prelude::*;
use harness::{allowed_cpus, pin_to};
use operation::{Operation, Range};
use spinners::Spinners;

use crate::team::together;

/// Pages per call.
const PAGES: [usize; 6] = [1, 32, 33, 34, 64, 512];

/// Calls whose interrupts are counted.
const COUNTED_CALLS: u32 = 8;

/// How many threads run beside the caller.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    None,
    One,
    All,
}

impl Others {
    fn suffix(self) -> &'static str {
        match self {
            Others::None => "0t",
            Others::One => "1t",
            Others::All => "nt",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Others::None => "no other thread of this memory running",
            Others::One => "one other thread of this memory running on another CPU",
            Others::All => "a thread of this memory running on every other CPU",
        }
    }
}

/// One benchmark per operation and number of threads; the page counts share its process.
pub fn benchmarks() -> Vec<Benchmark> {
    let mut all = Vec::new();
    for operation in Operation::ALL {
        for others in [Others::None, Others::One, Others::All] {
            all.push(benchmark(operation, others));
        }
    }
    all
}

fn metric_name(operation: Operation, pages: usize, others: Others) -> String {
    format!("vm.flush.{}.{pages}p.{}", operation.name(), others.suffix())
}

fn benchmark(operation: Operation, others: Others) -> Benchmark {
    let name = format!("vm.flush.{}.{}", operation.name(), others.suffix());
    let mut benchmark = Benchmark::new(name, move |bench| run(bench, operation, others))
        .placed(Placement::AllCpus)
        .parts(PAGES.len() as u32)
        .weight(1.5);
    for pages in PAGES {
        let name = metric_name(operation, pages, others);
        let doc = format!("{} of {pages} page(s), {}.", operation.words(), others.words());
        benchmark = benchmark.metric(time(name.clone(), "call", doc));
        if others != Others::None {
            let doc = format!("Time all other threads together lose to one call of {name}.");
            benchmark = benchmark.metric(time(format!("{name}.victim"), "call", doc).floor_cycles(0.0));
        }
    }
    benchmark
}

fn run(bench: &mut Bench, operation: Operation, others: Others) -> Result<(), Stop> {
    let mut cpus = allowed_cpus().map_err(|e| Stop::unavailable("reading the allowed CPUs", &e))?;
    // CPU 0 serves most interrupts, so the caller takes the last one.
    let own = cpus.pop().ok_or_else(|| Stop::skip("no CPU is allowed"))?;
    match (others, cpus.len()) {
        (Others::None, _) => cpus.clear(),
        (_, 0) => return Err(Stop::skip("only one CPU may be used, so no other thread can run beside")),
        (Others::One, _) => cpus.truncate(1),
        (Others::All, 1) => return Err(Stop::skip("two CPUs may be used: `nt` is the same as `1t` here")),
        (Others::All, _) => {}
    }
    pin_to(&[own]).map_err(Stop::Skip)?;
    let range = Range::new()?;
    let spinners = Spinners::new(cpus.len(), bench.job().clock);
    let all_sizes = || {
        PAGES.into_iter().try_for_each(|pages| {
            one_size(bench, operation, &metric_name(operation, pages, others), pages, &range, &spinners)
        })
    };
    let beside = |index: usize, stop: &AtomicBool| {
        spinners.spin(index, stop);
        Ok(())
    };
    together(&cpus, beside, all_sizes)?.1
}

fn one_size(
    bench: &mut Bench,
    operation: Operation,
    name: &str,
    pages: usize,
    range: &Range,
    spinners: &Spinners,
) -> Result<(), Stop> {
    let victim = format!("{name}.victim");
    bench.measure_up_to(name, 256, |calls, timer| {
        let mut lost = 0;
        for _ in 0..calls {
            operation.prepare(range, pages)?;
            spinners.wait_until_running()?;
            let lost_before = spinners.lost_ticks();
            let done = timer.time(|| operation.call(range, pages));
            operation.fill_hole(range, pages)?;
            check(done, "a call failed")?;
            spinners.wait_until_running()?;
            lost += spinners.lost_ticks() - lost_before;
        }
        if spinners.len() > 0 {
            timer.also(&victim, timer.ns(lost) / calls as f64);
        }
        Ok(())
    })?;
    bench.note(name, "threads_beside", spinners.len());
    bench.note(name, "huge_pages", "kept out (PR_SET_THP_DISABLE)");
    match interrupts_per_call(operation, pages, range, spinners)? {
        Some(per_call) => bench.note(name, "tlb_interrupts_per_call", per_call),
        None => {
            bench.note(name, "tlb_interrupts_per_call", serde_json::Value::Null);
            bench.note(name, "tlb_interrupts_reason", "no TLB row in /proc/interrupts");
        }
    }
    Ok(())
}

/// TLB interrupts of the whole machine during a call alone, averaged over a few calls.
fn interrupts_per_call(
    operation: Operation,
    pages: usize,
    range: &Range,
    spinners: &Spinners,
) -> Result<Option<f64>, Stop> {
    let root = Root::host();
    let mut seen = 0;
    for _ in 0..COUNTED_CALLS {
        operation.prepare(range, pages)?;
        spinners.wait_until_running()?;
        let Some(before) = tlb_interrupts(&root) else { return Ok(None) };
        let done = operation.call(range, pages);
        operation.fill_hole(range, pages)?;
        check(done, "a call failed")?;
        seen += tlb_interrupts(&root).unwrap_or(before) - before;
    }
    Ok(Some(seen as f64 / f64::from(COUNTED_CALLS)))
}

/// TLB shootdown interrupts of all CPUs so far: the `TLB` row of `/proc/interrupts` (x86).
fn tlb_interrupts(root: &Root) -> Option<u64> {
    let text = root.contents("/proc/interrupts").ok()?;
    let row = text.lines().find_map(|line| line.trim_start().strip_prefix("TLB:"))?;
    Some(row.split_ascii_whitespace().map_while(|word| word.parse::<u64>().ok()).sum())
}
