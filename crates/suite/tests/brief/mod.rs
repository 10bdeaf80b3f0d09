//! Runs one benchmark for real and briefly, in this process.

// Each test program uses a part of this.
#![allow(dead_code)]

use harness::{Bench, Clock, Job, Placement, allowed_cpus};
use record::{Invocation, Status};

/// Runs the benchmark called `name` for a few milliseconds on the CPUs its placement asks for.
pub fn run(name: &str) -> Vec<Invocation> {
    run_in(name, &tempfile::tempdir().expect("a directory"))
}

/// The same, for benchmarks that leave no file to the harness's cleaning.
pub fn run_tidily(name: &str) -> Vec<Invocation> {
    let scratch = tempfile::tempdir().expect("a directory");
    let lines = run_in(name, &scratch);
    assert_eq!(std::fs::read_dir(scratch.path()).expect("scratch").count(), 0, "{name} left files");
    lines
}

fn run_in(name: &str, scratch: &tempfile::TempDir) -> Vec<Invocation> {
    let sections = suite::sections();
    let benchmark =
        sections.iter().flat_map(|s| &s.benchmarks).find(|b| b.name == name).expect("a known benchmark");
    let allowed = allowed_cpus().expect("a CPU mask");
    let cpus = match benchmark.placement {
        Placement::Pair(_) => vec![allowed[allowed.len() - 1], allowed[0]],
        _ => vec![allowed[allowed.len() - 1]],
    };
    let job = Job {
        slice_ns: 10_000_000,
        cpus,
        allowed,
        scratch: scratch.path().into(),
        ipc_key: 0x746c_0000 | (std::process::id() & 0xffff) as i32,
        memory_limit: 1 << 30,
        ..Job::bare(name, Clock::calibrate(None))
    };
    // In a thread of its own, so that pinning does not stay on the test's.
    std::thread::scope(|scope| {
        scope
            .spawn(|| {
                if benchmark.placement != Placement::AllCpus {
                    harness::pin_to(&job.cpus[..1]).expect("pinning");
                }
                let mut bench = Bench::new(benchmark, &job);
                let ended = benchmark.run(&mut bench);
                bench.finish(ended)
            })
            .join()
            .expect("no panic")
    })
}

/// The line of one metric, which must be there.
pub fn line<'a>(lines: &'a [Invocation], metric: &str) -> &'a Invocation {
    lines.iter().find(|line| line.metric == metric).expect("a line")
}

/// The value of one metric, which must be there.
pub fn value(lines: &[Invocation], metric: &str) -> f64 {
    let line = line(lines, metric);
    assert_eq!(line.status, Status::Ok, "{metric}: {:?}", line.reason);
    line.value.expect("a value")
}

/// Measured, or skipped because this machine lacks the facility; never failed. Returns whether it was measured.
pub fn measured(lines: &[Invocation]) -> bool {
    for line in lines {
        let fine = matches!(line.status, Status::Ok | Status::Skipped);
        assert!(fine, "{}: {:?}", line.metric, line.reason);
    }
    lines.iter().any(|line| line.status == Status::Ok)
}
