//! `sys.load_scaling`: how many CPUs' worth of work all allowed CPUs do at once.
//!
//! Timed: the same chain of additions on one CPU alone, then on every allowed CPU at the same time, a pinned thread
//! each, started together. The number is the sum over the threads of (time alone / time together): equal to the number
//! of CPUs when they do not hamper each other, less where they share a core, a power budget or other people's load.
//! Proof: each chain ends with its known value.

use std::sync::atomic::AtomicBool;

use harness::prelude::*;
use harness::{Clock, allowed_cpus};

use crate::ops::{Chains, LATENCY_OPERATIONS, chains};
use crate::team::together;

const NAME: &str = "sys.load_scaling";
/// About 1 ms of additions.
const ROUNDS: u64 = 150_000;
const FEWEST: usize = 5;

/// The benchmark.
pub fn benchmark() -> Benchmark {
    Benchmark::new(NAME, run)
        .metric(
            time(
                NAME,
                "machine",
                "CPUs' worth of work that all allowed CPUs do at once, by a chain of additions.",
            )
            .unit(Unit::RATIO)
            .direction(Direction::Bigger)
            .blocking(),
        )
        .placed(Placement::AllCpus)
        .weight(0.5)
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let cpus = allowed_cpus().map_err(|e| Stop::unavailable("reading the allowed CPUs", &e))?;
    let chain = chains()
        .into_iter()
        .find(|chains| chains.kind == "i64" && chains.operation == "add")
        .ok_or_else(|| Stop::fail("a chain is missing"))?;
    let expected = (chain.expected)(ROUNDS * LATENCY_OPERATIONS);
    let clock = bench.job().clock;
    bench.note(NAME, "cpus", cpus.len());
    let began = clock.stamp();
    let mut taken = 0;
    while taken < FEWEST || (taken < 1000 && clock.ns(clock.stamp() - began) < bench.job().slice_ns as f64) {
        let alone = times(&cpus[..1], &chain, expected, clock)?;
        let all = times(&cpus, &chain, expected, clock)?;
        bench.put(NAME, all.iter().map(|time| alone[0] / time).sum());
        taken += 1;
    }
    Ok(())
}

/// Times of one chain on each of `cpus`, run at the same time, ns.
fn times(cpus: &[usize], chain: &Chains, expected: u64, clock: Clock) -> Result<Vec<f64>, Stop> {
    let one = |_, _: &AtomicBool| {
        let start = clock.stamp();
        let result = (chain.latency)(ROUNDS);
        let elapsed = clock.ns(clock.stamp() - start);
        check(result == expected, "a chain does not end with its value")?;
        Ok(elapsed)
    };
    Ok(together(cpus, one, || ())?.0)
}
