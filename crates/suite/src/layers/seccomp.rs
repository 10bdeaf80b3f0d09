//! `syscall.null.seccomp`, `syscall.null.seccomp_bitmap`: a null call with a seccomp filter installed.
//!
//! Timed: raw `getppid` calls after the worker has given itself a filter that allows everything. The first filter
//! looks at an argument, so the kernel runs its BPF program on every call; the second looks at the call's number
//! only, which kernels since 5.11 answer from a bitmap without running it. Per call; `.added` is the difference to
//! the bare call of the same process. Installing a filter may also switch on speculation mitigations for the
//! process (`prctl(2)`, PR_SET_SPECULATION_CTRL): that belongs to the number. A filter that was there before stays.
//! Proof: `/proc/thread-self/status` counts one filter more, and every call returns the parent.

use environment::Root;
use harness::prelude::*;

use super::{bare_ns, layered, measure};

/// Offsets in `struct seccomp_data` (linux/seccomp.h).
const NUMBER: u32 = 0;
const FIRST_ARGUMENT: u32 = 16;

/// Both benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    let argument = ["syscall.null.seccomp", "syscall.null.seccomp.added"];
    let number = ["syscall.null.seccomp_bitmap", "syscall.null.seccomp_bitmap.added"];
    vec![
        layered(
            argument[0],
            argument[1],
            "under a seccomp filter that looks at an argument, so that it runs on every call",
            move |bench| run(bench, argument, FIRST_ARGUMENT),
        ),
        layered(
            number[0],
            number[1],
            "under a seccomp filter that looks at the call number only (a bitmap look-up since Linux 5.11)",
            move |bench| run(bench, number, NUMBER),
        ),
    ]
}

fn run(bench: &mut Bench, [name, added]: [&'static str; 2], looks_at: u32) -> Result<(), Stop> {
    let before = filters();
    let bare = bare_ns(bench);
    install(looks_at)?;
    if let (Some(before), Some(after)) = (before, filters()) {
        check(after == before + 1, "no seccomp filter was added")?;
    }
    measure(bench, name, added, bare).map(|_| ())
}

/// Seccomp filters of this thread, where the kernel tells (since 5.9).
fn filters() -> Option<u32> {
    Root::host().keyed("/proc/thread-self/status", "Seccomp_filters").ok()?.parse().ok()
}

/// A filter that loads one word and allows whatever it is. It lasts as long as this process.
fn install(looks_at: u32) -> Result<(), Stop> {
    let load = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let jump = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let ret = (libc::BPF_RET | libc::BPF_K) as u16;
    let allow = libc::SECCOMP_RET_ALLOW;
    let mut filter = [
        libc::sock_filter { code: load, jt: 0, jf: 0, k: looks_at },
        libc::sock_filter { code: jump, jt: 0, jf: 1, k: 0x7fff_fff0 },
        libc::sock_filter { code: ret, jt: 0, jf: 0, k: allow },
        libc::sock_filter { code: ret, jt: 0, jf: 0, k: allow },
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: no pointers.
    cvt("PR_SET_NO_NEW_PRIVS", unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
    // SAFETY: program points to four valid instructions that live through the call.
    let set =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) };
    match cvt("seccomp", set) {
        Err(Stop::Fail(reason)) => Err(Stop::Skip(format!("no seccomp filters here: {reason}"))),
        result => result.map(|_| ()),
    }
}
