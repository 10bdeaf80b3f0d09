//! `bw.pipe`, `bw.unix`: bytes from one process to another through a pipe and an AF_UNIX stream socket pair.
//!
//! Timed: see `transfer`, with messages of 64 KiB, both processes on one CPU, and across CPUs under the suffix of their
//! nearness. The pipe and the sockets have their default sizes.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use harness::prelude::*;

use super::transfer;
use crate::ipc::pipe::pipe;
use crate::net::send_on_request;

/// Bytes of a message.
const MESSAGE: usize = 64 << 10;

/// Both families.
pub fn benchmarks() -> Vec<Benchmark> {
    let mut all = family("bw.pipe", "a pipe", pipes);
    all.extend(family("bw.unix", "an AF_UNIX stream socket pair", sockets));
    all
}

/// The receiver's and the sender's descriptors, each to read from and to write to.
type Ends = [(OwnedFd, OwnedFd); 2];

fn family(name: &'static str, through: &str, open: fn() -> Result<Ends, Stop>) -> Vec<Benchmark> {
    let doc = format!("Bytes from another process through {through} in messages of 64 KiB");
    crate::placed::bandwidths(name, &doc, move |bench, metric| run(bench, metric, open()?))
}

fn pipes() -> Result<Ends, Stop> {
    let ((data, to_data), (requests, to_requests)) = (pipe()?, pipe()?);
    Ok([(data, to_requests), (requests, to_data)])
}

fn sockets() -> Result<Ends, Stop> {
    let failed = |e| Stop::unavailable("socketpair(AF_UNIX)", &e);
    let (mine, theirs) = UnixStream::pair().map_err(failed)?;
    let (mine_too, theirs_too) = (mine.try_clone().map_err(failed)?, theirs.try_clone().map_err(failed)?);
    Ok([(mine.into(), mine_too.into()), (theirs.into(), theirs_too.into())])
}

fn run(bench: &mut Bench, metric: &str, ends: Ends) -> Result<(), Stop> {
    let mut ends = Some(ends);
    let sender = Peer::spawn(bench.peer_cpu(), || {
        // The child closes its copies of the receiver's ends, so that each side sees the other's end.
        let Some([_, (requests, data)]) = ends.take() else { return Ok(()) };
        let read = |buffer: &mut [u8]| Ok(rustix::io::read(&requests, buffer)?);
        send_on_request(read, |message| write_all(&data, message)).map_err(|e| Stop::fail(e.to_string()))
    })?;
    let Some([(data, requests), _]) = ends else { return Err(Stop::fail("the descriptors are gone")) };
    let read = |buffer: &mut [u8]| Ok(rustix::io::read(&data, buffer)?);
    transfer::measure(bench, metric, MESSAGE, |request| write_all(&requests, request), read)?;
    drop(sender);
    Ok(())
}

fn write_all(to: &OwnedFd, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        bytes = &bytes[rustix::io::write(to, bytes)?..];
    }
    Ok(())
}
