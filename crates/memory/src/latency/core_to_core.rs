//! How long a line takes from one core to another: two threads, fresh lines for every pair.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use environment::Topology;
use harness::Clock;
use serde::Serialize;

use crate::recording::quantile;

/// One pair of CPUs.
#[derive(Clone, Debug, Serialize)]
pub struct PairLatency {
    /// First CPU; times are taken here.
    pub a: usize,
    /// Second CPU.
    pub b: usize,
    /// How they are placed: `smt`, `core`, `xllc` or `node`.
    pub placement: Option<&'static str>,
    /// Compare-and-swap in turn on one line, ns one way.
    pub cas_ns: Option<f64>,
    /// A message and its answer on a line each, ns one way.
    pub message_ns: Option<f64>,
    /// Why a number is missing.
    pub reason: Option<String>,
}

/// Round trips per chunk, and chunks.
const TRIPS: u64 = 200;
const CHUNKS: usize = 60;
/// A pair that has not finished by then is given up: its threads do not run at the same time.
const PATIENCE: Duration = Duration::from_secs(2);

/// A word in a line of its own (and in the pair of lines adjacent-line prefetchers fetch).
#[repr(align(128))]
#[derive(Default)]
struct Word(AtomicU64);

#[derive(Default)]
struct Shared {
    there: Word,
    back: Word,
    stop: AtomicBool,
}

/// Every pair of `cpus`, at most `most` pairs (nearest classes are all represented first).
pub fn matrix(clock: &Clock, topology: &Topology, cpus: &[usize], most: usize) -> Vec<PairLatency> {
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (i, &a) in cpus.iter().enumerate() {
        pairs.extend(cpus[i + 1..].iter().map(|&b| (a, b)));
    }
    if pairs.len() > most {
        // A few of each class instead of the first CPU's row only.
        pairs.sort_by_key(|&(a, b)| topology.placement(a, b));
        let step = pairs.len().div_ceil(most);
        pairs = pairs.into_iter().step_by(step).collect();
    }
    pairs.into_iter().map(|(a, b)| pair(clock, topology, a, b)).collect()
}

fn pair(clock: &Clock, topology: &Topology, a: usize, b: usize) -> PairLatency {
    let mut row = PairLatency {
        a,
        b,
        placement: topology.placement(a, b).map(|p| p.as_str()),
        cas_ns: None,
        message_ns: None,
        reason: None,
    };
    for cas in [true, false] {
        match trips(clock, a, b, cas) {
            Ok(ns) if cas => row.cas_ns = Some(ns),
            Ok(ns) => row.message_ns = Some(ns),
            Err(reason) => row.reason = Some(reason),
        }
    }
    row
}

/// ns one way.
fn trips(clock: &Clock, a: usize, b: usize, cas: bool) -> Result<f64, String> {
    let shared = Arc::new(Shared::default());
    let other = {
        let shared = Arc::clone(&shared);
        std::thread::Builder::new()
            .spawn(move || {
                let pinned = harness::pin_to(&[b]);
                if pinned.is_ok() {
                    answer(&shared, cas);
                }
                pinned
            })
            .map_err(|e| format!("a thread: {e}"))?
    };
    let clock = *clock;
    let result = {
        let shared = Arc::clone(&shared);
        std::thread::Builder::new()
            .spawn(move || {
                harness::pin_to(&[a])?;
                ask(&clock, &shared, cas)
            })
            .map_err(|e| format!("a thread: {e}"))
            .and_then(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?)
    };
    shared.stop.store(true, Ordering::Relaxed);
    other.join().map_err(|_| "a thread panicked".to_owned())??;
    result
}

/// Even turns are the asker's, odd ones the answerer's.
fn ask(clock: &Clock, shared: &Shared, cas: bool) -> Result<f64, String> {
    let deadline = Instant::now() + PATIENCE;
    let mut turn = 0u64;
    let mut times = Vec::with_capacity(CHUNKS);
    for _ in 0..CHUNKS {
        let start = clock.stamp();
        for _ in 0..TRIPS {
            let mut spins = 0u32;
            let mut waited = || {
                spins += 1;
                if spins.is_multiple_of(1 << 16) && Instant::now() > deadline {
                    return Err("the two threads did not run at the same time".to_owned());
                }
                spin_loop();
                Ok(())
            };
            if cas {
                while shared
                    .there
                    .0
                    .compare_exchange_weak(turn, turn + 1, Ordering::AcqRel, Ordering::Relaxed)
                    .is_err()
                {
                    waited()?;
                }
            } else {
                shared.there.0.store(turn + 1, Ordering::Release);
                while shared.back.0.load(Ordering::Acquire) != turn + 2 {
                    waited()?;
                }
            }
            turn += 2;
        }
        times.push(clock.ns(clock.stamp().saturating_sub(start)) / TRIPS as f64 / 2.0);
    }
    times.sort_by(f64::total_cmp);
    Ok(quantile(&times, 0.25))
}

fn answer(shared: &Shared, cas: bool) {
    let mut turn = 1u64;
    while !shared.stop.load(Ordering::Relaxed) {
        if cas {
            if shared
                .there
                .0
                .compare_exchange_weak(turn, turn + 1, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
            {
                turn += 2;
            }
        } else if shared.there.0.load(Ordering::Acquire) == turn {
            shared.back.0.store(turn + 1, Ordering::Release);
            turn += 2;
        }
        spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_trip_is_answered() {
        let clock = Clock::calibrate(None);
        for cas in [true, false] {
            let shared = Shared::default();
            std::thread::scope(|scope| {
                scope.spawn(|| answer(&shared, cas));
                let asked = ask(&clock, &shared, cas);
                shared.stop.store(true, Ordering::Relaxed);
                let turns = shared.there.0.load(Ordering::Relaxed);
                let all = CHUNKS as u64 * TRIPS * 2;
                match asked {
                    Ok(ns) => assert!(ns > 0.0 && turns >= all - 1, "{ns} ns, {turns} turns"),
                    Err(reason) => eprintln!("skipped: {reason}"),
                }
            });
        }
    }
}
