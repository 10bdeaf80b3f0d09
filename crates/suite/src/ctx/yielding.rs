//! `ctx.yield.2p`, `ctx.yield.2t`: two processes, and two threads of one process, that give each other the CPU.
//!
//! Timed: `sched_yield` in a loop while a second process (or thread) on the same CPU does the same. Per switch really
//! made: the scheduler may let the caller go on, so switches are counted (getrusage), not calls; each is followed by
//! one back. Nothing else is in the number: no pipe, no sleep, no wake-up. `.2t` switches no address space.
//! Proof: the other side is at work before the measurement, and yields did switch. On a busy machine some switches go to
//! other tasks; the yields of the other side are in the record.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use harness::prelude::*;

use crate::shared::{Board, SharedBoard};
use crate::switches;
use crate::waiting::becomes;

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
    check(becomes(|| steps.load(Ordering::Relaxed) > 0), "the other side did not run in 10 s")?;
    let mut switched = 0;
    bench.measure(metric, |yields, timer| {
        let before = switches::all(libc::RUSAGE_THREAD);
        timer.time(|| {
            for _ in 0..yields {
                // SAFETY: no arguments.
                unsafe { libc::syscall(libc::SYS_sched_yield) };
            }
        });
        let away = switches::all(libc::RUSAGE_THREAD) - before;
        // Each switch away is followed by one back; a batch without one (in calibration) counts as one.
        timer.worked((2 * away).max(1) as f64);
        switched += away;
        Ok(())
    })?;
    check(switched > 0, "no yield ever switched")?;
    bench.note(metric, "other_side_yields", steps.load(Ordering::Relaxed));
    Ok(())
}
