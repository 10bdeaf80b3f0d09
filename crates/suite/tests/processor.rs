//! The benchmarks of the processor itself, run for real and briefly.

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

fn line<'a>(lines: &'a [Invocation], metric: &str) -> &'a Invocation {
    lines.iter().find(|line| line.metric == metric).expect("a line")
}

fn value(lines: &[Invocation], metric: &str) -> f64 {
    let line = line(lines, metric);
    assert_eq!(line.status, Status::Ok, "{metric}: {:?}", line.reason);
    line.value.expect("a value")
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
fn arithmetic_is_measured_and_every_row_is_a_control() {
    for kind in ["i32", "i64", "f32", "f64"] {
        let lines = run(&format!("ops.{kind}"));
        assert!(measured(&lines));
        assert!(value(&lines, &format!("ops.{kind}.div")) > value(&lines, &format!("ops.{kind}.add")));
        assert!(lines.iter().all(|line| line.control), "{kind}");
    }
    measured(&run("ops.f64.bogomflops"));
}

#[test]
fn bandwidth_falls_from_the_first_cache_to_memory() {
    let (near, far) = (run("bw.mem.cache"), run("bw.mem"));
    measured(&far);
    if measured(&near) && line(&far, "bw.mem.read").status == Status::Ok {
        assert!(value(&near, "bw.mem.read.l1") > value(&far, "bw.mem.read"));
    }
    measured(&run("bw.stream"));
    measured(&run("bw.mem.all"));
}

#[test]
fn the_clock_and_the_load_it_bears_are_plausible() {
    let clock = run("sys.clock_mhz");
    if measured(&clock) {
        assert!((10.0..10_000.0).contains(&value(&clock, "sys.clock_mhz")));
    }
    assert!(measured(&run("sys.load_scaling")));
}
