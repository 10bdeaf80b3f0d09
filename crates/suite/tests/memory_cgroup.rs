//! The memory cgroup benchmark, in a test program of its own since it moves the whole process.

use harness::{Bench, Clock, Job, allowed_cpus};
use record::{Invocation, Status};

/// Runs the benchmark called `name` for a few milliseconds.
fn run(name: &str) -> Vec<Invocation> {
    let sections = suite::sections();
    let benchmark =
        sections.iter().flat_map(|s| &s.benchmarks).find(|b| b.name == name).expect("a known benchmark");
    let scratch = tempfile::tempdir().expect("a directory");
    let allowed = allowed_cpus().expect("a CPU mask");
    let job = Job {
        slice_ns: 10_000_000,
        cpus: allowed[allowed.len() - 1..].to_vec(),
        allowed,
        scratch: scratch.path().into(),
        memory_limit: 1 << 30,
        ..Job::bare(name, Clock::calibrate(None))
    };
    let mut bench = Bench::new(benchmark, &job);
    let ended = benchmark.run(&mut bench);
    bench.finish(ended)
}

/// Measured, or skipped because this machine lacks the facility; never failed. Returns whether it was measured.
fn measured(lines: &[Invocation]) -> bool {
    for line in lines {
        let fine = matches!(line.status, Status::Ok | Status::Skipped);
        assert!(fine, "{}: {:?}", line.metric, line.reason);
    }
    lines.iter().any(|line| line.status == Status::Ok)
}

#[test]
fn charges_are_measured_and_no_cgroup_is_left() {
    measured(&run("vm.memcg"));
    let own = environment::memory_cgroup(&environment::Root::host());
    let made = own.map(|own| harness::memory_cgroup_below(&own, 0));
    assert!(made.as_ref().is_none_or(|cgroup| !cgroup.exists()), "{made:?} is left");
}
