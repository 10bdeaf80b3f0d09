//! `run -P N` and `run --scale`: benchmarks in parallel copies.

use anyhow::bail;
use harness::Benchmark;
use record::PlannedBenchmark;

/// Numbers of copies for a scaling curve on `cpus` CPUs: each up to 4, then two per doubling, and all CPUs.
pub fn curve(cpus: u32) -> Vec<u32> {
    let mut counts: Vec<u32> = (1..=4).collect();
    let mut power = 4;
    while power < cpus {
        counts.extend([power / 2 * 3, power * 2]);
        power *= 2;
    }
    counts.retain(|&count| count < cpus);
    counts.push(cpus.max(1));
    counts
}

/// Each of `chosen` in each number of copies; says on standard error which do not allow it, and fails when none does.
pub fn in_copies(chosen: &[&Benchmark], counts: &[u32]) -> anyhow::Result<Vec<Benchmark>> {
    let (allowing, others): (Vec<&Benchmark>, Vec<&Benchmark>) =
        chosen.iter().partition(|benchmark| benchmark.allows_copies());
    let others: Vec<&str> = others.iter().map(|benchmark| benchmark.name.as_str()).collect();
    if !others.is_empty() {
        let names = others.join(" ");
        eprintln!("tlbench: not run in parallel copies, for they place their own processes: {names}");
    }
    if allowing.is_empty() {
        bail!("none of the named benchmarks can run in parallel copies");
    }
    let copies =
        |benchmark: &&Benchmark| counts.iter().filter_map(|&n| benchmark.in_copies(n)).collect::<Vec<_>>();
    Ok(allowing.iter().flat_map(copies).collect())
}

/// The benchmarks of a plan that are parallel copies of one of `all`.
pub fn planned(plan: &[PlannedBenchmark], all: &[&Benchmark]) -> Vec<Benchmark> {
    let copy = |planned: &PlannedBenchmark| {
        let (name, copies) = report::split_copies(&planned.name)?;
        all.iter().find(|benchmark| benchmark.name == name)?.in_copies(copies)
    };
    plan.iter().filter_map(copy).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_ends_at_all_cpus_and_grows_by_halves() {
        assert_eq!(curve(1), [1]);
        assert_eq!(curve(2), [1, 2]);
        assert_eq!(curve(4), [1, 2, 3, 4]);
        assert_eq!(curve(12), [1, 2, 3, 4, 6, 8, 12]);
        assert_eq!(curve(64), [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]);
    }
}
