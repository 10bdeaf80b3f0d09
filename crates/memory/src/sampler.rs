//! How a point is sampled: chunks, their number, the core clock beside them, and real-time bursts when asked for.

use std::time::{Duration, Instant};

use harness::{Clock, Urgent};

use crate::kernel::{MULTIPLY_CYCLES, multiply_chain};
use crate::recording::{Batch, Request};

/// Fewest accesses in a chunk.
const CHUNK: usize = 1024;
/// Chunks of passes shorter than this are so many passes, each begun by a pass that is not timed: what the book-keeping
/// between two chunks touched (stack, clock page, list of times) took entries that a nearly full table misses for a
/// whole pass, which then is a small part of the chunk.
const SHORT_PASS: usize = 1100;
const SHORT_PASSES: usize = 3;
/// Longer passes warm up for so long: a full table with random victims comes to rest over a dozen passes only.
const COME_TO_REST: Duration = Duration::from_micros(400);
/// Time spent per batch, and at most.
const SPEND: Duration = Duration::from_micros(400);
const MOST: Duration = Duration::from_millis(50);
/// Fewest and most chunks of a batch.
const FEWEST_CHUNKS: usize = 5;
const MOST_CHUNKS: usize = 60;
/// Fewest chunks of each slice.
const FEWEST_PASSES: usize = 3;
/// A batch beside which the core clock moved by more than this share is taken again, this often.
const CLOCK_MOVED: f64 = 0.02;
const RETRIES: u32 = 2;
/// Longest time at real-time priority in one go.
const BURST: Duration = Duration::from_millis(20);

/// Takes batches.
#[derive(Clone, Debug)]
pub struct Sampler {
    /// The clock.
    pub clock: Clock,
    /// Real-time priority in bursts.
    pub real_time: bool,
    /// Batches dropped because the core clock moved.
    pub dropped: u32,
}

impl Sampler {
    /// A sampler at normal priority.
    pub fn new(clock: Clock) -> Self {
        Sampler { clock, real_time: false, dropped: 0 }
    }

    /// One core clock cycle now, ns: the shortest of three short multiply chains.
    pub fn cycle_ns(&self) -> f64 {
        const ROUNDS: u64 = 250;
        let shortest = (0..3)
            .map(|_| {
                let start = self.clock.stamp();
                multiply_chain(ROUNDS);
                self.clock.stamp().saturating_sub(start)
            })
            .min()
            .unwrap_or(0);
        (self.clock.ns(shortest) - self.clock.cost_ns).max(1.0) / (ROUNDS * 8) as f64 / MULTIPLY_CYCLES
    }

    /// Times chunks of `pass`, which makes `per_pass` accesses per call. One pass warms up. Chunks are of whole passes
    /// and at least 1024 accesses; a batch is about 0.4 ms of them, at least five, at most 50 ms.
    pub fn batch(&mut self, request: Request, round: u32, per_pass: usize, pass: impl FnMut()) -> Batch {
        self.sliced(request, round, (per_pass, 1), pass)
    }

    /// As [`Sampler::batch`] where a pass is walked in slices, one per call, each so many accesses: long passes are more
    /// often disturbed than not. Slices may differ in what they cost, so that each chunk is the mean over all slices, of
    /// those chunks that came equally fast among the ones of their slice.
    pub fn sliced(
        &mut self,
        request: Request,
        round: u32,
        (per_slice, slices): (usize, usize),
        mut slice: impl FnMut(),
    ) -> Batch {
        let mut tries = 0;
        loop {
            let before = self.cycle_ns();
            let mut batch = self.chunks(request, round, (per_slice, slices), &mut slice);
            batch.chunk_ns = over_slices(&batch.chunk_ns, slices);
            let after = self.cycle_ns();
            batch.cycle_ns = before.min(after);
            let moved = (before / after - 1.0).abs() > CLOCK_MOVED;
            if !moved || tries == RETRIES {
                return batch;
            }
            tries += 1;
            self.dropped += 1;
        }
    }

