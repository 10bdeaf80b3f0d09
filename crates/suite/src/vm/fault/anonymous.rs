//! `vm.fault.anon_read`, `vm.fault.anon_write`: the first touch of anonymous memory.
//!
//! Timed: one byte read or written in each page of a range never touched since it was last dropped
//! (`MADV_DONTNEED`). A read maps the zero page (the small one: the huge zero page is kept out); a write allocates
//! and clears a page. Per fault, and `.page` per page really mapped (`/proc/self/pagemap`).
//! Proof: `getrusage` counts exactly one minor fault per touch.
//! Pitfalls: the pages were freed a moment ago, so the allocator hands out cache-warm ones.

use harness::prelude::*;

use super::{Faulting, note_base_pages, per_page};
use crate::vm::mapping::{check_faults, minor_faults, page_bytes};
use crate::vm::pagemap::Pagemap;

/// Reading and writing.
pub fn benchmarks() -> Vec<Benchmark> {
    let read =
        time("vm.fault.anon_read", "fault", "First read of an anonymous page: the zero page is mapped.");
    let write = time(
        "vm.fault.anon_write",
        "fault",
        "First write of an anonymous page: a page is allocated, cleared and mapped.",
    )
    .with_tails();
    [(read, false), (write, true)]
        .into_iter()
        .map(|(metric, write)| {
            let name = metric.metric.name.clone();
            let page = per_page(&name);
            Benchmark::new(name.clone(), move |bench| run(bench, &name, write)).metric(metric).metric(page)
        })
        .collect()
}

fn run(bench: &mut Bench, name: &str, write: bool) -> Result<(), Stop> {
    let region = Faulting::new()?;
    let mut pagemap = Pagemap::open(region.pages as usize)?;
    let page = page_bytes();
    let per_page = format!("{name}.page");
    note_base_pages(bench, name);
    let mut mapped = (0, 0);
    bench.measure_up_to(name, region.pages, |touches, timer| {
        let bytes = touches as usize * page;
        let before = minor_faults();
        timer.time(|| match write {
            true => region.map.write_every(page, bytes, page),
            false => region.map.read_every(page, bytes, page),
        });
        check_faults(minor_faults() - before, touches)?;
        let pages = pagemap.present(&region.map, page, bytes)?;
        timer.also_per(&per_page, pages as f64);
        mapped = (mapped.0 + pages, mapped.1 + touches);
        region.map.drop_pages(page, bytes)
    })?;
    bench.note(name, "pages_per_fault", mapped.0 as f64 / mapped.1 as f64);
    Ok(())
}
