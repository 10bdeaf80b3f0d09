//! `sched.wake.load50`, `.load100`, `.load150`: how long a woken thread waits for a CPU while others compute.
//!
//! Timed: from just before a futex wake to the woken thread's next instruction, every 100-360 µs. Per wake-up: median,
//! `.p99` and `.p999` of one invocation. All CPUs of the run are loaded: at 50 % one thread a CPU computes for 2 ms and
//! sleeps for 2 ms, at 100 % one thread a CPU never stops, at 150 % three threads share two CPUs. Nothing is pinned:
//! placing is the scheduler's work here. The waker's own wait for a CPU is not part of the number.
//! Proof: every wake-up is answered once; the loads have computed (their CPU time per CPU is in the record).

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use harness::Histogram;
use harness::prelude::*;

use crate::ipc::futex::{wait_while, wake};

/// How long a half load computes, and sleeps, at a time.
const HALF: Duration = Duration::from_millis(2);

/// Wake-ups wanted, for the 99.9th percentile.
const WANTED: u32 = 1000;

/// The family.
pub fn benchmarks() -> Vec<Benchmark> {
    [50, 100, 150].into_iter().map(under_load).collect()
}

fn under_load(percent: usize) -> Benchmark {
    let name = format!("sched.wake.load{percent}");
    let declared = time(
        &name,
        "wake-up",
        format!(
            "From a futex wake to the woken thread's next instruction while computing threads load all CPUs to {percent} %; median."
        ),
    );
    Benchmark::new(name.clone(), move |bench| run(bench, &name, percent))
        .metric(declared.blocking().with_tails())
        .placed(Placement::AllCpus)
        .weight(6.0)
}

/// What the threads share.
#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    /// Number of the last wake-up, which the sleeper waits for.
    rung: AtomicU32,
    rung_at: AtomicU64,
    answered: AtomicU32,
    load_ns: AtomicU64,
}

fn run(bench: &mut Bench, metric: &str, percent: usize) -> Result<(), Stop> {
    let cpus = bench.job().allowed.len().max(1);
    let (threads, half) = if percent == 50 { (cpus, true) } else { ((cpus * percent).div_ceil(100), false) };
    let clock = bench.job().clock;
    let slice = bench.job().slice_ns as f64;
    let shared = Shared::default();
    let start = clock.stamp();
    let (rung, histogram) = thread::scope(|scope| {
        let loads = (0..threads).try_for_each(|_| spawn(scope, || compute(&shared, half)).map(|_| ()));
        let sleeper = loads.and_then(|()| spawn(scope, || sleeper(&shared, clock)));
        let rung = if sleeper.is_ok() { waker(&shared, &clock, slice) } else { 0 };
        // Whatever happened, every thread ends here.
        shared.stop.store(true, Ordering::Release);
        shared.rung.fetch_add(1, Ordering::Release);
        let woken = wake(&shared.rung);
        let histogram = sleeper?.join().map_err(|_| Stop::fail("the sleeper ended early"))??;
        woken.map(|_| (rung, histogram))
    })?;
    let busy = shared.load_ns.load(Ordering::Relaxed) as f64 / clock.ns(clock.stamp() - start);
    check(busy > 0.0, "the load did not compute")?;
    check(histogram.len() == u64::from(rung), "a wake-up was lost")?;
    bench.note(metric, "load_threads", threads);
    bench.note(metric, "load_cpus_used", busy);
    bench.put(metric, histogram.value_at_quantile(0.5) as f64);
    bench.keep_histogram(metric, histogram);
    Ok(())
}

/// A thread of `scope`; a skip where none can be had.
fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    body: impl FnOnce() -> T + Send + 'scope,
) -> Result<thread::ScopedJoinHandle<'scope, T>, Stop> {
    thread::Builder::new()
        .stack_size(64 << 10)
        .spawn_scoped(scope, body)
        .map_err(|e| Stop::unavailable("starting a thread", &e))
}

/// Rings until the time is over; yields how often. Where that leaves too few wake-ups for the tails, up to three
/// times as long.
fn waker(shared: &Shared, clock: &harness::Clock, slice_ns: f64) -> u32 {
    let start = clock.stamp();
    let mut rung = 0u32;
    let enough = |rung: u32| {
        let spent = clock.ns(clock.stamp() - start);
        spent > slice_ns && (rung >= WANTED || spent > 3.0 * slice_ns && rung > 0)
    };
    while !shared.stop.load(Ordering::Acquire) && !enough(rung) {
        thread::sleep(Duration::from_micros(100 + u64::from(rung.wrapping_mul(0x9E37_79B9) >> 24)));
        if shared.answered.load(Ordering::Acquire) != rung {
            continue;
        }
        rung += 1;
        shared.rung_at.store(clock.stamp(), Ordering::Relaxed);
        shared.rung.store(rung, Ordering::Release);
        if wake(&shared.rung).is_err() {
            break;
        }
    }
    while shared.answered.load(Ordering::Acquire) != rung && !shared.stop.load(Ordering::Acquire) {
        thread::sleep(Duration::from_micros(100));
    }
    rung
}

fn sleeper(shared: &Shared, clock: harness::Clock) -> Result<Histogram<u64>, Stop> {
    let broken = |e: &dyn std::fmt::Display| Stop::fail(format!("histogram: {e}"));
    let mut histogram = Histogram::<u64>::new(3).map_err(|e| broken(&e))?;
    let mut last = 0;
    loop {
        last = wait_while(&shared.rung, last).inspect_err(|_| shared.stop.store(true, Ordering::Release))?;
        let now = clock.stamp();
        if shared.stop.load(Ordering::Acquire) {
            return Ok(histogram);
        }
        let waited = clock.ns(now.saturating_sub(shared.rung_at.load(Ordering::Relaxed)));
        histogram.record(waited.max(1.0) as u64).map_err(|e| broken(&e))?;
        shared.answered.store(last, Ordering::Release);
    }
}

/// Computes until told to stop; adds its CPU time to the shared sum.
fn compute(shared: &Shared, half: bool) {
    let mut value = 1u64;
    while !shared.stop.load(Ordering::Relaxed) {
        let start = cpu_time_ns();
        while !shared.stop.load(Ordering::Relaxed) && (cpu_time_ns() - start) < HALF.as_nanos() as u64 {
            for _ in 0..1000 {
                value = std::hint::black_box(value.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            }
        }
        if half {
            thread::sleep(HALF);
        }
    }
    shared.load_ns.fetch_add(cpu_time_ns(), Ordering::Relaxed);
}

/// CPU time of the calling thread, ns.
fn cpu_time_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
