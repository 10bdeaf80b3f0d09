//! `sig.catch.vector`: a signal delivered while wide vector registers are in use.
//!
//! Timed: fill the machine's widest vector register, send oneself SIGUSR1 with `tgkill`, run a handler that only
//! counts, return through `rt_sigreturn`. Per signal. The kernel writes the whole extended state into the frame on
//! the user's stack and reads it back; `sig.catch` is the same with whatever state the program happens to have. The
//! size of the frame is in the record. Proof: the handler has counted every signal.

use std::sync::atomic::{AtomicU64, Ordering};

use harness::prelude::*;

use super::vectors::Vectors;

const NAME: &str = "sig.catch.vector";
static CAUGHT: AtomicU64 = AtomicU64::new(0);

/// The benchmark.
pub fn benchmark() -> Benchmark {
    Benchmark::new(NAME, run).metric(time(
        NAME,
        "signal",
        "A signal to oneself, caught by a counting handler, with the widest vector registers in use.",
    ))
}

extern "C" fn count(_signal: i32) {
    CAUGHT.fetch_add(1, Ordering::Relaxed);
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let vectors = Vectors::widest()?;
    // SAFETY: an all-zero sigaction is valid; the handler only touches an atomic.
    let installed = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count as extern "C" fn(i32) as usize;
        libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut())
    };
    cvt("sigaction", installed)?;
    bench.note(NAME, "vectors", vectors.name());
    // SAFETY: reads the auxiliary vector; 0 where the kernel does not tell.
    bench.note(NAME, "frame_bytes_at_least", unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) });
    // SAFETY: no arguments.
    let (process, thread) = unsafe { (libc::getpid(), libc::syscall(libc::SYS_gettid)) };
    let mut sent = CAUGHT.load(Ordering::Relaxed);
    bench.calls(NAME, || {
        sent += 1;
        vectors.fill();
        // SAFETY: no pointers; the signal goes to this thread and is handled before the call returns.
        let done = unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGUSR1) } == 0;
        done && CAUGHT.load(Ordering::Relaxed) == sent
    })
}
