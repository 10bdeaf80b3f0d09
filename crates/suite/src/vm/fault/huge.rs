//! `vm.fault.huge`: the first write to memory that is backed by a huge page; and its parts.
//!
//! Timed: one byte written in each PMD-sized piece of a range with `MADV_HUGEPAGE`: allocating, clearing and mapping
//! a huge page. Per fault, and `.page` per base page mapped. Its parts, each timed by itself and never subtracted:
//! `.clear` clears the same huge page once more from user space, page by page as the kernel does (`rep stosb` on
//! x86-64); `.read` is the first read, which maps the huge zero page and so neither allocates nor clears.
//! Proof: one minor fault per touch, after which `/proc/self/pagemap` shows every base page of it; the rise of
//! `thp_fault_alloc` in `/proc/vmstat` and `AnonHugePages` are in the record.
//! Pitfalls: clearing dominates, and depends on the caches; a fragmented machine falls back to base pages, which is
//! noticed and refused.

use environment::Root;
use harness::prelude::*;

use super::per_page;
use crate::vm::mapping::{Mapping, check_faults, minor_faults, page_bytes};
use crate::vm::pagemap::{Pagemap, anon_huge_kb};

const NAME: &str = "vm.fault.huge";
const CLEAR: &str = "vm.fault.huge.clear";
const READ: &str = "vm.fault.huge.read";
const THP: &str = "/sys/kernel/mm/transparent_hugepage";
/// Huge pages a batch may touch.
const MOST: u64 = 4;

/// The benchmark.
pub fn benchmark() -> Benchmark {
    Benchmark::new(NAME, run)
        .metric(time(NAME, "fault", "First write to a huge page: one is allocated, cleared and mapped."))
        .metric(per_page(NAME))
        .metric(time(CLEAR, "huge page", "Clearing one huge page from user space, as the kernel clears it."))
        .metric(time(
            READ,
            "fault",
            "First read of a huge page: the huge zero page is mapped, nothing cleared.",
        ))
        .parts(2)
        .memory(24 << 20)
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let root = Root::host();
    let state = root
        .chosen(&format!("{THP}/enabled"))
        .map_err(|missing| Stop::skip(format!("no transparent huge pages: {}", missing.reason)))?;
    let huge = root
        .number(&format!("{THP}/hpage_pmd_size"))
        .map_err(|missing| Stop::skip(format!("no transparent huge pages: {}", missing.reason)))?
        as usize;
    if (huge as u64).saturating_mul(MOST + 1) > bench.job().memory_limit {
        return Err(Stop::skip(format!("huge pages of {} MiB are too large here", huge >> 20)));
    }
    let range = Huge::new(huge)?;
    let mut pagemap = Pagemap::open(range.map.bytes() / page_bytes())?;
    range.map.write_every(0, 1, 1);
    if pagemap.present(&range.map, 0, huge)? != (huge / page_bytes()) as u64 {
        return Err(Stop::skip(format!(
            "a write was not served by a huge page (transparent huge pages: {state})"
        )));
    }
    let backed = anon_huge_kb(&root, range.map.address());
    for metric in [NAME, CLEAR] {
        bench.note(metric, "huge_page_bytes", huge);
        bench.note(metric, "thp_enabled", state.clone());
        bench.note(metric, "advice", "MADV_HUGEPAGE");
        bench.note(metric, "anon_huge_pages_kb", backed);
    }
    write_faults(bench, &root, &range, &mut pagemap)?;
    read_faults(bench, &root, &range, &mut pagemap)
}

struct Huge {
    map: Mapping,
    bytes: usize,
}

impl Huge {
    fn new(bytes: usize) -> Result<Huge, Stop> {
        let map = Mapping::anonymous(bytes * MOST as usize, bytes)?;
        map.advise(0, map.bytes(), libc::MADV_HUGEPAGE, "madvise(MADV_HUGEPAGE)")?;
        Ok(Huge { map, bytes })
    }

    /// A fault that mapped less than a huge page says that none was to be had.
    fn check_mapped(&self, pagemap: &mut Pagemap, faults: u64) -> Result<u64, Stop> {
        let span = faults as usize * self.bytes;
        let pages = pagemap.present(&self.map, 0, span)?;
        if pages == (span / page_bytes()) as u64 {
            return Ok(pages);
        }
        Err(Stop::skip("the kernel had no free huge page and fell back to base pages"))
    }
}

fn write_faults(bench: &mut Bench, root: &Root, range: &Huge, pagemap: &mut Pagemap) -> Result<(), Stop> {
    let allocated_before = huge_faults(root);
    let mut touched = 0;
    bench.measure_up_to(NAME, MOST, |faults, timer| {
        let span = faults as usize * range.bytes;
        range.map.drop_pages(0, range.map.bytes())?;
        let before = minor_faults();
        timer.time(|| range.map.write_every(0, span, range.bytes));
        let pages = range.check_mapped(pagemap, faults)?;
        check_faults(minor_faults() - before, faults)?;
        timer.also_per("vm.fault.huge.page", pages as f64);
        timer.time_as(CLEAR, faults as f64, || clear(&range.map, span));
        touched += faults;
        check(range.map.read_byte(0) == 0, "the cleared page is not clear")
    })?;
    if let (Some(before), Some(after)) = (allocated_before, huge_faults(root)) {
        bench.note(NAME, "thp_fault_alloc_rise", after - before);
        check(after - before >= touched, "thp_fault_alloc rose by less than the faults taken")?;
    }
    bench.note(NAME, "huge_faults", touched);
    Ok(())
}

fn read_faults(bench: &mut Bench, root: &Root, range: &Huge, pagemap: &mut Pagemap) -> Result<(), Stop> {
    if root.number(&format!("{THP}/use_zero_page")) != Ok(1) {
        bench.absent(READ, format!("the huge zero page is not in use ({THP}/use_zero_page)"));
        return Ok(());
    }
    bench.measure_up_to(READ, MOST, |faults, timer| {
        range.map.drop_pages(0, range.map.bytes())?;
        let before = minor_faults();
        timer.time(|| range.map.read_every(0, faults as usize * range.bytes, range.bytes));
        range.check_mapped(pagemap, faults)?;
        check_faults(minor_faults() - before, faults)
    })
}

/// Clears `bytes` of `map` page by page.
fn clear(map: &Mapping, bytes: usize) {
    for offset in (0..bytes).step_by(page_bytes()) {
        let page = (map.address() + offset) as *mut u8;
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the page is inside the writable mapping; the instruction writes exactly one page from its start.
        unsafe {
            core::arch::asm!("rep stosb", inout("rcx") page_bytes() => _, inout("rdi") page => _, in("al") 0u8,
                options(nostack, preserves_flags));
        }
        #[cfg(not(target_arch = "x86_64"))]
        // SAFETY: the page is inside the writable mapping.
        unsafe {
            std::ptr::write_bytes(page, 0, page_bytes());
        }
    }
}

/// `thp_fault_alloc` of `/proc/vmstat`: huge pages allocated by faults, on the whole machine.
fn huge_faults(root: &Root) -> Option<u64> {
    let text = root.contents("/proc/vmstat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("thp_fault_alloc ")?.trim().parse().ok())
}
