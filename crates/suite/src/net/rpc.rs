//! `net.rpc_udp`, `net.rpc_tcp` (and `net.remote.` before the name's last part): a remote procedure call.
//!
//! Timed: encoding a call of one argument byte, sending it, the far side's decoding and dispatch by procedure number, its
//! reply, and decoding that. Per call. A call is a length, a transaction number, a procedure number (32 bits each, big
//! endian) and the argument; a reply is a length, the transaction number, a status and the result. No port mapper; over UDP a
//! call is repeated every second until its reply comes, and that wait is part of its sample: there is no short limit that
//! turns a slow reply into a failure.
//! Proof: every reply carries its call's transaction number, status 0 and the argument plus one.

use std::io::{Read, Write};

use harness::prelude::*;

use super::far_side::{Datagrams, FarSide, Place};
use super::service::Answer;

/// Procedure that adds one to a byte.
const ADD_ONE: u32 = 1;
/// Status of a reply: done, no such procedure.
const DONE: u32 = 0;
const NO_SUCH_PROCEDURE: u32 = 1;

/// Both transports.
pub fn benchmarks(place: Place) -> [Benchmark; 2] {
    let doc = |over: &str| {
        format!("A remote procedure call of one byte over {over}: encode, dispatch, reply, decode")
    };
    [
        super::benchmark(place, "rpc_udp", "call", &doc("UDP"), run_udp),
        super::benchmark(place, "rpc_tcp", "call", &doc("TCP"), run_tcp),
    ]
}

/// The server's part.
pub const ANSWER: Answer = Answer {
    is_whole: |request| matches!(*request, [a, b, c, d, ..] if request.len() - 4 >= u32::from_be_bytes([a, b, c, d]) as usize),
    reply: |buffer, length| {
        let procedure = word(buffer, 8);
        let (status, results) = match procedure {
            ADD_ONE if length == 13 => {
                buffer[12] = buffer[12].wrapping_add(1);
                (DONE, 1)
            }
            _ => (NO_SUCH_PROCEDURE, 0),
        };
        buffer[..4].copy_from_slice(&(8 + results as u32).to_be_bytes());
        buffer[8..12].copy_from_slice(&status.to_be_bytes());
        12 + results
    },
};

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
}

/// The call numbered `transaction` of [`ADD_ONE`].
fn call(transaction: u32) -> [u8; 13] {
    let mut bytes = [0; 13];
    bytes[..4].copy_from_slice(&9u32.to_be_bytes());
    bytes[4..8].copy_from_slice(&transaction.to_be_bytes());
    bytes[8..12].copy_from_slice(&ADD_ONE.to_be_bytes());
    bytes[12] = transaction as u8;
    bytes
}

/// Whether these bytes are the right reply to that call.
fn is_reply(bytes: &[u8], transaction: u32) -> bool {
    bytes.len() == 13
        && word(bytes, 0) == 9
        && word(bytes, 4) == transaction
        && word(bytes, 8) == DONE
        && bytes[12] == (transaction as u8).wrapping_add(1)
}

fn run_udp(bench: &mut Bench, place: Place, metric: &str) -> Result<(), Stop> {
    let mut far = FarSide::open(bench, place)?;
    let mut datagrams = Datagrams::begin(&mut far, "udp rpc")?;
    let mut transaction = 0u32;
    bench.measure(metric, |iterations, timer| {
        timer.time(|| {
            (0..iterations).try_for_each(|_| {
                transaction = transaction.wrapping_add(1);
                datagrams.exchange(&call(transaction), |reply| is_reply(reply, transaction))
            })
        })
    })?;
    bench.note(metric, "repeated", datagrams.end());
    Ok(())
}

fn run_tcp(bench: &mut Bench, place: Place, metric: &str) -> Result<(), Stop> {
    let mut far = FarSide::open(bench, place)?;
    let mut stream = far.connect("tcp rpc")?;
    stream.set_nodelay(true).map_err(|e| far.failed("TCP_NODELAY", &e))?;
    let mut transaction = 0u32;
    bench.measure(metric, |iterations, timer| {
        timer.time(|| {
            (0..iterations).try_for_each(|_| {
                transaction = transaction.wrapping_add(1);
                let mut reply = [0; 13];
                stream
                    .write_all(&call(transaction))
                    .and_then(|()| stream.read_exact(&mut reply))
                    .map_err(|e| far.failed("the call", &e))?;
                check(is_reply(&reply, transaction), "a reply is not that of its call")
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_answered_and_nonsense_is_refused() {
        let mut buffer = [0; 512];
        buffer[..13].copy_from_slice(&call(7));
        assert!((ANSWER.is_whole)(&buffer[..13]) && !(ANSWER.is_whole)(&buffer[..12]));
        assert!(!(ANSWER.is_whole)(&[]));
        let length = (ANSWER.reply)(&mut buffer, 13);
        assert!(is_reply(&buffer[..length], 7) && !is_reply(&buffer[..length], 8));
        let mut buffer = [0xff; 512];
        let length = (ANSWER.reply)(&mut buffer, 13);
        assert_eq!((length, word(&buffer, 8)), (12, NO_SUCH_PROCEDURE));
    }
}
