//! Latency while other CPUs load the memory: the same random chain, beside threads that read or write at a set pace.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use serde::Serialize;

use crate::backing::distinct_pages;
use crate::sampler::Sampler;

use super::measure::latency_of;
use super::ring::Ring;

/// One load.
#[derive(Clone, Debug, Serialize)]
pub struct Loaded {
    /// `idle` (no load), `read` (loads only) or `read_write` (each line is loaded and stored, so it is read and written back).
    pub mix: &'static str,
    /// Threads that make the load.
    pub threads: usize,
    /// Pause between bursts of 16 lines, in spins; the larger, the lighter the load.
    pub pause: u32,
    /// Traffic the threads made, MB/s; written lines count twice.
    pub mb_per_s: f64,
    /// Latency meanwhile, ns per load, median.
    pub ns: f64,
    /// 90th percentile.
    pub p90: f64,
}

struct Shared {
    stop: AtomicBool,
    ready: AtomicUsize,
    lines: AtomicU64,
}

/// Bytes each load thread sweeps.
const MOST_SWEEP: u64 = 256 << 20;

/// From hardly any traffic to as much as the threads can make, denser where bandwidth is used up.
const PAUSES: [u32; 8] = [4000, 500, 60, 15, 5, 2, 1, 0];

/// Latency through `ring` under each load that `cpus` (other than ours) can make.
pub fn loaded(
    sampler: &mut Sampler,
    ring: &mut Ring,
    cpus: &[usize],
    sweep: u64,
) -> Result<Vec<Loaded>, String> {
    if cpus.is_empty() {
        return Err("one CPU only: nothing can load the memory meanwhile".into());
    }
    let (ns, _, p90) = latency_of(sampler, ring);
    let mut rows = vec![Loaded { mix: "idle", threads: 0, pause: 0, mb_per_s: 0.0, ns, p90 }];
    for mix in ["read", "read_write"] {
        for pause in PAUSES {
            rows.push(row(sampler, ring, cpus, sweep.min(MOST_SWEEP), mix, pause)?);
        }
    }
    Ok(rows)
}

fn row(
    sampler: &mut Sampler,
    ring: &mut Ring,
    cpus: &[usize],
    sweep: u64,
    mix: &'static str,
    pause: u32,
) -> Result<Loaded, String> {
    let shared = Arc::new(Shared {
        stop: AtomicBool::new(false),
        ready: AtomicUsize::new(0),
        lines: AtomicU64::new(0),
    });
    let each = (sweep as usize / cpus.len()).next_multiple_of(4096).max(1 << 20);
    let mut threads = Vec::new();
    for &cpu in cpus {
        let theirs = Arc::clone(&shared);
        let spawned = std::thread::Builder::new()
            .spawn(move || generate(&theirs, cpu, each, mix == "read_write", pause));
        match spawned {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                shared.stop.store(true, Ordering::Relaxed);
                threads.into_iter().for_each(|t| drop(t.join()));
                return Err(format!("a load thread: {error}"));
            }
        }
    }
    while shared.ready.load(Ordering::Acquire) < threads.len() && !threads.iter().any(|t| t.is_finished()) {
        std::thread::yield_now();
    }
    let (lines, start) = (shared.lines.load(Ordering::Relaxed), sampler.clock.stamp());
    let (middle, _, p90) = latency_of(sampler, ring);
    let ns = sampler.clock.ns(sampler.clock.stamp().saturating_sub(start));
    let moved = (shared.lines.load(Ordering::Relaxed) - lines) as f64 * 64.0;
    shared.stop.store(true, Ordering::Relaxed);
    let count = threads.len();
    for thread in threads {
        thread.join().map_err(|_| "a load thread panicked".to_owned())??;
    }
    let factor = if mix == "read_write" { 2.0 } else { 1.0 };
    Ok(Loaded { mix, threads: count, pause, mb_per_s: moved * factor / ns * 1000.0, ns: middle, p90 })
}

/// Sweeps its own buffer until told to stop, counting lines.
fn generate(shared: &Shared, cpu: usize, bytes: usize, write: bool, pause: u32) -> Result<(), String> {
    harness::pin_to(&[cpu])?;
    let buffer = distinct_pages(bytes).map_err(|e| e.to_string())?;
    shared.ready.fetch_add(1, Ordering::Release);
    let mut at = 0;
    while !shared.stop.load(Ordering::Relaxed) {
        for _ in 0..16 {
            let place = buffer.base().wrapping_add(at).cast::<u64>();
            // SAFETY: in the buffer, which only this thread uses.
            unsafe {
                let value = place.read_volatile();
                if write {
                    place.write_volatile(value + 1);
                }
            }
            at = if at + 64 >= bytes { 0 } else { at + 64 };
        }
        shared.lines.fetch_add(16, Ordering::Relaxed);
        for _ in 0..pause {
            std::hint::spin_loop();
        }
    }
    Ok(())
}
