//! `ctx.pipe.2t.0k`: the token ring of `ctx.pipe.2p.0k` between two threads of one process.
//!
//! Timed: as there, with both sides in one address space, so that a switch changes no page table. Per switch.
//! Proof: the token counts its hops, and the process was switched (getrusage) at least once per hop.

use std::thread;

use harness::prelude::*;

use super::pipe_ring::{Place, go_round, sit};
use crate::ipc::pipe::pipe;
use crate::switches;

const NAME: &str = "ctx.pipe.2t.0k";

/// The benchmark.
pub fn benchmark() -> Benchmark {
    let doc = "A token's hop to the other of two threads of one process, on one CPU, through a pipe.";
    Benchmark::new(NAME, run).metric(time(NAME, "switch", doc).blocking())
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let (ours, theirs) = (pipe()?, pipe()?);
    let place = Place::between(ours.0, theirs.1);
    let other = Place::between(theirs.0, ours.1);
    let one_cpu = harness::allowed_cpus().is_ok_and(|cpus| cpus.len() == 1);
    let before = switches::all(libc::RUSAGE_SELF);
    let mut hops = 0u64;
    thread::scope(|scope| {
        let started = thread::Builder::new().spawn_scoped(scope, move || sit(&other));
        let other = started.map_err(|e| Stop::unavailable("starting a thread", &e));
        let measured = other.and_then(|other| measure(bench, &place, &mut hops).map(|()| other));
        // The other thread sees the end of the ring, and leaves.
        drop(place);
        measured?.join().map_err(|_| Stop::fail("the other thread ended early"))?
    })?;
    let switched = switches::all(libc::RUSAGE_SELF) - before;
    bench.note(NAME, "switches_per_hop", switched as f64 / hops as f64);
    check(!one_cpu || switched >= hops, &format!("{hops} hops, but only {switched} context switches"))
}

fn measure(bench: &mut Bench, place: &Place, hops: &mut u64) -> Result<(), Stop> {
    let mut token = 0u32;
    bench.measure(NAME, |laps, timer| {
        let expected = token.wrapping_add(2 * laps as u32);
        timer.time(|| go_round(place, &mut token, laps))?;
        check(token == expected, "the token did not count its hops")?;
        timer.worked(2.0 * laps as f64);
        *hops += 2 * laps;
        Ok(())
    })
}
