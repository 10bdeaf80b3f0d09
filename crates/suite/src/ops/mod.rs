//! Arithmetic in user space: what no kernel can change, and so the controls of every comparison.
//!
//! `ops.{i32,i64}.{add,mul,div,mod,bit}` and `ops.{f32,f64}.{add,mul,div,fma,bit}`: the latency of one operation, from
//! a chain in which each needs the result of the one before; `.throughput` is the time per operation when eight such
//! chains run side by side, and `.parallelism` how many operations are then under way at once (latency over
//! throughput).
//!
//! The chains are written in the machine's own instructions on x86-64 and aarch64, so that no compiler can fold them.
//! Elsewhere the operation is compiled and its result kept opaque, which may add moves. Bit is exclusive or, of vector
//! registers for floats. A division divides a constant by the last quotient (on x86-64 with the moves its fixed
//! registers need); mod does the same with the remainder, to which one `or` is added that keeps the divisor large.
//! Floating mod is missing because no current processor has such an instruction.
//! Proof: a short run of each chain ends with the value that plain code computes.

#[cfg(target_arch = "aarch64")]
#[path = "aarch64.rs"]
mod instructions;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[path = "portable.rs"]
mod instructions;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod instructions;

mod bogomflops;
mod chain;

pub(crate) use chain::Chains;
use harness::Benchmark;
use harness::prelude::*;
pub(crate) use instructions::chains;

/// Dependent operations in one round of a latency chain.
pub(crate) const LATENCY_OPERATIONS: u64 = 16;
/// Operations in one round of the eight chains of a throughput loop.
pub(crate) const THROUGHPUT_OPERATIONS: u64 = 64;

/// One benchmark per type, then `bogomflops`.
pub fn benchmarks() -> Vec<Benchmark> {
    let mut all: Vec<Benchmark> = ["i32", "i64", "f32", "f64"].map(benchmark).into();
    all.extend(bogomflops::benchmarks());
    all
}

fn benchmark(kind: &'static str) -> Benchmark {
    let mine = move || chains().into_iter().filter(move |chain| chain.kind == kind);
    let mut benchmark =
        Benchmark::new(format!("ops.{kind}"), move |bench| mine().try_for_each(|chains| run(bench, &chains)))
            .parts(mine().count() as u32)
            .weight(1.5);
    for chain in mine() {
        let name = chain.name();
        let latency = format!("Latency of {kind} {}: a chain of dependent operations.", chain.operation);
        let throughput = format!("Time per {kind} {} with eight independent chains.", chain.operation);
        let parallelism =
            format!("Operations of {kind} {} under way at once: latency over throughput.", chain.operation);
        benchmark = benchmark
            .metric(time(name.clone(), "operation", latency).control().floor_cycles(0.5))
            .metric(time(format!("{name}.throughput"), "operation", throughput).control().floor_cycles(0.05))
            .metric(
                time(format!("{name}.parallelism"), "operation", parallelism)
                    .unit(Unit::RATIO)
                    .direction(Direction::Bigger)
                    .estimator(Estimator::Median)
                    .control(),
            );
    }
    benchmark
}

fn run(bench: &mut Bench, chains: &Chains) -> Result<(), Stop> {
    let name = chains.name();
    let (throughput, parallelism) = (format!("{name}.throughput"), format!("{name}.parallelism"));
    if let Err(reason) = (chains.available)() {
        for metric in [&name, &throughput, &parallelism] {
            bench.absent(metric, reason);
        }
        return Ok(());
    }
    chains.prove()?;
    bench.measure(&name, |rounds, timer| {
        let wide_rounds = (rounds * LATENCY_OPERATIONS / THROUGHPUT_OPERATIONS).max(1);
        let start = timer.stamp();
        std::hint::black_box((chains.latency)(rounds));
        let middle = timer.stamp();
        std::hint::black_box((chains.throughput)(wide_rounds));
        let end = timer.stamp();
        timer.add(start, middle);
        let operations = (rounds * LATENCY_OPERATIONS) as f64;
        timer.worked(operations);
        let narrow = timer.ns(middle - start) / operations;
        let wide = timer.ns(end - middle) / (wide_rounds * THROUGHPUT_OPERATIONS) as f64;
        timer.also(&throughput, wide);
        timer.also(&parallelism, narrow / wide);
        Ok(())
    })
}
