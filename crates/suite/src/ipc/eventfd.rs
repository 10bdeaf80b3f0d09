//! `ipc.eventfd`: a round trip through two eventfds.
//!
//! Timed: write a value to one eventfd, read the answer from the other. Per round trip: four system calls and, on
//! one CPU, two switches. Proof: the peer answers the value plus one.

use std::io;

use harness::prelude::*;
use rustix::event::EventfdFlags;

/// The family.
pub fn benchmarks() -> Vec<Benchmark> {
    crate::placed::round_trip(
        "ipc.eventfd",
        false,
        "A value to another process and back through two eventfds",
        run,
    )
}

fn run(bench: &mut Bench, metric: &str) -> Result<(), Stop> {
    let eventfd = || {
        rustix::event::eventfd(0, EventfdFlags::CLOEXEC)
            .map_err(|e| Stop::unavailable("eventfd", &io::Error::from(e)))
    };
    let (there, back) = (eventfd()?, eventfd()?);
    let peer = Peer::spawn(bench.peer_cpu(), || {
        let mut value = [0u8; 8];
        while rustix::io::read(&there, &mut value) == Ok(8) {
            let answer = u64::from_ne_bytes(value) + 1;
            if rustix::io::write(&back, &answer.to_ne_bytes()) != Ok(8) {
                break;
            }
        }
        Ok(())
    })?;
    let mut token = 1u64;
    bench.calls(metric, || {
        let mut answer = [0u8; 8];
        let sent = rustix::io::write(&there, &token.to_ne_bytes()) == Ok(8);
        let back = sent && rustix::io::read(&back, &mut answer) == Ok(8);
        token += 1;
        back && u64::from_ne_bytes(answer) == token
    })?;
    drop(peer);
    Ok(())
}
