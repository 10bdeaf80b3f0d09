//! `tlb.l1.entries`, `tlb.l2.entries`, `tlb.l1.miss`, `tlb.walk`: the load TLBs, as `tlbench tlb` finds them.
//!
//! Found: the curve of one dependent load per base page against pages, and its two steps. `tlb.l1.miss` is the height of
//! the first step (a miss that hits the second level), `tlb.walk` what a miss of the second adds at its
//! knee (a walk whose page table entries are in a near cache; in definition 1 the height of the whole step, whose end is
//! where they have left it), both in ns per access. The method, its pitfalls and its proof: docs/tlb.md. A level that is not
//! resolved is skipped with the reason; the first level is a control.

use harness::prelude::*;
use memory::analyse::levels;
use memory::curve::Curve;
use memory::recording::median;
use memory::survey::{MOST_PAGES, Survey};
use memory::tlb::Hardware;

/// The benchmark.
pub fn benchmark() -> Benchmark {
    Benchmark::new("tlb.l1.entries", run)
        .metric(
            count("tlb.l1.entries", "core", "Entries of the first-level load TLB for base pages.").control(),
        )
        .metric(count("tlb.l2.entries", "core", "Entries of the second-level TLB for base pages."))
        .metric(
            time("tlb.l1.miss", "access", "What a first-level TLB miss adds when the second level hits.")
                .control(),
        )
        .metric(
            time(
                "tlb.walk",
                "access",
                "What a second-level TLB miss adds: a page walk, entries in a near cache.",
            )
            .definition(2),
        )
        .weight(6.0)
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let topology = environment::Topology::read(&environment::Root::host());
    let l1_lines = topology.cache_bytes(1).map(|bytes| bytes / 64);
    let seed = harness::fresh_seed();
    let mut hardware = Hardware::new(bench.job().clock, l1_lines, seed, None);
    let own_lines = hardware.own_lines;
    let page = memory::backing::page_bytes() as u64;
    let mut survey = Survey::new(&mut hardware, page, own_lines, seed);
    survey.loads(MOST_PAGES);
    let refused = survey.refused.values().next().cloned();
    let found = levels(&Curve::loads(&survey.recording, 1), 2);
    let cycles: Vec<f64> = survey.recording.batches.iter().map(|b| b.cycle_ns).collect();
    let cycle_ns = median(&cycles);
    for (at, (entries, penalty)) in
        [("tlb.l1.entries", "tlb.l1.miss"), ("tlb.l2.entries", "tlb.walk")].iter().enumerate()
    {
        let level = found.get(at);
        match level.and_then(|l| l.entries.zip(l.penalty_cycles)) {
            Some((count, cycles)) => {
                bench.put(entries, f64::from(count));
                bench.put(penalty, cycles * cycle_ns);
            }
            None => {
                let reason = refused
                    .clone()
                    .or_else(|| level.and_then(|l| l.reason.clone()))
                    .unwrap_or_else(|| "not resolved: the curve has no third plateau".into());
                bench.absent(entries, reason.clone());
                bench.absent(penalty, reason);
            }
        }
    }
    Ok(())
}