    fn chunks(
        &self,
        request: Request,
        round: u32,
        (per_pass, slices): (usize, usize),
        pass: &mut impl FnMut(),
    ) -> Batch {
        let fewest = FEWEST_CHUNKS.max(FEWEST_PASSES * slices);
        let most = MOST_CHUNKS.max(fewest);
        let switches = involuntary_switches();
        // The first pass may fault pages in and take long: outside the burst, and outside the batch's time.
        pass();
        let settle = per_pass < SHORT_PASS;
        let warmed = Instant::now();
        while !settle && warmed.elapsed() < COME_TO_REST {
            pass();
        }
        let burst = self.real_time.then(Urgent::start).flatten();
        let started = Instant::now();
        let mut passes = CHUNK.div_ceil(per_pass.max(1));
        let warm = self.clock.stamp();
        for _ in 0..passes {
            pass();
        }
        let once = self.clock.ns(self.clock.stamp().saturating_sub(warm)).max(1.0);
        // Longer chunks rather than more of them where a chunk is short.
        let stretch = SPEND.as_nanos() as f64 / once / MOST_CHUNKS as f64;
        passes *= stretch.floor().max(1.0) as usize;
        if settle {
            passes = passes.max(SHORT_PASSES);
        }
        let accesses = passes * per_pass;
        let limit = if burst.is_some() { BURST } else { MOST };
        let mut chunk_ns = Vec::with_capacity(most);
        while chunk_ns.len() < most {
            let spent = started.elapsed();
            let enough = spent > limit || (spent > SPEND && chunk_ns.len() >= fewest);
            if enough && !chunk_ns.is_empty() {
                break;
            }
            if settle {
                pass();
            }
            let start = self.clock.stamp();
            for _ in 0..passes {
                pass();
            }
            let ticks = self.clock.stamp().saturating_sub(start);
            let ns = (self.clock.ns(ticks) - self.clock.cost_ns) / accesses as f64;
            chunk_ns.push(rounded(ns.max(0.0)));
        }
        drop(burst);
        Batch {
            request,
            round,
            accesses: accesses as u32,
            cycle_ns: 0.0,
            switches: (involuntary_switches() - switches) as u32,
            sentinel: None,
            chunk_ns,
        }
    }
}

/// Chunk i is of slice i modulo `slices`: the means over slices of the fastest chunks, of the second fastest and so on;
/// all chunks when a slice has none.
fn over_slices(chunks: &[f32], slices: usize) -> Vec<f32> {
    if slices < 2 || chunks.len() < slices {
        return chunks.to_vec();
    }
    let of_slice = |slice: usize| {
        let mut own: Vec<f32> = chunks.iter().copied().skip(slice).step_by(slices).collect();
        own.sort_by(f32::total_cmp);
        own
    };
    let by_slice: Vec<Vec<f32>> = (0..slices).map(of_slice).collect();
    let mean = |rank: usize| {
        let sum: f64 = by_slice.iter().map(|own| f64::from(own[rank])).sum();
        rounded(sum / slices as f64)
    };
    (0..chunks.len() / slices).map(mean).collect()
}

/// To four digits: what follows is below the clock's resolution and only makes files longer.
fn rounded(ns: f64) -> f32 {
    if ns <= 0.0 {
        return 0.0;
    }
    let scale = 10f64.powf(3.0 - ns.log10().floor());
    ((ns * scale).round() / scale) as f32
}

fn involuntary_switches() -> i64 {
    // SAFETY: an all-zero rusage is valid, and the call fills it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage.ru_nivcsw
    }
}

/// Why real-time bursts can't be had; `None` when they can.
pub fn real_time_refusal() -> Option<String> {
    match Urgent::start() {
        Some(_) => None,
        None => Some(format!("SCHED_FIFO: {}", std::io::Error::last_os_error())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_that_differ_count_alike() {
        // Two slices of 10 and 30 ns, one chunk of each disturbed.
        let chunks = [10.0, 30.0, 55.0, 30.0, 10.0, 90.0, 10.0];
        assert_eq!(over_slices(&chunks, 2), [20.0, 20.0, 50.0]);
        assert_eq!(over_slices(&chunks, 1), chunks);
        assert_eq!(over_slices(&chunks[..1], 2), [10.0]);
    }
}
