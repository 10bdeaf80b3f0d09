//! One process sends messages, the other receives them: the loop of the pipe and socket bandwidths.
//!
//! Timed on the receiving side: a request for a number of messages (16 bytes), and reading until the last byte is there.
//! A sample asks for 4 MiB, or 4096 messages where that is less, so the request's one-way trip is a percent or less of it.
//! The sender writes each message by one `write`; the receiver asks for the rest of a message by each `read`.
//! Proof: exactly the bytes asked for arrive, and the last message is what the sender sends, byte for byte.

use std::io;

use harness::prelude::*;

use crate::net::{PATIENCE, service_pattern};

/// Bytes of a sample, and messages where these are fewer bytes.
const SAMPLE_BYTES: usize = 4 << 20;
const SAMPLE_MESSAGES: usize = 4096;
/// Declares a bandwidth.
pub fn declared(name: &str, doc: impl Into<String>) -> Declared {
    bandwidth(name, "byte", doc)
}

/// Measures `metric`: messages of `message` bytes, asked for by `write` and received by `read`.
pub fn measure(
    bench: &mut Bench,
    metric: &str,
    message: usize,
    mut write: impl FnMut(&[u8]) -> io::Result<()>,
    mut read: impl FnMut(&mut [u8]) -> io::Result<usize>,
) -> Result<(), Stop> {
    let expected = service_pattern(message);
    let mut buffer = vec![0; message];
    let messages = (SAMPLE_BYTES / message).clamp(1, SAMPLE_MESSAGES) as u64;
    bench.note(metric, "message_bytes", message);
    bench.measure(metric, |iterations, timer| {
        let count = messages * iterations;
        buffer.fill(0);
        let mut request = [0; 16];
        request[..8].copy_from_slice(&(message as u64).to_be_bytes());
        request[8..].copy_from_slice(&count.to_be_bytes());
        let received = timer.time(|| {
            write(&request)?;
            for _ in 0..count {
                let mut at = 0;
                while at < message {
                    match read(&mut buffer[at..])? {
                        0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                        n => at += n,
                    }
                }
            }
            Ok(())
        });
        received.map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                Stop::fail(format!("nothing arrived for {} s", PATIENCE.as_secs()))
            }
            _ => Stop::fail(format!("receiving: {error}")),
        })?;
        timer.worked((count * message as u64) as f64);
        check(buffer == expected, "the last message is not what was sent")
    })
}
