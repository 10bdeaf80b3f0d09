//! `poll.file.N`, `poll.tcp.N` and their `.block`: N descriptors asked for input by poll.
//!
//! Timed: a raw `ppoll` over N entries. Per call. Without suffix: none is ready and the time limit is zero. `.block`: no
//! time limit and only the last one ready, so that every wait queue is entered and left; the call does not come to sleep.
//! Proof: every call returns 0, or 1 with POLLIN in the last entry.

use harness::prelude::*;

use super::{Kind, each_size, family};

/// The benchmark of one kind of descriptor.
pub fn benchmark(kind: Kind) -> Benchmark {
    family("poll", kind, run)
}

fn run(bench: &mut Bench, kind: Kind) -> Result<(), Stop> {
    each_size(bench, "poll", kind, |bench, metric, fds, block| {
        let mut asked: Vec<libc::pollfd> =
            fds.iter().map(|&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
        let expected = if block { libc::POLLIN } else { 0 };
        bench.calls(metric, || {
            poll(&mut asked, block) == i64::from(block)
                && asked.last().is_some_and(|last| last.revents == expected)
        })
    })
}

/// Entries with an event, with no time limit or a zero one.
#[inline(always)]
fn poll(asked: &mut [libc::pollfd], block: bool) -> i64 {
    let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let none = std::ptr::null::<libc::timespec>();
    let limit = if block { none } else { &raw const zero };
    // SAFETY: asked holds as many entries as told; there is no signal mask; a zero time limit is not written to.
    unsafe { libc::syscall(libc::SYS_ppoll, asked.as_mut_ptr(), asked.len(), limit, 0usize, 0usize) }
}
