//! `wake.timer.max`, `wake.timer.p9999`: how late a sleeper wakes from a timer, at worst.
//!
//! Timed: a process with locked memory sleeps to absolute times 50 µs apart (`clock_nanosleep`, CLOCK_MONOTONIC,
//! timer slack 1 ns) and reads the clock when it runs again. Per wake-up: now minus the time asked for. The largest
//! of an invocation is `.max`; `.p9999` needs 10,000 wake-ups and is skipped where the time does not allow them.
//! The process keeps the scheduling policy it was started with (named in the record): run `tlbench` under `chrt` to
//! measure another. Whether the memory could be locked, and how many times were missed because the wake-up before
//! came later than they were due, are in the record too.
//! Proof: every sleep returns 0 and not before its time.

use harness::Histogram;
use harness::prelude::*;

/// Distance of the wake-ups, ns.
const PERIOD_NS: u64 = 50_000;
/// Wake-ups needed before the 99.99th percentile is stated.
const FEWEST_FOR_P9999: u64 = 10_000;
const MAX: &str = "wake.timer.max";
const P9999: &str = "wake.timer.p9999";

/// The benchmark.
pub fn benchmark() -> Benchmark {
    let max =
        time(MAX, "wake-up", "The latest of an invocation's timer wake-ups, 50 µs apart: how late it was.");
    let p9999 = time(
        P9999,
        "wake-up",
        "99.99th percentile of an invocation's timer wake-ups, 50 µs apart: how late they were.",
    );
    Benchmark::new("wake.timer", run)
        .metric(max.blocking().estimator(Estimator::Max))
        .metric(p9999.blocking().estimator(Estimator::Single))
        .weight(16.0)
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let locked = lock_memory();
    let late = sleep_to_times(bench.job().slice_ns)?;
    bench.note(MAX, "memory_locked", locked);
    bench.note(MAX, "policy", policy());
    bench.note(MAX, "missed_times", late.missed);
    let wake_ups = late.histogram.len();
    if wake_ups < FEWEST_FOR_P9999 {
        bench.absent(P9999, format!("needs {FEWEST_FOR_P9999} wake-ups, the time allowed {wake_ups}"));
    } else {
        bench.put(P9999, late.histogram.value_at_quantile(0.9999) as f64);
    }
    bench.put(MAX, late.largest as f64);
    bench.keep_histogram(MAX, late.histogram);
    Ok(())
}

/// How late the wake-ups were.
struct Lateness {
    histogram: Histogram<u64>,
    largest: u64,
    missed: u64,
}

fn sleep_to_times(slice_ns: u64) -> Result<Lateness, Stop> {
    let histogram = Histogram::<u64>::new(3).map_err(|e| Stop::fail(format!("histogram: {e}")))?;
    let mut late = Lateness { histogram, largest: 0, missed: 0 };
    // SAFETY: no pointers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let start = monotonic_ns();
    let mut due = start + PERIOD_NS;
    while due < start + slice_ns {
        sleep_until(due)?;
        let now = monotonic_ns();
        let lateness = now.checked_sub(due).ok_or_else(|| Stop::fail("a timer came before its time"))?;
        late.largest = late.largest.max(lateness);
        late.histogram.record(lateness).map_err(|e| Stop::fail(format!("histogram: {e}")))?;
        let missed = lateness / PERIOD_NS;
        late.missed += missed;
        due += (missed + 1) * PERIOD_NS;
    }
    check(!late.histogram.is_empty(), "no timer came in the time allowed")?;
    Ok(late)
}

fn sleep_until(due: u64) -> Result<(), Stop> {
    let due = libc::timespec { tv_sec: (due / 1_000_000_000) as _, tv_nsec: (due % 1_000_000_000) as _ };
    // SAFETY: due lives through the call; an absolute sleep fills no remainder.
    let failed = unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &due, std::ptr::null_mut())
    };
    if failed == 0 {
        Ok(())
    } else {
        Err(Stop::unavailable("clock_nanosleep", &std::io::Error::from_raw_os_error(failed)))
    }
}

/// The clock that the timer runs by.
fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Locks what is mapped, so that no page fault delays a wake-up; false where the limit does not allow it.
fn lock_memory() -> bool {
    // SAFETY: no pointers.
    unsafe { libc::mlockall(libc::MCL_CURRENT) == 0 }
}

/// The scheduling policy in force.
fn policy() -> &'static str {
    // SAFETY: no pointers.
    match unsafe { libc::sched_getscheduler(0) } & !libc::SCHED_RESET_ON_FORK {
        libc::SCHED_OTHER => "other",
        libc::SCHED_FIFO => "fifo",
        libc::SCHED_RR => "rr",
        libc::SCHED_BATCH => "batch",
        libc::SCHED_IDLE => "idle",
        _ => "unknown",
    }
}
