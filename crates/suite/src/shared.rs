//! A page of counters that a benchmark shares with its peer process.

use std::ops::Deref;
use std::sync::atomic::{AtomicU32, AtomicU64};

use harness::Stop;

/// One value on a cache line of its own.
#[repr(align(128))]
pub struct Line<T>(pub T);

/// What the two sides write to each other.
pub struct Board {
    /// Futex words: 0 is waited for by the peer, 1 by the timed side.
    pub futex: [Line<AtomicU32>; 2],
    /// Counters and time stamps.
    pub count: [Line<AtomicU64>; 4],
}

/// A [`Board`], all zero, in memory that stays shared across a fork.
pub struct SharedBoard {
    board: *mut Board,
}

impl SharedBoard {
    /// Maps it.
    pub fn new() -> Result<Self, Stop> {
        // SAFETY: a fresh anonymous mapping, checked below; page alignment suffices for Board.
        let board = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size_of::<Board>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_POPULATE,
                -1,
                0,
            )
        };
        if board == libc::MAP_FAILED {
            return Err(Stop::unavailable("mapping a shared page", &std::io::Error::last_os_error()));
        }
        Ok(SharedBoard { board: board.cast() })
    }
}

impl Deref for SharedBoard {
    type Target = Board;

    fn deref(&self) -> &Board {
        // SAFETY: mapped in `new`, zero is valid for atomics, and unmapped only in `drop`.
        unsafe { &*self.board }
    }
}

impl Drop for SharedBoard {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, with no reference left.
        unsafe { libc::munmap(self.board.cast(), size_of::<Board>()) };
    }
}
