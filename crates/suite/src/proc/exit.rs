//! `proc.exit.64m`, `proc.exit.1g`: ending a process until its memory is free.
//!
//! Timed: from telling a process with that much anonymous memory of its own (base pages, written by itself) to exit, until
//! it has been reaped: the kernel frees an address space before it lets the parent's wait return. Per exit. `.page` is
//! the same time over the pages freed. One pipe write and one switch are in it, microseconds beside milliseconds.
//! Proof: the child counts the faults that filled its memory; it is reaped with status 0.

use std::fs::File;
use std::io::{Read, Write};

use harness::prelude::*;

use super::child;
use super::resident::{Resident, page_bytes};
use crate::ipc::pipe::pipe;

/// The benchmark of one size.
pub fn benchmark(size: &'static str, bytes: u64) -> Benchmark {
    let name = format!("proc.exit.{size}");
    let per_page = format!("{name}.page");
    let metric = time(
        name.clone(),
        "exit and wait",
        format!(
            "Exit of a process with {} MiB in base pages, until it is reaped and the memory free.",
            bytes >> 20
        ),
    );
    // Filling a gigabyte takes far longer than freeing it, so its row takes one sample where time is short.
    let fewest = if bytes > (256 << 20) { 1 } else { 3 };
    Benchmark::new(name.clone(), move |bench| run(bench, &name, bytes))
        .metric(metric.blocking().single_shot(fewest))
        .metric(time(per_page, "page freed", "The same time over the pages freed.").blocking())
        .memory(bytes + (64 << 20))
        .weight(1.0)
}

fn run(bench: &mut Bench, name: &str, bytes: u64) -> Result<(), Stop> {
    let per_page = format!("{name}.page");
    let cpu = bench.job().cpus.first().copied();
    bench.note(name, "pages", bytes / page_bytes() as u64);
    bench.note(name, "page_bytes", page_bytes());
    bench.note(name, "huge_pages", "off");
    bench.measure(name, |_, timer| {
        let files = || pipe().map(|(read, write)| (File::from(read), File::from(write)));
        let ((mut filled, filled_by_child), (wait_for_go, mut go)) = (files()?, files()?);
        let child = Peer::spawn(cpu, || fill_and_exit(bytes, filled_by_child, wait_for_go))?;
        let mut pages = [0; 8];
        filled
            .read_exact(&mut pages)
            .map_err(|_| Stop::skip(format!("{} MiB can't be filled", bytes >> 20)))?;
        timer.also_per(&per_page, u64::from_ne_bytes(pages) as f64);
        timer.time(|| {
            go.write_all(&[1]).map_err(|e| Stop::fail(e.to_string()))?;
            child.join()
        })
    })
}

/// The child: fills its memory, says how many pages, and exits when told, with the memory still mapped.
fn fill_and_exit(bytes: u64, mut filled: File, mut go: File) -> Result<(), Stop> {
    let failed = |e: std::io::Error| Stop::fail(e.to_string());
    let memory = Resident::map(bytes)?;
    filled.write_all(&memory.pages().to_ne_bytes()).map_err(failed)?;
    go.read_exact(&mut [0]).map_err(failed)?;
    child::exit(0)
}
