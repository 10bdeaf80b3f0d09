//! One thread: every kind of access beyond the caches, vectors inside each cache, and STREAM.

use environment::{Root, Topology};
use harness::prelude::*;

use super::buffers::Buffers;
use super::footprint::{Caches, Level};
use super::instructions::kernels;
use super::kernel::{By, Kernel, Work, libc_kernels};
use crate::vm::anon_huge_kb;

const ALL_WAYS: [By; 5] = [By::Vector, By::Scalar, By::NonTemporal, By::Rep, By::Libc];

/// One row: what, how, where.
#[derive(Clone, Copy)]
struct Row {
    work: Work,
    by: By,
    level: Level,
}

impl Row {
    fn name(self) -> String {
        let level = match self.level {
            Level::L1 => ".l1",
            Level::L2 => ".l2",
            Level::L3 => ".l3",
            Level::Memory => "",
        };
        format!("{}{}{level}", self.work.metric(), self.by.suffix())
    }

    fn declared(self) -> Declared {
        let place = match self.level {
            Level::L1 => "in the L1 cache",
            Level::L2 => "in the L2 cache",
            Level::L3 => "in the L3 cache",
            Level::Memory => "beyond the caches",
        };
        let doc = format!("{} {place} by {}, one thread.", self.work.words(), self.by.words());
        let declared = bandwidth(self.name(), "second", doc);
        if self.level == Level::L1 { declared.control() } else { declared }
    }

    fn kernel(self) -> Result<Kernel, String> {
        let mut all = kernels().into_iter().chain(libc_kernels());
        all.find(|kernel| kernel.work == self.work && kernel.by == self.by)
            .ok_or_else(|| format!("this architecture has no loop with {}", self.by.words()))
    }
}

fn memory_rows() -> Vec<Row> {
    let ways: [(Work, &[By]); 5] = [
        (Work::Read, &ALL_WAYS[..2]),
        (Work::Write, &ALL_WAYS[..4]),
        (Work::ReadWrite, &ALL_WAYS[..2]),
        (Work::Copy, &ALL_WAYS),
        (Work::Zero, &ALL_WAYS),
    ];
    let row = |work| move |&by: &By| Row { work, by, level: Level::Memory };
    ways.into_iter().flat_map(|(work, by)| by.iter().map(row(work))).collect()
}

fn cache_rows() -> Vec<Row> {
    let works = [Work::Read, Work::Write, Work::ReadWrite, Work::Copy, Work::Zero];
    let row = |level| move |work| Row { work, by: By::Vector, level };
    [Level::L1, Level::L2, Level::L3].into_iter().flat_map(|level| works.map(row(level))).collect()
}

fn stream_rows() -> Vec<Row> {
    let works = [Work::StreamCopy, Work::Scale, Work::Add, Work::Triad];
    works.map(|work| Row { work, by: By::Vector, level: Level::Memory }).into()
}

/// The benchmarks; the rows of each share one process and its memory.
pub fn benchmarks() -> Vec<Benchmark> {
    vec![
        benchmark("bw.mem", memory_rows(), 2.5),
        benchmark("bw.mem.cache", cache_rows(), 1.5),
        benchmark("bw.stream", stream_rows(), 1.0),
    ]
}

fn benchmark(name: &str, rows: Vec<Row>, weight: f64) -> Benchmark {
    let declared: Vec<Declared> = rows.iter().map(|row| row.declared()).collect();
    let parts = rows.len() as u32;
    let benchmark = Benchmark::new(name, move |bench| run(bench, &rows)).parts(parts).weight(weight);
    declared.into_iter().fold(benchmark, Benchmark::metric)
}

fn run(bench: &mut Bench, rows: &[Row]) -> Result<(), Stop> {
    let caches = Caches::of(&Topology::read(&Root::host()));
    let most = bench.job().memory_limit / 4 * 3;
    let mut made: Option<(Level, u64, Buffers)> = None;
    for &row in rows {
        let name = row.name();
        let sized = caches.footprint(row.level, most);
        let (bytes, kernel) = match sized.and_then(|bytes| Ok((bytes, row.kernel()?))) {
            Ok(found) => found,
            Err(reason) => {
                bench.absent(&name, reason);
                continue;
            }
        };
        if made.as_ref().is_none_or(|(level, ..)| *level != row.level) {
            made = Some((row.level, bytes, Buffers::new(bytes)?));
        }
        if let Some((_, bytes, buffers)) = &made {
            measure(bench, &name, kernel, *bytes, buffers)?;
        }
    }
    Ok(())
}

fn measure(bench: &mut Bench, name: &str, kernel: Kernel, bytes: u64, buffers: &Buffers) -> Result<(), Stop> {
    kernel.prove()?;
    bench.note(name, "footprint_bytes", bytes);
    bench.note(name, "huge_page_kb", anon_huge_kb(&Root::host(), buffers.address()));
    if kernel.bits > 0 {
        bench.note(name, "access_bits", kernel.bits);
    }
    let mut sweep = buffers.sweep(kernel);
    bench.measure(name, |chunks, timer| {
        let counted: u64 = timer.time(|| (0..chunks).map(|_| sweep.step()).sum());
        timer.worked(counted as f64);
        check(counted > 0, "no memory was worked on")
    })
}
