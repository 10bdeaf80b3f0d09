//! Families of one benchmark by placement: on one CPU under the plain name, and on two CPUs of each class.

use harness::prelude::*;

/// The suffix words of a class for a doc sentence.
fn words(class: PairClass) -> &'static str {
    match class {
        PairClass::Smt => "the two sides on two hardware threads of one core",
        PairClass::Core => "the two sides on two cores that share a last-level cache",
        PairClass::CrossLlc => "the two sides on two cores of one node with separate last-level caches",
        PairClass::Node => "the two sides on two NUMA nodes",
    }
}

/// `name.smt`, `name.core`, `name.xllc` and `name.node`: `run(bench, metric)` on a pair of CPUs of each class.
pub fn across_cpus(
    name: &str,
    variant: &str,
    per: &str,
    doc: &str,
    run: fn(&mut Bench, &str) -> Result<(), Stop>,
) -> Vec<Benchmark> {
    PairClass::ALL
        .into_iter()
        .map(|class| {
            let metric = format!("{name}.{class}{variant}");
            let declared = time(&metric, per, format!("{doc}; {}.", words(class))).blocking();
            Benchmark::new(metric.clone(), move |bench| run(bench, &metric))
                .metric(declared)
                .placed(Placement::Pair(class))
                .weight(0.5)
        })
        .collect()
}

/// A round trip between two processes: `name` with both on one CPU (with tails where asked), and across CPUs.
pub fn round_trip(
    name: &'static str,
    tails: bool,
    doc: &str,
    run: fn(&mut Bench, &str) -> Result<(), Stop>,
) -> Vec<Benchmark> {
    let declared = time(name, "round trip", format!("{doc}; both processes on one CPU.")).blocking();
    let declared = if tails { declared.with_tails() } else { declared };
    let mut family = vec![Benchmark::new(name, move |bench| run(bench, name)).metric(declared)];
    family.extend(across_cpus(name, "", "round trip", doc, run));
    family
}

/// A bandwidth between two processes: `name` with both on one CPU, and across CPUs.
pub fn bandwidths(
    name: &str,
    doc: &str,
    run: impl Fn(&mut Bench, &str) -> Result<(), Stop> + Clone + Send + Sync + 'static,
) -> Vec<Benchmark> {
    let build = |metric: String, doc: String| {
        let run = run.clone();
        let declared = bandwidth(metric.clone(), "byte", doc);
        Benchmark::new(metric.clone(), move |bench| run(bench, &metric)).metric(declared).memory(32 << 20)
    };
    let mut family = vec![build(name.to_owned(), format!("{doc}; both processes on one CPU."))];
    family.extend(PairClass::ALL.into_iter().map(|class| {
        build(format!("{name}.{class}"), format!("{doc}; {}.", words(class)))
            .placed(Placement::Pair(class))
            .weight(0.5)
    }));
    family
}
