//! `sig.install`: telling the kernel which function handles a signal.
//!
//! Timed: a raw `rt_sigaction` that sets a handler for SIGUSR1. Per call. The structure passed is the one the kernel
//! itself gave back for a handler set by the C library, so nothing of its layout is assumed.
//! Proof: every call returns 0; afterwards the kernel gives the same structure back.

use harness::prelude::*;

/// Room for the kernel's `struct sigaction` of any architecture: handler, flags, restorer, mask.
type KernelAction = [u64; 8];

/// Bytes of the kernel's signal set on 64-bit Linux.
const MASK_BYTES: usize = 8;

/// The benchmark.
pub fn benchmark() -> Benchmark {
    Benchmark::new("sig.install", run).metric(time(
        "sig.install",
        "call",
        "A raw rt_sigaction that sets a handler for SIGUSR1.",
    ))
}

extern "C" fn ignore(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    super::install_handler(libc::SIGUSR1, ignore)?;
    let action = current()?;
    bench.calls("sig.install", || {
        // SAFETY: action is a structure the kernel filled for this very signal; the old one is not asked for.
        unsafe {
            libc::syscall(libc::SYS_rt_sigaction, libc::SIGUSR1, action.as_ptr(), 0usize, MASK_BYTES) == 0
        }
    })?;
    check(current()? == action, "the handler installed is not the one in force")
}

/// What the kernel holds for SIGUSR1.
fn current() -> Result<KernelAction, Stop> {
    let mut action: KernelAction = [0; 8];
    // SAFETY: action is larger than the kernel's structure on every architecture.
    cvt("rt_sigaction", unsafe {
        libc::syscall(libc::SYS_rt_sigaction, libc::SIGUSR1, 0usize, action.as_mut_ptr(), MASK_BYTES)
    })?;
    Ok(action)
}
