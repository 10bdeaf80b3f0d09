//! `uring.nop`: the least a request through io_uring costs.
//!
//! Timed: put a NOP in the submission queue, `io_uring_enter` to submit it and wait for it, take its completion. Per
//! request: one system call. `.defer` is the same on a ring with DEFER_TASKRUN. `uring.nop.batch8` submits eight at
//! a time, per request. Proof: every completion has the number of its request and result 0.

use harness::prelude::*;
use io_uring::{IoUring, opcode};

use super::ring;

/// The family.
pub fn benchmarks() -> Vec<Benchmark> {
    let one = "A NOP submitted to an io_uring and its completion taken, one request per io_uring_enter";
    vec![
        nop("uring.nop", format!("{one}."), false, 1),
        nop("uring.nop.defer", format!("{one}, on a ring with DEFER_TASKRUN."), true, 1),
        nop(
            "uring.nop.batch8",
            "A NOP submitted to an io_uring and its completion taken, eight requests per io_uring_enter."
                .into(),
            false,
            8,
        ),
    ]
}

fn nop(name: &'static str, doc: String, defer: bool, at_once: u64) -> Benchmark {
    Benchmark::new(name, move |bench| run(bench, name, defer, at_once)).metric(time(name, "request", doc))
}

fn run(bench: &mut Bench, metric: &str, defer: bool, at_once: u64) -> Result<(), Stop> {
    let mut ring = ring(defer)?;
    let mut number = 0u64;
    bench.measure(metric, |enters, timer| {
        let done = timer.time(|| (0..enters).all(|_| submit(&mut ring, &mut number, at_once)));
        timer.worked((enters * at_once) as f64);
        check(done, "a NOP did not complete")
    })
}

fn submit(ring: &mut IoUring, number: &mut u64, at_once: u64) -> bool {
    let first = *number;
    for user_data in first..first + at_once {
        let entry = opcode::Nop::new().build().user_data(user_data);
        // SAFETY: a NOP refers to no memory.
        if unsafe { ring.submission().push(&entry) }.is_err() {
            return false;
        }
    }
    *number += at_once;
    if ring.submit_and_wait(at_once as usize).is_err() {
        return false;
    }
    let mut completions = ring.completion();
    (first..first + at_once)
        .all(|user_data| completions.next().is_some_and(|c| c.user_data() == user_data && c.result() == 0))
}
