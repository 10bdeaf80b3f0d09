//! `syscall.open_close`: a descriptor made and given back.
//!
//! Timed: a raw `openat` (read only) of a file in the scratch directory by its absolute path, then `close`: path
//! walk, file object, descriptor. Per open and close together. The number of path components is in the record.
//! Proof: every open returns a descriptor, every close 0.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

use harness::prelude::*;

/// The benchmark.
pub fn benchmark() -> Benchmark {
    Benchmark::new("syscall.open_close", run).metric(time(
        "syscall.open_close",
        "open and close",
        "A raw openat (read only) of a file in the test directory by absolute path, and its close.",
    ))
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let file = bench.job().scratch.join("open");
    std::fs::write(&file, b"12345").map_err(|e| Stop::unavailable("writing the test file", &e))?;
    let components = file.components().count();
    let path = CString::new(file.as_os_str().as_bytes()).map_err(|e| Stop::fail(e.to_string()))?;
    bench.note("syscall.open_close", "path_components", components);
    bench.calls("syscall.open_close", move || {
        // SAFETY: path is a C string; the descriptor closed is the one just opened.
        unsafe {
            let fd = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), libc::O_RDONLY);
            fd >= 0 && libc::syscall(libc::SYS_close, fd) == 0
        }
    })
}
