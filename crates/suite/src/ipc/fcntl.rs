//! `ipc.fcntl`: two processes hand each other POSIX record locks.
//!
//! Timed: two processes walk round three bytes of a file; each waits for a write lock on the next byte, then
//! unlocks the one it leaves. With two walkers on three bytes neither can pass the other, so they step in turns
//! (the scheme of Samba's `ping_pong`). Per round trip, which is one step of each: four fcntl calls and, on one CPU,
//! two switches. The file is in memory (memfd): the kernel's lock code without a file system's.
//! Proof: the peer counts its steps in shared memory; they never differ from ours by more than one.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::Ordering;

use harness::prelude::*;

use crate::shared::SharedBoard;

/// Bytes walked round.
const BYTES: i64 = 3;

/// The family.
pub fn benchmarks() -> Vec<Benchmark> {
    crate::placed::round_trip(
        "ipc.fcntl",
        false,
        "One step each of two processes that wait for each other's POSIX record locks on a memfd",
        run,
    )
}

/// One walker: holds the lock on byte `at`.
struct Walker<'a> {
    file: &'a OwnedFd,
    at: i64,
}

impl Walker<'_> {
    fn step(&mut self) -> bool {
        let next = (self.at + 1) % BYTES;
        let done = lock(self.file, libc::F_WRLCK, next) && lock(self.file, libc::F_UNLCK, self.at);
        self.at = next;
        done
    }
}

/// Locks or unlocks one byte, waiting for it.
fn lock(file: &OwnedFd, kind: i32, byte: i64) -> bool {
    // SAFETY: an all-zero flock is valid.
    let mut range: libc::flock = unsafe { std::mem::zeroed() };
    range.l_type = kind as libc::c_short;
    range.l_whence = libc::SEEK_SET as libc::c_short;
    range.l_start = byte;
    range.l_len = 1;
    // SAFETY: range lives through the call.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLKW, &raw const range) == 0 }
}

fn run(bench: &mut Bench, metric: &str) -> Result<(), Stop> {
    let board = SharedBoard::new()?;
    let file = rustix::fs::memfd_create(c"tlbench-locks", rustix::fs::MemfdFlags::CLOEXEC)
        .map_err(|e| Stop::unavailable("memfd_create", &std::io::Error::from(e)))?;
    let (ready_from, ready_to) = super::pipe::pipe()?;
    check(lock(&file, libc::F_WRLCK, 0), "the first record lock")?;
    let steps = &board.count[0].0;
    let peer = Peer::spawn(bench.peer_cpu(), || {
        // Locks are not inherited: this side takes its own before the other starts to walk.
        check(lock(&file, libc::F_WRLCK, 1), "the peer's first record lock")?;
        check(rustix::io::write(&ready_to, &[1]) == Ok(1), "telling that the peer is ready")?;
        let mut walker = Walker { file: &file, at: 1 };
        while walker.step() {
            steps.fetch_add(1, Ordering::Relaxed);
        }
        Err(Stop::fail("a record lock was refused"))
    })?;
    drop(ready_to);
    check(rustix::io::read(&ready_from, &mut [0]) == Ok(1), "the peer did not get its first lock")?;
    let mut walker = Walker { file: &file, at: 0 };
    let mut done = 0u64;
    bench.calls(metric, || {
        done += 1;
        walker.step() && steps.load(Ordering::Relaxed).abs_diff(done) <= 1
    })?;
    drop(peer);
    Ok(())
}
