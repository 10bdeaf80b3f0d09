//! One byte to a peer process and back through descriptors: the loop of the pipe, FIFO and socket round trips.
//!
//! Timed: write 1 byte, read the answer. The peer reads it and answers the byte plus one, so a round trip is four
//! system calls and, on one CPU, two switches. Proof: every answer is what was sent plus one.
//! The peer ends at end of file, at any error, and with its parent: it can't loop on an error.

use std::os::fd::OwnedFd;

use harness::prelude::*;

/// What one side reads from and writes to.
pub struct Side {
    /// Where bytes come from.
    pub from: OwnedFd,
    /// Where bytes go.
    pub to: OwnedFd,
}

/// Measures `metric`: the round trip between `mine` and a peer process that gets `theirs`.
pub fn measure(bench: &mut Bench, metric: &str, mine: Side, theirs: Side) -> Result<(), Stop> {
    let mut sides = Some((mine, theirs));
    let peer = Peer::spawn(bench.peer_cpu(), || {
        // The child closes its copies of the other side, so that each sees the other's end.
        let theirs = sides.take().map(|(_, theirs)| theirs);
        theirs.map_or(Ok(()), |side| echo(&side))
    })?;
    let Some((mine, _)) = sides else { return Err(Stop::fail("the descriptors are gone")) };
    let mut token = 0u8;
    bench.calls(metric, || {
        let mut answer = [0u8];
        let sent = rustix::io::write(&mine.to, &[token]) == Ok(1);
        let back = sent && rustix::io::read(&mine.from, &mut answer) == Ok(1);
        token = token.wrapping_add(1);
        back && answer[0] == token
    })?;
    drop(peer);
    Ok(())
}

fn echo(side: &Side) -> Result<(), Stop> {
    let mut byte = [0u8];
    while rustix::io::read(&side.from, &mut byte) == Ok(1) {
        byte[0] = byte[0].wrapping_add(1);
        if rustix::io::write(&side.to, &byte) != Ok(1) {
            break;
        }
    }
    Ok(())
}
