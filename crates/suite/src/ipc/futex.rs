//! `ipc.futex`: a round trip through two futex words in shared memory.
//!
//! Timed: store the next number in the peer's word and wake it, then wait until the own word holds that number. Per
//! round trip: four futex calls and, on one CPU, two switches. The words are shared between processes, so the
//! kernel looks them up by the page, not by the address (no FUTEX_PRIVATE_FLAG).
//! Proof: the own word holds the number sent, which only the peer writes there.
//! Pitfalls: across CPUs a fast answer may come before the wait, which then does not sleep; the voluntary switches
//! in the record's witness show how often.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use harness::prelude::*;

use crate::shared::SharedBoard;

/// The family.
pub fn benchmarks() -> Vec<Benchmark> {
    crate::placed::round_trip(
        "ipc.futex",
        false,
        "A number to another process and back through two futex words in shared memory",
        run,
    )
}

fn run(bench: &mut Bench, metric: &str) -> Result<(), Stop> {
    let board = SharedBoard::new()?;
    let (theirs, mine) = (&board.futex[0].0, &board.futex[1].0);
    wake(theirs)?;
    let peer = Peer::spawn(bench.peer_cpu(), || {
        let mut last = 0;
        loop {
            last = wait_while(theirs, last)?;
            mine.store(last, Ordering::Release);
            wake(mine)?;
        }
    })?;
    let mut token = 0u32;
    bench.calls(metric, || {
        let before = token;
        token = token.wrapping_add(1);
        theirs.store(token, Ordering::Release);
        wake(theirs).is_ok() && wait_while(mine, before).is_ok_and(|now| now == token)
    })?;
    drop(peer);
    Ok(())
}

/// Sleeps until `word` no longer holds `value`; returns what it holds. A refused wait is an error, never a busy loop.
pub fn wait_while(word: &AtomicU32, value: u32) -> Result<u32, Stop> {
    loop {
        let now = word.load(Ordering::Acquire);
        if now != value {
            return Ok(now);
        }
        // SAFETY: word is a live, aligned 32-bit word; no time-out is passed.
        let slept = unsafe {
            let none = std::ptr::null::<libc::timespec>();
            libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, none)
        };
        if slept == -1 {
            let error = io::Error::last_os_error();
            if !matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) {
                return Err(Stop::unavailable("futex wait", &error));
            }
        }
    }
}

/// Wakes the one that sleeps on `word`; the number woken.
pub fn wake(word: &AtomicU32) -> Result<i64, Stop> {
    // SAFETY: word is a live, aligned 32-bit word.
    cvt("futex wake", unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) })
}
