//! Threads that do nothing but read the clock, and so know what is taken from them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use harness::Clock;
use harness::prelude::*;

/// A gap between two clock reads longer than this many times the shortest one is time lost.
const GAP_FACTOR: u64 = 8;
/// Longest wait for a thread to be running, ns.
const PATIENCE_NS: f64 = 500e6;

/// What one thread shows of itself; on cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Seen {
    /// Rounds of its loop.
    rounds: AtomicU64,
    /// Clock ticks lost in gaps.
    lost: AtomicU64,
}

/// What all spinning threads show of themselves.
pub(super) struct Spinners {
    seen: Vec<Seen>,
    clock: Clock,
}

impl Spinners {
    /// Room for `threads` of them.
    pub(super) fn new(threads: usize, clock: Clock) -> Spinners {
        Spinners { seen: (0..threads).map(|_| Seen::default()).collect(), clock }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.seen.len()
    }

    /// The work of thread `index`, until `stop` is set.
    pub(super) fn spin(&self, index: usize, stop: &AtomicBool) {
        let seen = &self.seen[index];
        let mut shortest = u64::MAX;
        let mut last = self.clock.stamp();
        let (mut lost, mut rounds) = (0, 0);
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.stamp();
            let gap = now.saturating_sub(last);
            last = now;
            shortest = shortest.min(gap.max(1));
            if gap > shortest * GAP_FACTOR {
                lost += gap - shortest;
                seen.lost.store(lost, Ordering::Relaxed);
            }
            rounds += 1;
            seen.rounds.store(rounds, Ordering::Relaxed);
        }
    }

    /// Ticks all of them have lost so far.
    pub(super) fn lost_ticks(&self) -> u64 {
        self.seen.iter().map(|seen| seen.lost.load(Ordering::Relaxed)).sum()
    }

    /// Returns when each one has made two more rounds: it is on its CPU, and any gap that has ended is counted.
    pub(super) fn wait_until_running(&self) -> Result<(), Stop> {
        let start = self.clock.stamp();
        for seen in &self.seen {
            let before = seen.rounds.load(Ordering::Relaxed);
            while seen.rounds.load(Ordering::Relaxed) < before + 2 {
                if self.clock.ns(self.clock.stamp().saturating_sub(start)) > PATIENCE_NS {
                    return Err(Stop::skip(
                        "a thread beside the caller did not get its CPU for half a second",
                    ));
                }
                std::hint::spin_loop();
            }
        }
        Ok(())
    }
}
