//! A number whose proof fails must not be seen, whenever the proof is made.

use harness::prelude::*;
use harness::{Clock, Job};
use record::Status;

fn run(benchmark: &Benchmark) -> Vec<record::Invocation> {
    let job = Job {
        slice_ns: 1_000_000,
        scratch: std::env::temp_dir(),
        ..Job::bare(&benchmark.name, Clock::calibrate(None))
    };
    let mut bench = Bench::new(benchmark, &job);
    let ended = benchmark.run(&mut bench);
    bench.finish(ended)
}

fn benchmark(run: impl Fn(&mut Bench) -> Result<(), Stop> + Send + Sync + 'static) -> Benchmark {
    Benchmark::new("x", run).metric(time("x", "spin", "A short wait.").with_tails())
}

fn spin(bench: &mut Bench) -> Result<(), Stop> {
    bench.calls("x", || std::hint::black_box((0..100).fold(0u64, |a, b| std::hint::black_box(a ^ b))) < 1000)
}

#[test]
fn a_proof_that_fails_after_the_samples_voids_them() {
    let lines = run(&benchmark(|bench| {
        spin(bench)?;
        check(false, "the far side saw nothing")
    }));
    assert_eq!(lines.len(), 3);
    for line in lines {
        assert_eq!((line.status, line.value), (Status::Failed, None), "{}", line.metric);
        assert!(line.reason.unwrap().contains("the far side saw nothing"));
    }
}

#[test]
fn a_batch_that_fails_late_voids_the_earlier_ones() {
    let lines = run(&benchmark(|bench| {
        let mut samples = 0;
        bench.measure_up_to("x", 1, |_, timer| {
            samples += 1;
            timer.time(|| std::hint::black_box((0..1000).fold(0u64, |a, b| std::hint::black_box(a ^ b))));
            check(samples < 10, "a reply was wrong")
        })
    }));
    assert!(lines.iter().all(|line| line.status == Status::Failed && line.value.is_none()), "{lines:?}");
}

#[test]
fn what_was_measured_before_a_skip_stays() {
    let lines = run(&benchmark(|bench| {
        spin(bench)?;
        Err(Stop::skip("the second part needs what is not here"))
    }));
    let body = lines.iter().find(|line| line.metric == "x").unwrap();
    assert_eq!(body.status, Status::Ok, "{:?}", body.reason);
}
