//! `ctx.yield.2p`, `ctx.yield.2t`: two processes, and two threads of one process, that give each other the CPU.
//!
//! Timed: `sched_yield` in a loop while a second process (or thread) on the same CPU does the same. Per switch really
//! made: the scheduler may let the caller go on, so switches are counted (getrusage), not calls; each is followed by
//! one back. Nothing else is in the number: no pipe, no sleep, no wake-up. `.2t` switches no address space.
//! Proof: there were switches, and both sides have yielded.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use harness::prelude::*;

use crate::shared::{Board, SharedBoard};
use crate::switches;

/// Both benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    let yielding = |name: &'static str, between: &str, run: fn(&mut Bench) -> Result<(), Stop>| {
        let doc = format!("A switch by sched_yield between {between} on one CPU, per switch counted.");
        Benchmark::new(name, run).metric(time(name, "switch", doc).blocking())
    };
    vec![
        yielding("ctx.yield.2p", "two processes", between_processes),
        yielding("ctx.yield.2t", "two threads of one process", between_threads),
    ]
}

fn between_processes(bench: &mut Bench) -> Result<(), Stop> {
    let board = SharedBoard::new()?;
    let peer = Peer::spawn(bench.job().cpus.first().copied(), || {
        loop {
            step(&board);
        }
    })?;
    measure(bench, "ctx.yield.2p", &board)?;
    drop(peer);
    Ok(())
}

fn between_threads(bench: &mut Bench) -> Result<(), Stop> {
    let board = SharedBoard::new()?;
    let stop = AtomicBool::new(false);
    // The other thread has a mapping to itself counted by `Board`, which is shared either way.
    let other: &Board = &board;
    thread::scope(|scope| {
        let started = thread::Builder::new().spawn_scoped(scope, || {
            while !stop.load(Ordering::Relaxed) {
                step(other);
            }
        });
        let measured = match started {
            Ok(_) => measure(bench, "ctx.yield.2t", &board),
            Err(error) => Err(Stop::unavailable("starting a thread", &error)),
        };
        stop.store(true, Ordering::Relaxed);
        measured
    })
}

/// The other side: counts, and offers the CPU.
fn step(board: &Board) {
    board.count[0].0.fetch_add(1, Ordering::Relaxed);
    // SAFETY: no arguments.
    unsafe { libc::syscall(libc::SYS_sched_yield) };
}

fn measure(bench: &mut Bench, metric: &str, board: &Board) -> Result<(), Stop> {
    if harness::allowed_cpus().is_ok_and(|cpus| cpus.len() > 1) {
        return Err(Stop::skip("not pinned: the two sides would not share a CPU"));
    }
    let steps = &board.count[0].0;
    let at_first = steps.load(Ordering::Relaxed);
    bench.measure(metric, |yields, timer| {
        let before = switches::all(libc::RUSAGE_THREAD);
        timer.time(|| {
            for _ in 0..yields {
                // SAFETY: no arguments.
                unsafe { libc::syscall(libc::SYS_sched_yield) };
            }
        });
        let away = switches::all(libc::RUSAGE_THREAD) - before;
        // Each switch away is followed by one back; a batch too short for one tells nothing and counts its calls.
        timer.worked((2 * away).max(1) as f64);
        Ok(())
    })?;
    check(steps.load(Ordering::Relaxed) > at_first, "the other side did not yield")
}
