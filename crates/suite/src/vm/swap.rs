//! `vm.swapin.zram`: a page comes back from compressed swap.
//!
//! Timed: one byte read in each page of a range that `madvise(MADV_PAGEOUT)` has put into swap, where all swap is on
//! zram. Per page. Pages hold a quarter of changing words, so that they compress, but not to nothing.
//! Proof: `/proc/self/pagemap` shows the pages in swap before and present afterwards; their contents are right.
//! Pitfalls: read-ahead (`vm.page-cluster`) may bring neighbours with one fault.

use environment::Root;
use harness::prelude::*;

use super::fault::Faulting;
use super::mapping::page_bytes;
use super::pagemap::Pagemap;

const NAME: &str = "vm.swapin.zram";
const PAGES: u64 = 128;

/// The benchmark.
pub fn benchmark() -> Benchmark {
    Benchmark::new(NAME, run).metric(time(NAME, "page", "First read of a page that is in swap on zram."))
}

/// Why pages would not go to zram alone.
fn not_only_zram(root: &Root) -> Option<String> {
    let swaps = match root.contents("/proc/swaps") {
        Ok(swaps) => swaps,
        Err(missing) => return Some(missing.reason),
    };
    let mut areas = swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next()).peekable();
    if areas.peek().is_none() {
        return Some("no swap is active, so none on zram".to_owned());
    }
    areas
        .find(|area| !area.contains("zram"))
        .map(|other| format!("swap is also on {other}, not only on zram"))
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let root = Root::host();
    if let Some(reason) = not_only_zram(&root) {
        return Err(Stop::skip(reason));
    }
    if let Ok(cluster) = root.number("/proc/sys/vm/page-cluster") {
        bench.note(NAME, "page_cluster", cluster);
    }
    let region = Faulting::new()?;
    let mut pagemap = Pagemap::open(PAGES as usize)?;
    let page = page_bytes();
    region.map.write_every(page, PAGES as usize * page, 32);
    bench.measure_up_to(NAME, PAGES.min(region.pages), |pages, timer| {
        let bytes = pages as usize * page;
        region.map.write_every(page, bytes, page);
        region.map.advise(page, bytes, libc::MADV_PAGEOUT, "madvise(MADV_PAGEOUT)")?;
        let out = pagemap.swapped(&region.map, page, bytes)?;
        if out != pages {
            return Err(Stop::skip(format!("only {out} of {pages} pages went to swap")));
        }
        timer.time(|| region.map.read_every(page, bytes, page));
        check(pagemap.present(&region.map, page, bytes)? == pages, "a page is still in swap")?;
        check(region.map.read_byte(page) == 1, "a page came back with other contents")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_elsewhere_is_a_reason_to_skip() {
        let root = |swaps: &str| {
            let directory = tempfile::tempdir().unwrap();
            std::fs::create_dir(directory.path().join("proc")).unwrap();
            let head = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";
            std::fs::write(directory.path().join("proc/swaps"), format!("{head}{swaps}")).unwrap();
            not_only_zram(&Root::at(directory.path()))
        };
        assert_eq!(root("/dev/zram0 partition 1024 0 100\n"), None);
        assert!(root("").unwrap().contains("no swap"));
        assert!(root("/dev/zram0 partition 1 0 100\n/dev/sda2 partition 9 0 -2\n").unwrap().contains("sda2"));
    }
}
