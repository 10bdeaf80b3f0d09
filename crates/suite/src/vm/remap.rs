//! `vm.mremap`, `vm.brk`: moving memory and moving the heap's end.
//!
//! Timed: `mremap` of 256 written base pages to another address and back, per move, and `.page` per page moved;
//! `brk` up by 128 KiB and down again, nothing touched, per pair.
//! Proof: what was written is found at the new place without a page fault; the break is where it was asked to be.

use harness::prelude::*;

use super::mapping::{Mapping, check_faults, minor_faults, only_base_pages, page_bytes, table_bytes};

const PAGES: usize = 256;
const GROWTH: usize = 128 << 10;

/// The benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    vec![
        Benchmark::new("vm.mremap", mremap)
            .metric(time("vm.mremap", "move", "mremap of 256 written base pages to another address."))
            .metric(
                time("vm.mremap.page", "page", "The time of vm.mremap over the pages moved.")
                    .floor_cycles(0.1),
            ),
        Benchmark::new("vm.brk", brk).metric(time(
            "vm.brk",
            "brk pair",
            "The heap's end up by 128 KiB and down again, nothing touched.",
        )),
    ]
}

fn mremap(bench: &mut Bench) -> Result<(), Stop> {
    only_base_pages()?;
    let (page, bytes) = (page_bytes(), PAGES * page_bytes());
    // A page that stays on either side keeps both page tables.
    let places = [
        Mapping::anonymous(table_bytes(), table_bytes())?,
        Mapping::anonymous(table_bytes(), table_bytes())?,
    ];
    places.iter().for_each(|map| map.write_every(0, page, page));
    places[0].write_every(page, bytes, page);
    bench.measure_up_to("vm.mremap", 64, |moves, timer| {
        timer.time(|| {
            for _ in 0..moves {
                places[0].move_to(&places[1], page, bytes)?;
                places[1].move_to(&places[0], page, bytes)?;
            }
            Ok::<(), Stop>(())
        })?;
        timer.worked(2.0 * moves as f64);
        timer.also_per("vm.mremap.page", (2 * moves as usize * PAGES) as f64);
        let before = minor_faults();
        let found = (0..PAGES).all(|i| places[0].read_byte(page + i * page) == 1);
        check(found, "what was written did not move")?;
        check_faults(minor_faults() - before, 0)?;
        places[1].renew(page, bytes)
    })
}

fn brk(bench: &mut Bench) -> Result<(), Stop> {
    let set = |end: usize| {
        // SAFETY: the break only grows and returns to where it was; nothing allocates in between in this thread.
        unsafe { libc::syscall(libc::SYS_brk, end) as usize }
    };
    bench.measure("vm.brk", |pairs, timer| {
        let start = set(0);
        let done = timer.time(|| {
            let mut done = true;
            for _ in 0..pairs {
                done &= set(start + GROWTH) == start + GROWTH;
                done &= set(start) == start;
            }
            done
        });
        if done {
            Ok(())
        } else {
            Err(Stop::skip("the heap can't grow here (RLIMIT_DATA or a mapping in its way)"))
        }
    })
}
