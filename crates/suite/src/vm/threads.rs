//! `vm.mt.{fault_anon,fault_file,mmap,mprotect}.{1,2,4,…}t`, and `.writer`: one address space, many threads.
//!
//! Timed: each of that many pinned threads does the same on memory of its own in their common address space: faults of
//! anonymous pages by writing, faults of a common file's windows by reading, mmap+munmap of 128 KiB untouched, mprotect
//! of a written page to read-only and back. Per operation of one thread, averaged over the threads; dropping what was
//! faulted is not timed, and rounds in which a thread was preempted are set aside (the record counts them). With `.writer` one more thread on one more CPU maps and unmaps all the time, which takes the
//! address space's lock for writing.
//! Proof: `getrusage` counts each thread's faults, one per operation.
//! Pitfalls: threads interrupt each other when they drop or protect pages (TLB flushes), which is part of the cost.

use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use harness::prelude::*;
use harness::{Clock, allowed_cpus};

use super::fault::{Faulting, Windows};
use super::mapping::{
    Mapping, check_faults, map_file, minor_faults, only_base_pages, page_bytes, preemptions,
};
use super::mmap::memory_file;
use crate::team::together;

const FILE_BYTES: usize = 8 << 20;
const MAPPED_BYTES: usize = 128 << 10;
/// Operations between two looks at the clock, for those that are not counted in pages.
const ROUND: u64 = 16;
const WINDOW: Duration = Duration::from_millis(2);
const FEWEST_WINDOWS: usize = 3;
/// Looks after which a starved row is given up.
const MOST_EMPTY_WINDOWS: usize = 50;

/// What each thread does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Task {
    AnonymousFault,
    FileFault,
    Mmap,
    Mprotect,
}

impl Task {
    const ALL: [Task; 4] = [Task::AnonymousFault, Task::FileFault, Task::Mmap, Task::Mprotect];

    fn name(self) -> &'static str {
        match self {
            Task::AnonymousFault => "vm.mt.fault_anon",
            Task::FileFault => "vm.mt.fault_file",
            Task::Mmap => "vm.mt.mmap",
            Task::Mprotect => "vm.mt.mprotect",
        }
    }

    fn per(self) -> &'static str {
        match self {
            Task::AnonymousFault | Task::FileFault => "fault",
            Task::Mmap => "mmap+munmap",
            Task::Mprotect => "mprotect pair",
        }
    }
}

/// One row: how many threads, with or without a writer.
#[derive(Clone, Copy)]
struct Row {
    task: Task,
    threads: usize,
    writer: bool,
}

impl Row {
    fn name(self) -> String {
        format!("{}.{}t{}", self.task.name(), self.threads, if self.writer { ".writer" } else { "" })
    }
}

/// 1, 2, 4, … and all CPUs; with a writer where a CPU is left for it.
fn rows(task: Task) -> Vec<Row> {
    let cpus = allowed_cpus().map_or(1, |cpus| cpus.len());
    let mut counts: Vec<usize> =
        std::iter::successors(Some(1), |n| Some(2 * n)).take_while(|&n| n < cpus).collect();
    counts.push(cpus);
    let row = |writer| move |threads| Row { task, threads, writer };
    let without = counts.clone().into_iter().map(row(false));
    without.chain(counts.into_iter().filter(|&n| n < cpus).map(row(true))).collect()
}

/// One benchmark per task; its rows share the process.
pub fn benchmarks() -> Vec<Benchmark> {
    Task::ALL.map(benchmark).into()
}

fn benchmark(task: Task) -> Benchmark {
    let rows = rows(task);
    let declared: Vec<Declared> = rows.iter().map(|row| declared(*row)).collect();
    let benchmark = Benchmark::new(task.name(), move |bench| run(bench, &rows))
        .placed(Placement::AllCpus)
        .memory(64 << 20);
    declared.into_iter().fold(benchmark, Benchmark::metric)
}

fn declared(row: Row) -> Declared {
    let beside = if row.writer { ", while another maps and unmaps" } else { "" };
    let doc =
        format!("{} by each of {} thread(s) of one address space{beside}.", row.task.per(), row.threads);
    time(row.name(), row.task.per(), doc).blocking()
}

/// What one thread has done, on cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Done {
    ticks: AtomicU64,
    operations: AtomicU64,
    rounds: AtomicU64,
    /// Rounds in which it was preempted, which count for nothing else.
    set_aside: AtomicU64,
}

