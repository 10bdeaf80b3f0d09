//! `sig.catch`: a signal sent to oneself and handled.
//!
//! Timed: a raw `kill` of the own process with SIGUSR1, the delivery on the way back to user space, a handler that counts,
//! and the return from it (`rt_sigreturn`). Per signal, **including** the kill: nothing is subtracted, so the number can't
//! vanish (LMbench subtracts a separately timed `kill(pid, 0)`).
//! Proof: the handler ran exactly once for each signal.

use std::sync::atomic::{AtomicU64, Ordering};

use harness::prelude::*;

/// The benchmark.
pub fn benchmark() -> Benchmark {
    Benchmark::new("sig.catch", run).metric(time(
        "sig.catch",
        "signal",
        "A raw kill of oneself, delivery, a handler that counts, and the return from it; nothing subtracted.",
    ))
}

static CAUGHT: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    CAUGHT.store(CAUGHT.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    super::install_handler(libc::SIGUSR1, count)?;
    let pid = std::process::id();
    bench.measure("sig.catch", |iterations, timer| {
        let before = CAUGHT.load(Ordering::Relaxed);
        let sent = timer.time(|| {
            let mut sent = true;
            for _ in 0..iterations {
                // SAFETY: no pointers; SIGUSR1 has a handler.
                sent &= unsafe { libc::syscall(libc::SYS_kill, pid, libc::SIGUSR1) == 0 };
            }
            sent
        });
        let caught = CAUGHT.load(Ordering::Relaxed) - before;
        check(sent && caught == iterations, &format!("{caught} of {iterations} signals were handled"))
    })?;
    bench.note("sig.catch", "handled", CAUGHT.load(Ordering::Relaxed));
    Ok(())
}
