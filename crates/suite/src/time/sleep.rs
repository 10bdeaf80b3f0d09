//! `timer.sleep.*`: how much longer a sleep lasts than asked.
//!
//! Timed: `clock_nanosleep` (relative, CLOCK_MONOTONIC) for 1 µs, 50 µs and 1 ms; the number is the time slept minus the
//! time asked for. Per sleep. The default timer slack of 50 µs (`prctl(2)`, PR_SET_TIMERSLACK) lets the kernel put
//! timers together and is part of it; `.noslack` sets it to 1 ns. Threads under a real-time policy have none.
//! Proof: no sleep is cut short.

use harness::prelude::*;

/// The family.
pub fn benchmarks() -> Vec<Benchmark> {
    [("1us", 1_000), ("50us", 50_000), ("1ms", 1_000_000)]
        .into_iter()
        .flat_map(|(length, ns)| [sleep(length, ns, true), sleep(length, ns, false)])
        .collect()
}

fn sleep(length: &str, asked_ns: i64, slack: bool) -> Benchmark {
    let name = format!("timer.sleep.{length}{}", if slack { "" } else { ".noslack" });
    let with = if slack { "default timer slack" } else { "a timer slack of 1 ns" };
    let doc = format!("How much longer than {length} a clock_nanosleep of {length} lasts, with {with}.");
    let declared = time(&name, "sleep", doc).blocking();
    Benchmark::new(name.clone(), move |bench| run(bench, &name, asked_ns, slack)).metric(declared).weight(0.5)
}

fn run(bench: &mut Bench, metric: &str, asked_ns: i64, slack: bool) -> Result<(), Stop> {
    if !slack {
        // SAFETY: no pointers.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    }
    // SAFETY: no pointers.
    bench.note(metric, "timer_slack_ns", unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) });
    let asked = libc::timespec { tv_sec: 0, tv_nsec: asked_ns };
    let asked_ticks = (asked_ns as f64 / bench.job().clock.ns_per_tick) as u64;
    let most = (1_000_000 / asked_ns).clamp(1, 16) as u64;
    bench.measure_up_to(metric, most, |sleeps, timer| {
        for _ in 0..sleeps {
            let start = timer.stamp();
            // SAFETY: asked lives through the call; no remainder is wanted.
            let failed =
                unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &asked, std::ptr::null_mut()) };
            let end = timer.stamp();
            check(failed == 0, "a sleep was cut short")?;
            timer.add(start + asked_ticks, end);
        }
        Ok(())
    })
}
