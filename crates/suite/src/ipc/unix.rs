//! `ipc.unix`, `ipc.unix_dgram`: a round trip of one byte through an AF_UNIX socket pair, stream and datagram.
//!
//! Timed: see `byte_echo`. Per round trip. The pair has no name in any file system.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixStream};

use harness::prelude::*;

use super::byte_echo::{self, Side};

/// Both families.
pub fn benchmarks() -> Vec<Benchmark> {
    let mut families = crate::placed::round_trip(
        "ipc.unix",
        false,
        "A byte to another process and back through an AF_UNIX stream socket pair",
        |bench, metric| run(bench, metric, UnixStream::pair().map(|(a, b)| (a.into(), b.into()))),
    );
    families.extend(crate::placed::round_trip(
        "ipc.unix_dgram",
        false,
        "A byte to another process and back through an AF_UNIX datagram socket pair",
        |bench, metric| run(bench, metric, UnixDatagram::pair().map(|(a, b)| (a.into(), b.into()))),
    ));
    families
}

fn run(bench: &mut Bench, metric: &str, pair: io::Result<(OwnedFd, OwnedFd)>) -> Result<(), Stop> {
    let (mine, theirs) = pair.map_err(|e| Stop::unavailable("socketpair(AF_UNIX)", &e))?;
    byte_echo::measure(bench, metric, both_ways(mine)?, both_ways(theirs)?)
}

fn both_ways(socket: OwnedFd) -> Result<Side, Stop> {
    let to = socket.try_clone().map_err(|e| Stop::unavailable("dup", &e))?;
    Ok(Side { from: socket, to })
}
