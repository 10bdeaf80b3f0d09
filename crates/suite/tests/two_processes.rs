//! The benchmarks of two and more processes, run for real and briefly: their numbers, proofs and left-overs.

use harness::{Bench, Clock, Job, PairClass, Placement, allowed_cpus};
use record::{Invocation, Status};

/// Runs the benchmark called `name` for a few milliseconds on the CPUs its placement asks for.
fn run(name: &str) -> Vec<Invocation> {
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
        benchmark: name.into(),
        iterations: Default::default(),
        slice_ns: 10_000_000,
        clock: Clock::calibrate(None),
        cycle_ns: 0.1,
        cpus,
        allowed,
        scratch: scratch.path().into(),
        ipc_key: 0x746c_0000 | (std::process::id() & 0xffff) as i32,
        memory_limit: 1 << 30,
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

fn value(lines: &[Invocation], metric: &str) -> f64 {
    let line = lines.iter().find(|line| line.metric == metric).expect("a line");
    assert_eq!(line.status, Status::Ok, "{metric}: {:?}", line.reason);
    line.value.expect("a value")
}

/// Measured, or skipped because this machine lacks the facility; never failed.
fn measured_or_skipped(name: &str) {
    for line in run(name) {
        assert!(matches!(line.status, Status::Ok | Status::Skipped), "{}: {:?}", line.metric, line.reason);
    }
}

#[test]
fn every_round_trip_works_on_one_cpu_and_on_two() {
    let kinds = ["pipe", "fifo", "unix", "unix_dgram", "sem", "mq", "fcntl", "futex", "eventfd"];
    for kind in kinds {
        measured_or_skipped(&format!("ipc.{kind}"));
        measured_or_skipped(&format!("ipc.{kind}.{}", PairClass::Core));
    }
    let pipe = run("ipc.pipe");
    let samples = pipe.iter().find_map(|line| line.samples.clone()).expect("samples");
    let least = samples.iter().copied().fold(f64::MAX, f64::min);
    assert!(value(&pipe, "ipc.pipe.p99") > 0.2 * least, "single operations are as long as those of a batch");
}

#[test]
fn a_ring_switches_once_a_hop_and_a_ring_of_one_never() {
    let switches_per_hop = |name: &str| {
        let lines = run(name);
        value(&lines, name);
        let line = lines.iter().find(|line| line.metric == name).expect("a line");
        line.extra["switches_per_hop"].as_f64().expect("a number")
    };
    for name in ["ctx.pipe.2p.0k", "ctx.pipe.8p.16k", "ctx.pipe.16p.64k"] {
        assert!(switches_per_hop(name) >= 1.0, "{name}");
    }
    // Only preemption by other work can switch it.
    assert!(switches_per_hop("ctx.pipe.ring.0k") < 0.5);
}

#[test]
fn a_sleeper_is_woken_by_another_cpu_and_by_a_timer() {
    for name in ["wake.futex.core", "wake.pipe.core"] {
        measured_or_skipped(name);
    }
    let lines = run("wake.timer");
    let line = lines.iter().find(|line| line.metric == "wake.timer.max").expect("a line");
    let histogram =
        harness::decode_histogram(line.histogram.as_deref().expect("a histogram")).expect("whole");
    let largest = value(&lines, "wake.timer.max");
    assert!(
        (histogram.max() as f64 - largest).abs() <= 0.001 * largest + 1.0,
        "{} {largest}",
        histogram.max()
    );
    let missed = line.extra["missed_times"].as_u64().expect("a count");
    // 10 ms hold 199 times 50 µs apart: each was slept to, or is counted as missed.
    assert!(histogram.len() + missed >= 199, "{} {missed}", histogram.len());
}
