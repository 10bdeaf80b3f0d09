//! `syscall.stat`: the attributes of a file by its path.
//!
//! Timed: a raw `newfstatat` of a file in the scratch directory by its absolute path: path walk through a warm
//! dentry cache, then the copy of the attributes. Per call. The number of path components is in the record.
//! Proof: every call returns 0 and the file's size.

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;

use harness::prelude::*;

/// The benchmark.
pub fn benchmark() -> Benchmark {
    Benchmark::new("syscall.stat", run).metric(time(
        "syscall.stat",
        "call",
        "A raw newfstatat of a file in the test directory by absolute path, dentry cache warm.",
    ))
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let file = bench.job().scratch.join("stat");
    std::fs::write(&file, b"12345").map_err(|e| Stop::unavailable("writing the test file", &e))?;
    let components = file.components().count();
    let path = CString::new(file.as_os_str().as_bytes()).map_err(|e| Stop::fail(e.to_string()))?;
    bench.note("syscall.stat", "path_components", components);
    bench.calls("syscall.stat", move || {
        let mut attributes = MaybeUninit::<libc::stat>::uninit();
        // SAFETY: path is a C string and attributes has room for one stat, which a return of 0 has filled.
        unsafe {
            libc::syscall(libc::SYS_newfstatat, libc::AT_FDCWD, path.as_ptr(), attributes.as_mut_ptr(), 0)
                == 0
                && attributes.assume_init_ref().st_size == 5
        }
    })
}
