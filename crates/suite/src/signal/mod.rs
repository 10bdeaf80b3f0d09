//! Signals: installing a handler, catching a signal, catching a protection fault.

mod catch;
mod install;
mod protection;

use harness::Benchmark;

/// The section's benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    vec![install::benchmark(), catch::benchmark(), protection::benchmark()]
}

/// Installs `handler` for `signal` through the C library, which adds what returning from a handler needs.
fn install_handler(
    signal: libc::c_int,
    handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void),
) -> Result<(), harness::Stop> {
    // SAFETY: a zeroed sigaction is valid; its mask is empty and its handler takes the three arguments of SA_SIGINFO.
    let returned = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(signal, &action, std::ptr::null_mut())
    };
    harness::cvt("sigaction", returned).map(drop)
}
