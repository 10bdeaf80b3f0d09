//! `ipc.sem`: a round trip through two System V semaphores.
//!
//! Timed: raise the peer's semaphore, wait for the own one. Per round trip: four semop calls and, on one CPU, two
//! switches. Proof: the peer counts its turns in shared memory, and they equal the round trips.
//! The set has the run's own key and is removed at the end, by the benchmark or, whatever happens, by the harness.

use std::sync::atomic::Ordering;

use harness::prelude::*;

use crate::shared::SharedBoard;

/// Numbers of the semaphores in the set.
const THEIRS: u16 = 0;
const MINE: u16 = 1;

/// The family.
pub fn benchmarks() -> Vec<Benchmark> {
    crate::placed::round_trip("ipc.sem", false, "A turn to another process and back by SysV semaphores", run)
}

/// A set of two semaphores, removed when dropped.
struct Set(i32);

impl Set {
    fn new(key: i32) -> Result<Self, Stop> {
        // SAFETY: no pointers.
        let set = unsafe { libc::semget(key, 2, libc::IPC_CREAT | libc::IPC_EXCL | 0o600) };
        Ok(Set(cvt("semget", set)?))
    }

    /// Adds `change` to a semaphore, waiting while that would make it negative.
    fn change(&self, number: u16, change: i16) -> bool {
        let mut operation = libc::sembuf { sem_num: number, sem_op: change, sem_flg: 0 };
        // SAFETY: one readable sembuf.
        unsafe { libc::semop(self.0, &raw mut operation, 1) == 0 }
    }
}

impl Drop for Set {
    fn drop(&mut self) {
        // SAFETY: no pointers.
        unsafe { libc::semctl(self.0, 0, libc::IPC_RMID) };
    }
}

fn run(bench: &mut Bench, metric: &str) -> Result<(), Stop> {
    let board = SharedBoard::new()?;
    let set = Set::new(bench.job().ipc_key)?;
    let turns = &board.count[0].0;
    let peer = Peer::spawn(bench.peer_cpu(), || {
        while set.change(THEIRS, -1) {
            turns.fetch_add(1, Ordering::Relaxed);
            if !set.change(MINE, 1) {
                break;
            }
        }
        Ok(())
    })?;
    let mut done = 0u64;
    bench.calls(metric, || {
        done += 1;
        set.change(THEIRS, 1) && set.change(MINE, -1) && turns.load(Ordering::Relaxed) == done
    })?;
    drop(peer);
    Ok(())
}
