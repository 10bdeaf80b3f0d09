//! `syscall.fstat`: the attributes of an open file.
//!
//! Timed: a raw `fstat` of an open file in the scratch directory: no path walk. Per call.
//! Proof: every call returns 0 and the file's size.

use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;

use harness::prelude::*;

/// The benchmark.
pub fn benchmark() -> Benchmark {
    Benchmark::new("syscall.fstat", run).metric(time(
        "syscall.fstat",
        "call",
        "A raw fstat of an open file in the test directory.",
    ))
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let path = bench.job().scratch.join("fstat");
    std::fs::write(&path, b"12345").map_err(|e| Stop::unavailable("writing the test file", &e))?;
    let file = File::open(&path).map_err(|e| Stop::unavailable("opening the test file", &e))?;
    let fd = file.as_raw_fd();
    bench.calls("syscall.fstat", move || {
        let mut attributes = MaybeUninit::<libc::stat>::uninit();
        // SAFETY: fd stays open; attributes has room for one stat, which a return of 0 has filled.
        unsafe {
            libc::syscall(libc::SYS_fstat, fd, attributes.as_mut_ptr()) == 0
                && attributes.assume_init_ref().st_size == 5
        }
    })
}
