//! `vm.folio.{read,fault}.{4k,64k,2m}`: the page cache by the size of its folios.
//!
//! Timed: `read` takes 64 KiB at a time, by `pread` from an 8 MiB file in the test directory that the page cache holds;
//! `fault` reads a byte in each fault-around window of a mapping of it. Per base page read or mapped. A file written in
//! pieces of one size gets folios up to that size where its file system has large ones.
//! Proof: `/proc/kpageflags` shows the folio's size, bytes read and faults taken are counted.
//! Pitfalls: only root sees folios; others' rows are skipped, as are sizes that the file system does not make.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;

use harness::prelude::*;

use super::advice::absent_if_skipped;
use super::fault::Windows;
use super::mapping::{check_faults, map_file, minor_faults, only_base_pages, page_bytes};
use super::pagemap::folio_bytes;

const FILE_BYTES: usize = 8 << 20;
const READ_BYTES: usize = 64 << 10;
const SIZES: [(&str, usize); 3] = [("4k", 4 << 10), ("64k", 64 << 10), ("2m", 2 << 20)];

fn names(label: &str) -> (String, String) {
    (format!("vm.folio.read.{label}"), format!("vm.folio.fault.{label}"))
}

/// One benchmark per size.
pub fn benchmarks() -> Vec<Benchmark> {
    SIZES.map(|(label, bytes)| benchmark(label, bytes)).into()
}

fn benchmark(label: &str, bytes: usize) -> Benchmark {
    let (read, fault) = names(label);
    let metrics = (read.clone(), fault.clone());
    Benchmark::new(format!("vm.folio.{label}"), move |bench| run(bench, &metrics.0, &metrics.1, bytes))
        .metric(
            time(read, "page", format!("pread of cached pages in folios of {label}B, 64 KiB a call."))
                .floor_cycles(0.1),
        )
        .metric(
            time(
                fault,
                "page mapped",
                format!("First read of a mapped file whose pages lie in folios of {label}B."),
            )
            .floor_cycles(0.1),
        )
        .parts(2)
        .weight(0.7)
        .memory(24 << 20)
}

fn run(bench: &mut Bench, read: &str, fault: &str, bytes: usize) -> Result<(), Stop> {
    only_base_pages()?;
    let file = written_in_pieces(&bench.job().scratch.join("folios"), bytes)?;
    let map = map_file(&file, FILE_BYTES, false)?;
    map.read_byte(0);
    let found = folio_bytes(&map)
        .map_err(|reason| Stop::skip(format!("the size of folios is not known: {reason}")))?;
    drop(map);
    if found != bytes as u64 {
        return Err(Stop::skip(format!(
            "the file system made folios of {found} bytes for pieces of {bytes}"
        )));
    }
    for metric in [read, fault] {
        bench.note(metric, "folio_bytes", found);
    }
    let pages = (READ_BYTES / page_bytes()) as u64;
    let mut buffer = vec![0u8; READ_BYTES];
    let mut at = 0;
    bench.measure(read, |calls, timer| {
        timer
            .time(|| {
                (0..calls).try_for_each(|_| {
                    file.read_exact_at(&mut buffer, at)?;
                    at = (at + READ_BYTES as u64) % FILE_BYTES as u64;
                    Ok::<(), std::io::Error>(())
                })
            })
            .map_err(|e| Stop::fail(format!("pread: {e}")))?;
        timer.worked((calls * pages) as f64);
        check(buffer[READ_BYTES - 1] == 7, "what was read is not what was written")
    })?;
    let measured = faults(bench, fault, &file);
    absent_if_skipped(bench, fault, measured)
}

fn faults(bench: &mut Bench, metric: &str, file: &File) -> Result<(), Stop> {
    let windows = Windows::of(file, FILE_BYTES)?;
    bench.note(metric, "pages_per_fault", windows.pages_per_fault());
    bench.measure_up_to(metric, windows.len() as u64, |faults, timer| {
        windows.forget()?;
        let before = minor_faults();
        timer.time(|| windows.touch(faults as usize));
        timer.worked((faults as usize * windows.pages_per_fault()) as f64);
        check_faults(minor_faults() - before, faults)
    })
}

fn written_in_pieces(path: &std::path::Path, bytes: usize) -> Result<File, Stop> {
    let unavailable = |e| Stop::unavailable("writing the test file", &e);
    let mut file = File::create(path).map_err(unavailable)?;
    let piece = vec![7u8; bytes];
    for _ in 0..FILE_BYTES / bytes {
        file.write_all(&piece).map_err(unavailable)?;
    }
    File::open(path).map_err(unavailable)
}
