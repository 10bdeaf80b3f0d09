//! `syscall.write`: one byte to `/dev/null`.
//!
//! Timed: a raw `write` of 1 byte: entry, file look-up, a driver that takes it and does nothing. Per call.
//! Proof: every call returns 1.

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;

use harness::prelude::*;

/// The benchmark.
pub fn benchmark() -> Benchmark {
    Benchmark::new("syscall.write", run).metric(time(
        "syscall.write",
        "call",
        "A raw write of 1 byte to /dev/null.",
    ))
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let null =
        OpenOptions::new().write(true).open("/dev/null").map_err(|e| Stop::unavailable("/dev/null", &e))?;
    let fd = null.as_raw_fd();
    let byte = 7u8;
    bench.calls("syscall.write", move || {
        // SAFETY: byte is one readable byte and fd stays open.
        unsafe { libc::syscall(libc::SYS_write, fd, &raw const byte, 1usize) == 1 }
    })
}
