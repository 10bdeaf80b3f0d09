//! Page faults, each per fault and per page really mapped.
//!
//! Transparent huge pages of every size are kept out by `PR_SET_THP_DISABLE`, except in `vm.fault.huge`. Faulting pages
//! share a page table with one page that stays mapped, so that no table is allocated or freed within the number.

mod anonymous;
mod copy_on_write;
mod file;
mod huge;

pub(super) use file::Windows;

use harness::Benchmark;
use harness::prelude::*;

use super::mapping::{Mapping, only_base_pages, page_bytes, table_bytes};

/// Most bytes one batch of base-page faults maps.
const MOST_BYTES: usize = 4 << 20;

/// The section's benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    let mut all = anonymous::benchmarks();
    all.push(file::benchmark());
    all.extend(copy_on_write::benchmarks());
    all.push(huge::benchmark());
    all
}

/// Anonymous memory below one page table, without huge pages; its first page stays mapped.
pub(super) struct Faulting {
    pub(super) map: Mapping,
    /// Pages after the first that a batch may touch.
    pub(super) pages: u64,
}

impl Faulting {
    /// Touches the first page only.
    pub(super) fn new() -> Result<Faulting, Stop> {
        only_base_pages()?;
        let map = Mapping::anonymous(table_bytes(), table_bytes())?;
        map.write_every(0, page_bytes(), page_bytes());
        let pages = (table_bytes() / page_bytes() - 1).min(MOST_BYTES / page_bytes());
        Ok(Faulting { map, pages: pages as u64 })
    }
}

/// The per-page companion of a fault metric.
fn per_page(name: &str) -> Declared {
    time(format!("{name}.page"), "page", format!("The time of {name} over the pages really mapped."))
}

fn note_base_pages(bench: &mut Bench, name: &str) {
    bench.note(name, "huge_pages", "kept out (PR_SET_THP_DISABLE)");
    bench.note(name, "page_bytes", page_bytes());
}
