//! `proc.posix_spawn`: a program started through the C library's spawn call.
//!
//! Timed: `posix_spawn` of the tiny static program, without attributes or file actions, until it exits and is reaped, on
//! one CPU. Per process. What the C library does inside is part of the number: glibc and musl use CLONE_VM | CLONE_VFORK
//! on a separate stack and block signals around it.
//! Proof: every child is reaped with status 0.

use harness::prelude::*;

use super::child;
use super::program::Program;

/// The benchmark.
pub fn benchmark() -> Benchmark {
    Benchmark::new("proc.posix_spawn", run).metric(
        time(
            "proc.posix_spawn",
            "spawn, exit and wait",
            "posix_spawn of a tiny static program, until it is reaped.",
        )
        .blocking(),
    )
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let program = Program::tiny(bench, "proc.posix_spawn", None)?;
    bench.measure("proc.posix_spawn", |iterations, timer| {
        timer.time(|| {
            (0..iterations).try_for_each(|_| {
                let environment = [std::ptr::null_mut::<libc::c_char>()];
                let mut pid = 0;
                // SAFETY: the path is a C string and both vectors are null-terminated; attributes and actions are
                // absent; the call changes neither vector.
                let error = unsafe {
                    libc::posix_spawn(
                        &mut pid,
                        program.path(),
                        std::ptr::null(),
                        std::ptr::null(),
                        program.arguments().cast(),
                        environment.as_ptr(),
                    )
                };
                if error != 0 {
                    return Err(Stop::unavailable("posix_spawn", &std::io::Error::from_raw_os_error(error)));
                }
                child::reap(pid).map(drop)
            })
        })
    })
}
