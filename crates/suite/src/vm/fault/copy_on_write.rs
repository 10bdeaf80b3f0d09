//! `vm.fault.cow_copy`, `vm.fault.cow_reuse`: the first write after a fork.
//!
//! Timed: one byte written in each page of a range that a child got by `fork`. While the child lives the page is
//! copied; when it is gone the kernel may make the page writable again in place. Per fault, and `.page` per page that
//! is this process's own afterwards (`/proc/self/pagemap`, exclusive bit).
//! Proof: `getrusage` counts exactly one minor fault per write; pages shared before a copy are exclusive after it.
//! Pitfalls: the fork is outside of the timed window; it is `proc.fork`'s number.

use harness::prelude::*;

use super::{Faulting, note_base_pages, per_page};
use crate::vm::mapping::{check_faults, minor_faults, page_bytes};
use crate::vm::pagemap::Pagemap;

/// With the child alive, and with the child gone.
pub fn benchmarks() -> Vec<Benchmark> {
    let copy =
        time("vm.fault.cow_copy", "fault", "First write to a page shared with a living child: it is copied.");
    let reuse = time(
        "vm.fault.cow_reuse",
        "fault",
        "First write to a page after the child that shared it is gone: it is reused.",
    );
    [(copy, true), (reuse, false)]
        .into_iter()
        .map(|(metric, child_lives)| {
            let name = metric.metric.name.clone();
            let page = per_page(&name);
            Benchmark::new(name.clone(), move |bench| run(bench, &name, child_lives))
                .metric(metric)
                .metric(page)
        })
        .collect()
}

/// Forks the child that shares every page of this process.
fn share(child_lives: bool) -> Result<Option<Peer>, Stop> {
    let child = Peer::spawn(None, || {
        if !child_lives {
            return Ok(());
        }
        loop {
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
    })?;
    if child_lives {
        return Ok(Some(child));
    }
    child.join()?;
    Ok(None)
}

fn run(bench: &mut Bench, name: &str, child_lives: bool) -> Result<(), Stop> {
    let region = Faulting::new()?;
    let mut pagemap = Pagemap::open(region.pages as usize)?;
    let page = page_bytes();
    let per_page = format!("{name}.page");
    note_base_pages(bench, name);
    region.map.write_every(page, region.pages as usize * page, page);
    let mut child = None;
    let mut used = region.pages;
    bench.measure_up_to(name, region.pages, |faults, timer| {
        if used + faults > region.pages {
            drop(child.take());
            child = share(child_lives)?;
            used = 0;
        }
        let (offset, bytes) = ((1 + used as usize) * page, faults as usize * page);
        let shared = faults - pagemap.exclusive(&region.map, offset, bytes)?;
        check(!child_lives || shared == faults, "the child does not share the pages")?;
        let before = minor_faults();
        timer.time(|| region.map.write_every(offset, bytes, page));
        check_faults(minor_faults() - before, faults)?;
        let own = pagemap.exclusive(&region.map, offset, bytes)?;
        check(own == faults, "pages are still shared after they were written")?;
        timer.also_per(&per_page, own as f64);
        used += faults;
        Ok(())
    })?;
    bench.note(name, "pages_per_fault", 1);
    Ok(())
}
