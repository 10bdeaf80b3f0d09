//! Runs one benchmark for real and briefly, in this process.

use harness::{Bench, Clock, Job, Placement, allowed_cpus};
use record::{Invocation, Status};

/// Runs the benchmark called `name` for a few milliseconds on the CPUs its placement asks for.
pub fn run(name: &str) -> Vec<Invocation> {
    let sections = suite::sections();
    let benchmark =
        sections.iter().flat_map(|s| &s.benchmarks).find(|b| b.name == name).expect("a known benchmark");
    let scratch = tempfile::tempdir().expect("a directory");
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
                harness::pin_to(&job.cpus[..1]).expect("pinning");
                let mut bench = Bench::new(benchmark, &job);
                let ended = benchmark.run(&mut bench);
                let lines = bench.finish(ended);
                assert_eq!(std::fs::read_dir(&job.scratch).expect("scratch").count(), 0, "{name} left files");
                lines
            })
            .join()
            .expect("no panic")
    })
}

/// The value of one metric, which must be there.
pub fn value(lines: &[Invocation], metric: &str) -> f64 {
    let line = lines.iter().find(|line| line.metric == metric).expect("a line");
    assert_eq!(line.status, Status::Ok, "{metric}: {:?}", line.reason);
    line.value.expect("a value")
}

/// Measured, or skipped because this machine lacks the facility; never failed.
pub fn measured_or_skipped(name: &str) {
    for line in run(name) {
        assert!(matches!(line.status, Status::Ok | Status::Skipped), "{}: {:?}", line.metric, line.reason);
    }
}
