//! `syscall.null`: into the kernel and back, with nothing done there.
//!
//! Timed: a raw `getppid`, never a C library wrapper that might answer from a cache. Per call.
//! Proof: every call returns this process's parent.
//! Pitfalls: seccomp filters, syscall auditing and mitigations are part of the number; `tlbench env` shows them.

use harness::prelude::*;

/// The benchmark.
pub fn benchmark() -> Benchmark {
    Benchmark::new("syscall.null", run).metric(
        time("syscall.null", "call", "A raw getppid system call: entry to the kernel and exit, no work.")
            .with_tails(),
    )
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let parent = getppid();
    check(parent == i64::from(std::os::unix::process::parent_id()), "getppid does not name the parent")?;
    bench.calls("syscall.null", || getppid() == parent)
}

#[inline(always)]
fn getppid() -> i64 {
    // SAFETY: getppid has no arguments.
    unsafe { libc::syscall(libc::SYS_getppid) }
}
