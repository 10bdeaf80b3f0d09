//! `select.file.N`, `select.tcp.N` and their `.block`: N descriptors in the read set of select.
//!
//! Timed: copying the set (the kernel overwrites it; every caller pays this) and a raw `pselect6` whose first argument
//! is the highest descriptor + 1. Per call. Without suffix: none is ready and the time limit is zero, so the kernel
//! looks at each descriptor once and registers nowhere. `.block`: no time limit and only the last descriptor ready, so
//! the kernel enters each wait queue before it finds the ready one, and leaves them all; it does not come to sleep, so
//! no context switch is in the number.
//! Proof: every call returns 0, or 1 with the bit of the last descriptor set.

use harness::prelude::*;

use super::{Kind, each_size, family};

/// The benchmark of one kind of descriptor.
pub fn benchmark(kind: Kind) -> Benchmark {
    family("select", kind, run)
}

fn run(bench: &mut Bench, kind: Kind) -> Result<(), Stop> {
    each_size(bench, "select", kind, |bench, metric, fds, block| {
        let asked = set_of(fds);
        let nfds = fds.iter().max().map_or(0, |most| most + 1);
        let last = set_of(&fds[fds.len() - 1..]);
        let mut set = asked.clone();
        bench.note(metric, "nfds", nfds);
        bench.calls(metric, || {
            set.copy_from_slice(&asked);
            if select(nfds, &mut set, block) != i64::from(block) {
                return false;
            }
            !block || set.last() == last.last()
        })
    })
}

/// The bits of `fds`, up to the highest.
fn set_of(fds: &[i32]) -> Vec<libc::c_ulong> {
    let bits = libc::c_ulong::BITS as usize;
    let most = fds.iter().max().map_or(0, |&fd| fd as usize);
    let mut set = vec![0; most / bits + 1];
    for &fd in fds {
        set[fd as usize / bits] |= 1 << (fd as usize % bits);
    }
    set
}

/// Descriptors ready for reading, with no time limit or a zero one.
#[inline(always)]
fn select(nfds: i32, set: &mut [libc::c_ulong], block: bool) -> i64 {
    let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let none = std::ptr::null::<libc::timespec>();
    let limit = if block { none } else { &raw const zero };
    // SAFETY: set holds nfds bits; the other sets and the signal mask are absent; a zero time limit is not written to.
    unsafe { libc::syscall(libc::SYS_pselect6, nfds, set.as_mut_ptr(), 0usize, 0usize, limit, 0usize) }
}
