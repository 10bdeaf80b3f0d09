//! `clock.gettime`, `clock.gettime_syscall`: reading CLOCK_MONOTONIC.
//!
//! Timed: `clock_gettime` as a program calls it (the C library uses the vDSO where the kernel offers one and the clock
//! source allows it), and the raw system call. Per call. Where both cost the same, the vDSO falls back to the system
//! call: `tlbench env` shows the clock source. Proof: no call fails, and time never runs backwards.

use harness::prelude::*;

/// Both benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    vec![
        Benchmark::new("clock.gettime", |bench| {
            // SAFETY: the callee fills the timespec it is given.
            run(bench, "clock.gettime", |now| unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, now) == 0 })
        })
        .metric(time(
            "clock.gettime",
            "call",
            "clock_gettime(CLOCK_MONOTONIC) through the C library: the vDSO where it works.",
        )),
        Benchmark::new("clock.gettime_syscall", |bench| {
            run(bench, "clock.gettime_syscall", |now| {
                // SAFETY: the kernel fills the timespec it is given.
                unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, now) == 0 }
            })
        })
        .metric(time(
            "clock.gettime_syscall",
            "call",
            "clock_gettime(CLOCK_MONOTONIC) as a raw system call.",
        )),
    ]
}

#[inline(always)]
fn run(bench: &mut Bench, metric: &str, gettime: impl Fn(*mut libc::timespec) -> bool) -> Result<(), Stop> {
    let mut last = 0i64;
    bench.calls(metric, || {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let done = gettime(&raw mut now);
        let ns = now.tv_sec * 1_000_000_000 + now.tv_nsec;
        let forwards = ns >= last;
        last = ns;
        done && forwards
    })
}
