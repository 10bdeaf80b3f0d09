//! `syscall.sched_yield`: offering the CPU when nobody else wants it.
//!
//! Timed: raw `sched_yield` calls of a process that is alone on its CPU. Per call: the scheduler looks and comes
//! back. Samples in which another task was switched to are set aside; `ctx.yield.*` is the yield that switches.
//! Proof: every call returns 0.

use harness::prelude::*;

/// The benchmark.
pub fn benchmark() -> Benchmark {
    Benchmark::new("syscall.sched_yield", run).metric(time(
        "syscall.sched_yield",
        "call",
        "A raw sched_yield with nothing else to run on the CPU.",
    ))
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    bench.calls("syscall.sched_yield", || {
        // SAFETY: no arguments.
        unsafe { libc::syscall(libc::SYS_sched_yield) == 0 }
    })
}
