//! `vm.madvise.{dontneed,free,populate_read,populate_write,collapse}`: telling the kernel about pages.
//!
//! Timed: one `madvise` over 256 base pages. Per page; `collapse` per huge page made of written base pages.
//! `dontneed` and `free` act on written pages, the populating ones on dropped pages.
//! Proof: `/proc/self/pagemap` shows no page after `dontneed`, all after the populating ones, and after `collapse` the
//! mapping's `AnonHugePages` hold the huge page.

use std::io;

use environment::Root;
use harness::prelude::*;

use super::fault::Faulting;
use super::mapping::{Mapping, huge_pages_allowed, only_base_pages, page_bytes};
use super::pagemap::{Pagemap, anon_huge_kb};

const PAGES: usize = 256;
const COLLAPSE: &str = "vm.madvise.collapse";

/// One kind of advice over base pages.
struct Advice {
    metric: &'static str,
    number: i32,
    words: &'static str,
    /// Whether pages are written before, or else dropped.
    written: bool,
    /// Pages present afterwards; `None` where that may vary.
    leaves: Option<usize>,
}

const ALL: [Advice; 4] = [
    Advice {
        metric: "vm.madvise.dontneed",
        number: libc::MADV_DONTNEED,
        words: "MADV_DONTNEED of written pages: they are freed at once.",
        written: true,
        leaves: Some(0),
    },
    Advice {
        metric: "vm.madvise.free",
        number: libc::MADV_FREE,
        words: "MADV_FREE of written pages: they may be freed when memory is needed.",
        written: true,
        leaves: None,
    },
    Advice {
        metric: "vm.madvise.populate_read",
        number: libc::MADV_POPULATE_READ,
        words: "MADV_POPULATE_READ: the zero page is mapped everywhere in one call.",
        written: false,
        leaves: Some(PAGES),
    },
    Advice {
        metric: "vm.madvise.populate_write",
        number: libc::MADV_POPULATE_WRITE,
        words: "MADV_POPULATE_WRITE: pages are allocated, cleared and mapped in one call.",
        written: false,
        leaves: Some(PAGES),
    },
];

/// The benchmark.
pub fn benchmark() -> Benchmark {
    let benchmark = Benchmark::new("vm.madvise", run).parts(ALL.len() as u32 + 1).memory(16 << 20);
    let benchmark = ALL.iter().fold(benchmark, |benchmark, advice| {
        benchmark.metric(time(advice.metric, "page", advice.words).floor_cycles(0.1))
    });
    benchmark.metric(time(
        COLLAPSE,
        "huge page",
        "MADV_COLLAPSE: written base pages are copied into a huge page that takes their place.",
    ))
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let region = Faulting::new()?;
    let mut pagemap = Pagemap::open(PAGES)?;
    for advice in &ALL {
        let measured = base_pages(bench, advice, &region, &mut pagemap);
        absent_if_skipped(bench, advice.metric, measured)?;
    }
    let measured = collapse(bench);
    absent_if_skipped(bench, COLLAPSE, measured)
}

/// Goes on with the other metrics when one can't be had.
pub(super) fn absent_if_skipped(
    bench: &mut Bench,
    metric: &str,
    measured: Result<(), Stop>,
) -> Result<(), Stop> {
    match measured {
        Err(Stop::Skip(reason)) => {
            bench.absent(metric, reason);
            Ok(())
        }
        other => other,
    }
}

/// `madvise` whose EINVAL means that this kernel does not know the advice.
fn advise(map: &Mapping, offset: usize, bytes: usize, advice: i32, words: &str) -> Result<(), Stop> {
    map.advise(offset, bytes, advice, words).map_err(|stop| match io::Error::last_os_error().raw_os_error() {
        Some(libc::EINVAL) => Stop::skip(format!("{words}: not known to this kernel")),
        _ => stop,
    })
}

fn base_pages(
    bench: &mut Bench,
    advice: &Advice,
    region: &Faulting,
    pagemap: &mut Pagemap,
) -> Result<(), Stop> {
    let page = page_bytes();
    let (start, bytes) = (page, PAGES.min(region.pages as usize) * page);
    bench.measure_up_to(advice.metric, 64, |calls, timer| {
        for _ in 0..calls {
            match advice.written {
                true => region.map.write_every(start, bytes, page),
                false => region.map.drop_pages(start, bytes)?,
            }
            timer.time(|| advise(&region.map, start, bytes, advice.number, advice.metric))?;
        }
        if let Some(leaves) = advice.leaves {
            let present = pagemap.present(&region.map, start, bytes)? as usize;
            check(present == leaves.min(bytes / page), "other pages are present than the advice leaves")?;
        }
        timer.worked((calls as usize * bytes / page) as f64);
        region.map.drop_pages(start, bytes)
    })
}

fn collapse(bench: &mut Bench) -> Result<(), Stop> {
    let root = Root::host();
    let size = root
        .number("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
        .map_err(|missing| Stop::skip(format!("no transparent huge pages: {}", missing.reason)))?;
    let huge = usize::try_from(size).map_err(|_| Stop::skip("no size of huge pages"))?;
    if (huge as u64).saturating_mul(4) > bench.job().memory_limit {
        return Err(Stop::skip(format!("huge pages of {} MiB are too large here", huge >> 20)));
    }
    let map = Mapping::anonymous(huge, huge)?;
    bench.measure_up_to(COLLAPSE, 1, |_, timer| {
        map.drop_pages(0, huge)?;
        only_base_pages()?;
        map.write_every(0, huge, page_bytes());
        huge_pages_allowed()?;
        timer.time(|| advise(&map, 0, huge, MADV_COLLAPSE, "MADV_COLLAPSE"))?;
        let kb = anon_huge_kb(&root, map.address());
        check(kb == Some(huge as u64 / 1024), "the pages were not collapsed into a huge page")
    })
}

/// `MADV_COLLAPSE` (asm-generic/mman-common.h, Linux 6.1).
const MADV_COLLAPSE: i32 = 25;
