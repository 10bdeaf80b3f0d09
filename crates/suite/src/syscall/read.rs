//! `syscall.read`: one byte from `/dev/zero`.
//!
//! Timed: a raw `read` of 1 byte: entry, file look-up, the driver's shortest work, a copy to user space. Per call.
//! Proof: every call returns 1 and the byte is 0.

use std::fs::File;
use std::os::fd::AsRawFd;

use harness::prelude::*;

/// The benchmark.
pub fn benchmark() -> Benchmark {
    Benchmark::new("syscall.read", run).metric(time(
        "syscall.read",
        "call",
        "A raw read of 1 byte from /dev/zero.",
    ))
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let zero = File::open("/dev/zero").map_err(|e| Stop::unavailable("/dev/zero", &e))?;
    let fd = zero.as_raw_fd();
    let mut byte = 1u8;
    bench.calls("syscall.read", move || {
        // SAFETY: byte is one writable byte and fd stays open.
        let read = unsafe { libc::syscall(libc::SYS_read, fd, &raw mut byte, 1usize) };
        read == 1 && byte == 0
    })
}
