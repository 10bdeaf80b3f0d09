//! `syscall.getrandom`: 16 random bytes from the kernel.
//!
//! Timed: a raw `getrandom` of 16 bytes, never the C library's vDSO version. Per call.
//! Proof: every call returns 16, and no value comes twice in a row.

use harness::prelude::*;

/// The benchmark.
pub fn benchmark() -> Benchmark {
    Benchmark::new("syscall.getrandom", run).metric(time(
        "syscall.getrandom",
        "call",
        "A raw getrandom of 16 bytes: the kernel's generator, without the vDSO.",
    ))
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let mut last = [0u8; 16];
    bench.calls("syscall.getrandom", move || {
        let mut bytes = [0u8; 16];
        // SAFETY: bytes is 16 writable bytes.
        let got = unsafe { libc::syscall(libc::SYS_getrandom, bytes.as_mut_ptr(), 16usize, 0) };
        let fresh = bytes != last;
        last = bytes;
        got == 16 && fresh
    })
}
