//! `sys.clock_mhz`: how fast the core's clock really runs while it works.
//!
//! Timed: a chain of dependent 64-bit additions, one cycle each, and one of multiplications, alternating. The 25th
//! percentile of the additions' time gives the clock. No other metric is derived from it.
//! Proof and cross-checks, each of which refuses the number: the multiplication must take a whole number of those
//! cycles (three on x86-64), the clock must be plausible beside the time stamp counter and, where cpufreq shows them,
//! lie between the lowest and the highest frequency of the CPU, boost included.
//! Pitfalls: a preempted chain looks like a slow clock; turbo may be above the nominal frequency.

use environment::Root;
use harness::ClockKind;
use harness::current_cpu;
use harness::prelude::*;

use crate::ops::{Chains, LATENCY_OPERATIONS, chains};

const NAME: &str = "sys.clock_mhz";
const ADD_ROUNDS: u64 = 2000;
const MULTIPLY_ROUNDS: u64 = 700;
const FEWEST_PAIRS: usize = 50;
const MOST_PAIRS: usize = 2000;
/// The two chains must agree within this share.
const AGREEMENT: f64 = 0.03;

/// The benchmark.
pub fn benchmark() -> Benchmark {
    Benchmark::new(NAME, run)
        .metric(
            time(
                NAME,
                "second",
                "Core clock from a chain of dependent additions, cross-checked; millions of cycles.",
            )
            .unit(Unit("MHz".into()))
            .direction(Direction::Bigger)
            .estimator(Estimator::Single)
            .control(),
        )
        .weight(0.5)
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return Err(Stop::skip("no chain of a known number of cycles for this architecture"));
    }
    let find = |operation: &str| {
        let wanted = |chains: &Chains| chains.kind == "i64" && chains.operation == operation;
        chains().into_iter().find(wanted).ok_or_else(|| Stop::fail("a chain is missing"))
    };
    let (add, multiply) = (find("add")?, find("mul")?);
    let clock = bench.job().clock;
    let mut adds = Vec::new();
    let mut multiplies = Vec::new();
    let began = clock.stamp();
    while adds.len() < FEWEST_PAIRS
        || (adds.len() < MOST_PAIRS && clock.ns(clock.stamp() - began) < bench.job().slice_ns as f64)
    {
        let start = clock.stamp();
        std::hint::black_box((add.latency)(ADD_ROUNDS));
        let middle = clock.stamp();
        std::hint::black_box((multiply.latency)(MULTIPLY_ROUNDS));
        let end = clock.stamp();
        adds.push(clock.ns(middle - start) / (ADD_ROUNDS * LATENCY_OPERATIONS) as f64);
        multiplies.push(clock.ns(end - middle) / (MULTIPLY_ROUNDS * LATENCY_OPERATIONS) as f64);
    }
    let cycle_ns = lower_quartile(adds);
    let cycles = lower_quartile(multiplies) / cycle_ns;
    let mhz = 1000.0 / cycle_ns;
    bench.note(NAME, "multiplication_cycles", cycles);
    check_chains(cycles)?;
    check_counter(bench, mhz)?;
    check_cpufreq(bench, mhz)?;
    bench.put(NAME, mhz);
    Ok(())
}

fn lower_quartile(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 4]
}

/// Three cycles on x86-64 (uops.info); a whole number from 2 to 6 elsewhere.
fn check_chains(cycles: f64) -> Result<(), Stop> {
    let whole = if cfg!(target_arch = "x86_64") { 3.0 } else { cycles.round().clamp(2.0, 6.0) };
    if (cycles / whole - 1.0).abs() < AGREEMENT {
        return Ok(());
    }
    Err(Stop::skip(format!(
        "refused: two chains disagree on the clock (a multiplication took {cycles:.2} additions, not {whole}); \
         the machine is too busy"
    )))
}

/// Real cores run at a tenth to three times the rate of their time stamp counter.
fn check_counter(bench: &mut Bench, mhz: f64) -> Result<(), Stop> {
    let clock = bench.job().clock;
    if clock.kind != ClockKind::Tsc {
        return Ok(());
    }
    let counter_mhz = 1000.0 / clock.ns_per_tick;
    bench.note(NAME, "tsc_mhz", counter_mhz);
    if (0.1..3.0).contains(&(mhz / counter_mhz)) {
        return Ok(());
    }
    Err(Stop::skip(format!(
        "refused: {mhz:.0} MHz can't be beside a time stamp counter of {counter_mhz:.0} MHz"
    )))
}

fn check_cpufreq(bench: &mut Bench, mhz: f64) -> Result<(), Stop> {
    let root = Root::host();
    let directory = format!("/sys/devices/system/cpu/cpu{}/cpufreq", current_cpu().max(0));
    let mut read = |file: &str| {
        let khz = root.number(&format!("{directory}/{file}")).ok()? as f64;
        bench.note(NAME, &format!("cpufreq_{file}_mhz"), khz / 1000.0);
        Some(khz / 1000.0)
    };
    read("scaling_cur_freq");
    let (Some(lowest), Some(highest)) = (read("cpuinfo_min_freq"), read("cpuinfo_max_freq")) else {
        return Ok(());
    };
    // Some drivers leave boost out of cpuinfo_max_freq (Linux Documentation/admin-guide/pm/cpufreq.rst).
    let boost = root.number("/sys/devices/system/cpu/cpufreq/boost").is_ok_and(|on| on == 1);
    let highest = if boost { highest * 1.6 } else { highest * 1.03 };
    if (0.9 * lowest..highest).contains(&mhz) {
        return Ok(());
    }
    Err(Stop::skip(format!(
        "refused: {mhz:.0} MHz measured, but cpufreq gives this CPU {lowest:.0} to {highest:.0} MHz"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_that_disagree_are_refused() {
        assert!(check_chains(3.02).is_ok());
        assert!(check_chains(3.4).is_err() && check_chains(1.0).is_err());
    }
}