fn run(bench: &mut Bench, rows: &[Row]) -> Result<(), Stop> {
    only_base_pages()?;
    let cpus = allowed_cpus().map_err(|e| Stop::unavailable("reading the allowed CPUs", &e))?;
    let clock = bench.job().clock;
    let file = memory_file(FILE_BYTES)?;
    map_file(&file, FILE_BYTES, true)?.populate();
    let time = Duration::from_nanos(bench.job().slice_ns / rows.len().max(1) as u64);
    for &row in rows {
        let name = row.name();
        let members = row.threads + usize::from(row.writer);
        if members > cpus.len() {
            bench.absent(&name, format!("needs {members} CPUs, {} may be used", cpus.len()));
            continue;
        }
        let done: Vec<Done> = (0..row.threads).map(|_| Done::default()).collect();
        let member = |index: usize, stop: &AtomicBool| match done.get(index) {
            Some(done) => work_until(stop, row.task, &file, clock, done),
            None => write_until(stop),
        };
        let (_, samples) = together(&cpus[..members], member, || windows(&done, clock, time))?;
        if samples.is_empty() {
            bench.absent(&name, "no thread finished an operation in the time allowed");
        }
        samples.into_iter().for_each(|sample| bench.put(&name, sample));
        let sum =
            |of: fn(&Done) -> &AtomicU64| done.iter().map(|d| of(d).load(Ordering::Relaxed)).sum::<u64>();
        bench.note(&name, "rounds", sum(|d| &d.rounds));
        bench.note(&name, "rounds_set_aside", sum(|d| &d.set_aside));
        bench.note(&name, "threads", row.threads);
        bench.note(&name, "huge_pages", "kept out (PR_SET_THP_DISABLE)");
    }
    Ok(())
}

/// The mapping writer.
fn write_until(stop: &AtomicBool) -> Result<(), Stop> {
    while !stop.load(Ordering::Relaxed) {
        drop(Mapping::plain(MAPPED_BYTES)?);
    }
    Ok(())
}

fn work_until(stop: &AtomicBool, task: Task, file: &File, clock: Clock, done: &Done) -> Result<(), Stop> {
    let mut round = task_round(task, file, clock)?;
    while !stop.load(Ordering::Relaxed) {
        let before = preemptions();
        let (operations, ticks) = round()?;
        if preemptions() > before {
            done.set_aside.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        done.rounds.fetch_add(1, Ordering::Relaxed);
        done.ticks.fetch_add(ticks, Ordering::Relaxed);
        done.operations.fetch_add(operations, Ordering::Relaxed);
    }
    Ok(())
}

/// A closure that does some operations and says how many and how many ticks they took.
type Round<'f> = Box<dyn FnMut() -> Result<(u64, u64), Stop> + 'f>;

fn task_round(task: Task, file: &File, clock: Clock) -> Result<Round<'_>, Stop> {
    let page = page_bytes();
    Ok(match task {
        Task::AnonymousFault => {
            let region = Faulting::new()?;
            let bytes = region.pages as usize * page;
            Box::new(move || {
                let before = minor_faults();
                let start = clock.stamp();
                region.map.write_every(page, bytes, page);
                let end = clock.stamp();
                check_faults(minor_faults() - before, region.pages)?;
                region.map.drop_pages(page, bytes)?;
                Ok((region.pages, end - start))
            })
        }
        Task::FileFault => {
            let windows = Windows::of(file, FILE_BYTES)?;
            let faults = windows.len() as u64;
            Box::new(move || {
                windows.forget()?;
                let before = minor_faults();
                let start = clock.stamp();
                windows.touch(windows.len());
                let end = clock.stamp();
                check_faults(minor_faults() - before, faults)?;
                Ok((faults, end - start))
            })
        }
        Task::Mmap => Box::new(move || {
            let start = clock.stamp();
            for _ in 0..ROUND {
                drop(Mapping::plain(MAPPED_BYTES)?);
            }
            Ok((ROUND, clock.stamp() - start))
        }),
        Task::Mprotect => {
            let map = Mapping::plain(page)?;
            Box::new(move || {
                let start = clock.stamp();
                let mut done = true;
                for _ in 0..ROUND {
                    map.write_every(0, 1, 1);
                    done &= map.protect(0, page, false) && map.protect(0, page, true);
                }
                let end = clock.stamp();
                check(done, "mprotect")?;
                Ok((ROUND, end - start))
            })
        }
    })
}

/// Nanoseconds per operation in windows that fill `time`; windows in which nothing was finished give none.
fn windows(done: &[Done], clock: Clock, time: Duration) -> Vec<f64> {
    let total = || {
        let sum =
            |of: fn(&Done) -> &AtomicU64| done.iter().map(|d| of(d).load(Ordering::Relaxed)).sum::<u64>();
        (sum(|d| &d.ticks), sum(|d| &d.operations))
    };
    std::thread::sleep(WINDOW);
    let began = clock.stamp();
    let mut samples = Vec::new();
    let mut looks = 0;
    let mut last = total();
    while (samples.len() < FEWEST_WINDOWS && looks < MOST_EMPTY_WINDOWS)
        || (looks < 500 && clock.ns(clock.stamp() - began) < time.as_nanos() as f64)
    {
        std::thread::sleep(WINDOW);
        let now = total();
        if now.1 > last.1 {
            samples.push(clock.ns(now.0.saturating_sub(last.0)) / (now.1 - last.1) as f64);
        }
        last = now;
        looks += 1;
    }
    samples
}
