//! Threads that do nothing but read the clock, and so know what is taken from them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use harness::prelude::*;
use harness::{Clock, pin_to};

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
    /// Set when it could not be pinned.
    unpinned: AtomicBool,
}

/// One spinning thread per CPU; stopped and joined when dropped.
pub(in crate::vm) struct Spinners {
    stop: Arc<AtomicBool>,
    seen: Vec<Arc<Seen>>,
    threads: Vec<JoinHandle<()>>,
    clock: Clock,
}

impl Spinners {
    /// Starts one on each of `cpus` and waits until all run.
    pub(in crate::vm) fn start(cpus: &[usize], clock: Clock) -> Result<Spinners, Stop> {
        let mut all =
            Spinners { stop: Arc::new(AtomicBool::new(false)), seen: Vec::new(), threads: Vec::new(), clock };
        for &cpu in cpus {
            let (stop, seen) = (Arc::clone(&all.stop), Arc::new(Seen::default()));
            all.seen.push(Arc::clone(&seen));
            let thread = std::thread::Builder::new()
                .stack_size(64 << 10)
                .spawn(move || spin(cpu, clock, &stop, &seen))
                .map_err(|e| Stop::unavailable("starting a thread", &e))?;
            all.threads.push(thread);
        }
        all.wait_until_running()?;
        if all.seen.iter().any(|seen| seen.unpinned.load(Ordering::Relaxed)) {
            return Err(Stop::skip("a thread can't be pinned beside the caller"));
        }
        Ok(all)
    }

    /// How many there are.
    pub(in crate::vm) fn len(&self) -> usize {
        self.seen.len()
    }

    /// Whether there is none.
    pub(in crate::vm) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Ticks all of them have lost so far.
    pub(in crate::vm) fn lost_ticks(&self) -> u64 {
        self.seen.iter().map(|seen| seen.lost.load(Ordering::Relaxed)).sum()
    }

    /// Returns when each one has made two more rounds: it is on its CPU, and any gap that has ended is counted.
    pub(in crate::vm) fn wait_until_running(&self) -> Result<(), Stop> {
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

fn spin(cpu: usize, clock: Clock, stop: &AtomicBool, seen: &Seen) {
    if pin_to(&[cpu]).is_err() {
        seen.unpinned.store(true, Ordering::Relaxed);
    }
    let mut shortest = u64::MAX;
    let mut last = clock.stamp();
    let mut lost = 0;
    let mut rounds = 0;
    while !stop.load(Ordering::Relaxed) {
        let now = clock.stamp();
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

impl Drop for Spinners {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that panicked has nothing left to stop.
            thread.join().ok();
        }
    }
}
