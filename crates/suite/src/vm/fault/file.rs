//! `vm.fault.file`: a page of a cached file is touched for the first time.
//!
//! Timed: one byte read in each fault-around window of a mapping of a file in the test directory, whose pages are
//! all in the page cache. The kernel maps the neighbours too (`fault_around_bytes`, usually 64 KiB): the first touch
//! of a fresh mapping shows how many pages, and the loop steps over them. Per fault, and `.page` per page mapped.
//! Proof: `getrusage` counts exactly one minor fault per touch; `/proc/self/pagemap` counts the pages.
//! Pitfalls: "page fault" tables that touch every page and divide by pages show a sixteenth of a fault.

use std::fs::{File, OpenOptions};

use environment::Root;
use harness::prelude::*;

use super::{note_base_pages, per_page};
use crate::vm::mapping::{Mapping, check_faults, minor_faults, only_base_pages, page_bytes, table_bytes};
use crate::vm::pagemap::{Pagemap, folio_bytes};

const NAME: &str = "vm.fault.file";
const FILE_BYTES: usize = 8 << 20;

/// The benchmark.
pub fn benchmark() -> Benchmark {
    Benchmark::new(NAME, run)
        .metric(time(
            NAME,
            "fault",
            "First read in a fault-around window of a mapped file that is in the page cache.",
        ))
        .metric(per_page(NAME))
        .memory(16 << 20)
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    only_base_pages()?;
    let file = cached_file(&bench.job().scratch.join("mapped"))?;
    let windows = Windows::of(&file, FILE_BYTES)?;
    let mut pagemap = Pagemap::open(FILE_BYTES / page_bytes())?;
    note(bench, &windows);
    let mut mapped = (0, 0);
    bench.measure_up_to(NAME, windows.touched.len() as u64, |faults, timer| {
        windows.forget()?;
        let already = pagemap.present(&windows.map, 0, FILE_BYTES)?;
        let before = minor_faults();
        timer.time(|| windows.touch(faults as usize));
        check_faults(minor_faults() - before, faults)?;
        let pages = pagemap.present(&windows.map, 0, FILE_BYTES)? - already;
        timer.also_per("vm.fault.file.page", pages as f64);
        mapped = (mapped.0 + pages, mapped.1 + faults);
        Ok(())
    })?;
    bench.note(NAME, "pages_per_fault", mapped.0 as f64 / mapped.1 as f64);
    Ok(())
}

/// A read-only mapping of a cached file, cut into the windows that one fault each maps.
pub(in crate::vm) struct Windows {
    map: Mapping,
    /// Pages that the first fault mapped.
    around: usize,
    /// Starts of the windows that stay mapped: the first of each page table.
    kept: Vec<usize>,
    /// Starts of the others.
    touched: Vec<usize>,
}

impl Windows {
    /// Maps `bytes` of `file` and sees what one fault maps.
    pub(in crate::vm) fn of(file: &File, bytes: usize) -> Result<Windows, Stop> {
        let map = Mapping::of_file(file, bytes)?;
        let mut pagemap = Pagemap::open(bytes / page_bytes())?;
        map.read_byte(0);
        let around = pagemap.present(&map, 0, bytes)?.max(1) as usize;
        let window = (around * page_bytes()).next_power_of_two();
        let first_of_table = |at: &usize| *at == 0 || (map.address() + at).is_multiple_of(table_bytes());
        let (kept, touched): (Vec<usize>, Vec<usize>) = (0..bytes).step_by(window).partition(first_of_table);
        if touched.is_empty() {
            return Err(Stop::skip(format!(
                "one fault maps {around} pages: all of the {bytes}-byte test file"
            )));
        }
        Ok(Windows { map, around, kept, touched })
    }

    /// Faults that a round can take.
    pub(in crate::vm) fn len(&self) -> usize {
        self.touched.len()
    }

    /// Pages that a fault maps.
    pub(in crate::vm) fn pages_per_fault(&self) -> usize {
        self.around
    }

    /// Unmaps all windows but those that keep the page tables.
    pub(in crate::vm) fn forget(&self) -> Result<(), Stop> {
        self.map.drop_pages(0, self.map.bytes())?;
        for &at in &self.kept {
            self.map.read_byte(at);
        }
        Ok(())
    }

    /// Takes `faults` faults.
    #[inline]
    pub(in crate::vm) fn touch(&self, faults: usize) {
        for &at in &self.touched[..faults] {
            self.map.read_byte(at);
        }
    }
}

fn cached_file(path: &std::path::Path) -> Result<File, Stop> {
    let unavailable = |e| Stop::unavailable("writing the test file", &e);
    std::fs::write(path, vec![7u8; FILE_BYTES]).map_err(unavailable)?;
    OpenOptions::new().read(true).open(path).map_err(unavailable)
}

fn note(bench: &mut Bench, windows: &Windows) {
    note_base_pages(bench, NAME);
    let root = Root::host();
    match root.number("/sys/kernel/debug/fault_around_bytes") {
        Ok(bytes) => bench.note(NAME, "fault_around_bytes", bytes),
        // Not readable without debugfs: what one fault was seen to map.
        Err(missing) => {
            bench.note(NAME, "fault_around_bytes", serde_json::Value::Null);
            bench.note(NAME, "fault_around_reason", missing.reason);
        }
    }
    bench.note(NAME, "first_fault_mapped_bytes", windows.around * page_bytes());
    if let Ok(bytes) = folio_bytes(&windows.map) {
        bench.note(NAME, "folio_bytes", bytes);
    }
    if let Ok(kind) = environment::filesystem_type(&root, &bench.job().scratch.clone()) {
        bench.note(NAME, "file_system", kind);
    }
}
