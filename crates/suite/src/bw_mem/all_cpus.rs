//! `bw.mem.*.all`, `bw.stream.*.all`: a pinned thread on every allowed CPU, each sweeping memory of its own.
//!
//! All threads do the same work all the time; the number is what they together moved between two moments some
//! milliseconds apart, so neither starting nor ending is in it. Each thread touches its memory first, which on
//! machines with several memory nodes places it near.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use environment::{Root, Topology};
use harness::prelude::*;
use harness::{Clock, allowed_cpus};

use super::buffers::Buffers;
use super::footprint::Caches;
use super::instructions::kernels;
use super::kernel::{By, Kernel, Work};
use crate::team::together;

const WORKS: [Work; 9] = [
    Work::StreamCopy,
    Work::Scale,
    Work::Add,
    Work::Triad,
    Work::Read,
    Work::Write,
    Work::ReadWrite,
    Work::Copy,
    Work::Zero,
];
/// Time between two readings of the counters: long beside one chunk.
const WINDOW: Duration = Duration::from_millis(3);
const FEWEST_WINDOWS: usize = 3;
/// Least memory per thread.
const LEAST_PER_THREAD: u64 = 4 << 20;

fn name(work: Work) -> String {
    format!("{}.all", work.metric())
}

/// The benchmark.
pub fn benchmark() -> Benchmark {
    let benchmark =
        Benchmark::new("bw.mem.all", run).placed(Placement::AllCpus).parts(WORKS.len() as u32).weight(2.0);
    WORKS.into_iter().fold(benchmark, |benchmark, work| {
        let doc = format!("{} beyond the caches by vectors, all CPUs at once.", work.words());
        benchmark.metric(bandwidth(name(work), "second", doc))
    })
}

/// Bytes counted by one thread, on cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Counted(AtomicU64);

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let cpus = allowed_cpus().map_err(|e| Stop::unavailable("reading the allowed CPUs", &e))?;
    let caches = Caches::of(&Topology::read(&Root::host()));
    let threads = cpus.len() as u64;
    let most = bench.job().memory_limit / 4 * 3;
    let total = caches.footprint_of_all(most).map_err(Stop::Skip)?;
    let each = (total / threads).max(LEAST_PER_THREAD);
    if each * threads > most {
        return Err(Stop::skip(format!("{threads} threads need {} MiB of memory", (each * threads) >> 20)));
    }
    let kernels: Vec<Kernel> = WORKS
        .into_iter()
        .filter_map(|work| kernels().into_iter().find(|k| k.work == work && k.by == By::Vector))
        .collect();
    kernels.iter().try_for_each(Kernel::prove)?;
    let counted: Vec<Counted> = cpus.iter().map(|_| Counted::default()).collect();
    let current = AtomicUsize::new(0);
    let clock = bench.job().clock;
    let per_work = Duration::from_nanos(bench.job().slice_ns / WORKS.len() as u64);
    let (_, samples) = together(
        &cpus,
        |index, stop| sweep_until(stop, &kernels, &current, each, &counted[index]),
        || {
            let measure = |at: usize| {
                current.store(at, Ordering::Relaxed);
                std::thread::sleep(WINDOW);
                windows(&counted, clock, per_work)
            };
            (0..kernels.len()).map(measure).collect::<Vec<_>>()
        },
    )?;
    for (kernel, samples) in kernels.iter().zip(samples) {
        let metric = name(kernel.work);
        bench.note(&metric, "threads", threads);
        bench.note(&metric, "footprint_bytes", each * threads);
        bench.note(&metric, "access_bits", kernel.bits);
        samples.into_iter().for_each(|sample| bench.put(&metric, sample));
    }
    Ok(())
}

fn sweep_until(
    stop: &AtomicBool,
    kernels: &[Kernel],
    current: &AtomicUsize,
    bytes: u64,
    counted: &Counted,
) -> Result<(), Stop> {
    let buffers = Buffers::new(bytes)?;
    let mut sweeps: Vec<_> = kernels.iter().map(|&kernel| buffers.sweep(kernel)).collect();
    let mut total = 0;
    while !stop.load(Ordering::Relaxed) {
        if let Some(sweep) = sweeps.get_mut(current.load(Ordering::Relaxed)) {
            total += sweep.step();
        }
        counted.0.store(total, Ordering::Release);
    }
    Ok(())
}

/// MB/s of all threads in windows that fill `time`.
fn windows(counted: &[Counted], clock: Clock, time: Duration) -> Vec<f64> {
    let each = || counted.iter().map(|counted| counted.0.load(Ordering::Acquire)).collect::<Vec<u64>>();
    // Threads may still be touching their memory.
    let began = clock.stamp();
    while counted.iter().any(|counted| counted.0.load(Ordering::Acquire) == 0)
        && clock.ns(clock.stamp() - began) < 5e9
    {
        std::thread::sleep(WINDOW);
    }
    let began = clock.stamp();
    let mut samples = Vec::new();
    while samples.len() < FEWEST_WINDOWS
        || (samples.len() < 200 && clock.ns(clock.stamp() - began) < time.as_nanos() as f64)
    {
        let (start, before) = (clock.stamp(), each());
        std::thread::sleep(WINDOW);
        // On a busy machine a thread may wait for its CPU longer than a window.
        while each().iter().zip(&before).any(|(now, then)| now == then)
            && clock.ns(clock.stamp() - start) < 2e9
        {
            std::thread::sleep(WINDOW);
        }
        let (end, before, after) = (clock.stamp(), before.iter().sum::<u64>(), each().iter().sum::<u64>());
        samples.push((after - before) as f64 / clock.ns(end - start) * 1000.0);
    }
    samples
}
