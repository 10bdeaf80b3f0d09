//! The benchmarks of two and more processes, run for real and briefly: their numbers, proofs and left-overs.

mod brief;

use brief::{measured, run_tidily as run, value};
use harness::PairClass;

#[test]
fn every_round_trip_works_on_one_cpu_and_on_two() {
    let kinds = ["pipe", "fifo", "unix", "unix_dgram", "sem", "mq", "fcntl", "futex", "eventfd"];
    for kind in kinds {
        measured(&run(&format!("ipc.{kind}")));
        measured(&run(&format!("ipc.{kind}.{}", PairClass::Core)));
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
        measured(&run(name));
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
