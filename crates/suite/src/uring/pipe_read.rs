//! `uring.read`, `uring.read.epoll`: one byte that arrives in a pipe, by io_uring and by epoll.
//!
//! Timed, by io_uring: submit a read of the empty pipe (the kernel arms a poll), write the byte, wait for the
//! completion. Timed, by epoll: write the byte, `epoll_wait` until the pipe is readable, read. Per byte; three
//! system calls either way, all in one thread. `.defer` is io_uring with DEFER_TASKRUN.
//! Proof: every byte read is the one written.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use harness::prelude::*;
use io_uring::{IoUring, opcode, types};
use rustix::event::epoll;

use super::ring;
use crate::ipc::pipe::pipe;

/// The family.
pub fn benchmarks() -> Vec<Benchmark> {
    let doc = "A byte through a pipe to a read armed before by io_uring: submit, write, wait";
    let by_ring = |name: &'static str, doc: String, defer| {
        Benchmark::new(name, move |bench| by_ring(bench, name, defer)).metric(time(name, "byte", doc))
    };
    vec![
        by_ring("uring.read", format!("{doc}."), false),
        by_ring("uring.read.defer", format!("{doc}, on a ring with DEFER_TASKRUN."), true),
        Benchmark::new("uring.read.epoll", by_epoll).metric(time(
            "uring.read.epoll",
            "byte",
            "The same byte by epoll: write, epoll_wait, read.",
        )),
    ]
}

fn by_ring(bench: &mut Bench, metric: &str, defer: bool) -> Result<(), Stop> {
    let mut ring = ring(defer)?;
    let (from, to) = pipe()?;
    let mut byte = 0u8;
    bench.calls(metric, || {
        byte = byte.wrapping_add(1);
        through_ring(&mut ring, &from, &to, byte) == Some(byte)
    })
}

fn through_ring(ring: &mut IoUring, from: &OwnedFd, to: &OwnedFd, byte: u8) -> Option<u8> {
    let mut got = 0u8;
    let entry = opcode::Read::new(types::Fd(from.as_raw_fd()), &raw mut got, 1).build();
    // SAFETY: got lives until the completion is taken below; where it never comes, the process aborts first.
    unsafe { ring.submission().push(&entry) }.ok()?;
    ring.submit().ok()?;
    if rustix::io::write(to, &[byte]) != Ok(1) || ring.submit_and_wait(1).is_err() {
        // The kernel may still write to `got`.
        std::process::abort();
    }
    let completion = ring.completion().next()?;
    (completion.result() == 1).then_some(got)
}

fn by_epoll(bench: &mut Bench) -> Result<(), Stop> {
    let (from, to) = pipe()?;
    let unavailable = |e| Stop::unavailable("epoll", &io::Error::from(e));
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(unavailable)?;
    let token = epoll::EventData::new_u64(7);
    epoll::add(&epoll, &from, token, epoll::EventFlags::IN).map_err(unavailable)?;
    let mut byte = 0u8;
    let mut events: [std::mem::MaybeUninit<epoll::Event>; 1] = [std::mem::MaybeUninit::uninit()];
    bench.calls("uring.read.epoll", || {
        byte = byte.wrapping_add(1);
        let mut got = [0u8];
        rustix::io::write(&to, &[byte]) == Ok(1)
            && epoll::wait(&epoll, &mut events, None).is_ok_and(|(ready, _)| ready.len() == 1)
            && rustix::io::read(&from, &mut got) == Ok(1)
            && got[0] == byte
    })
}
