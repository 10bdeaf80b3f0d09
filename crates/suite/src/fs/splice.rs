//! `bw.sendfile`, `bw.splice`: a cached file's bytes go elsewhere without passing through user space.
//!
//! Timed: `bw.sendfile`: `sendfile` of 64 KiB at a time from an 8 MiB file in the test directory into an AF_UNIX stream
//! socket, from which a process on the same CPU reads: one copy, and the switches. `bw.splice`: `splice` of 64 KiB
//! from the file into a pipe and from there to /dev/null: pages change hands and nothing is copied. Bytes sent.
//! Proof: every call moves what it is asked to; the reader counts the bytes sent, no more and no less.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use harness::prelude::*;

const FILE_BYTES: usize = 8 << 20;
const PIECE: usize = 64 << 10;

/// Both.
pub fn benchmarks() -> Vec<Benchmark> {
    vec![
        Benchmark::new("bw.sendfile", sendfile).memory(24 << 20).metric(bandwidth(
            "bw.sendfile",
            "second",
            "sendfile of a cached file, 64 KiB a call, to an AF_UNIX socket read by a process on the same CPU.",
        )),
        Benchmark::new("bw.splice", splice).memory(24 << 20).metric(bandwidth(
            "bw.splice",
            "second",
            "splice of a cached file, 64 KiB a call, through a pipe to /dev/null: nothing is copied.",
        )),
    ]
}

fn cached_file(path: &Path) -> Result<File, Stop> {
    let unavailable = |e| Stop::unavailable("writing the test file", &e);
    std::fs::write(path, vec![7u8; FILE_BYTES]).map_err(unavailable)?;
    File::open(path).map_err(unavailable)
}

fn sendfile(bench: &mut Bench) -> Result<(), Stop> {
    let file = cached_file(&bench.job().scratch.join("sent"))?;
    let unavailable = |e| Stop::unavailable("socketpair", &e);
    let (sender, receiver) = UnixStream::pair().map_err(unavailable)?;
    let (mut result, tell) = UnixStream::pair().map_err(unavailable)?;
    let cpu = bench.job().cpus.first().copied();
    let (sender_copy, result_copy) = (sender.as_raw_fd(), result.as_raw_fd());
    let reader = Peer::spawn(cpu, || drain(receiver, tell, &[sender_copy, result_copy]))?;
    let mut sent = 0u64;
    bench.measure("bw.sendfile", |calls, timer| {
        let moved = timer.time(|| send(&file, &sender, calls))?;
        sent += moved;
        timer.worked(moved as f64);
        Ok(())
    })?;
    drop(sender);
    let mut count = [0u8; 8];
    result.read_exact(&mut count).map_err(|e| Stop::fail(format!("the reader did not answer: {e}")))?;
    check(u64::from_ne_bytes(count) == sent, "the reader did not get what was sent")?;
    reader.join()
}

/// The reading process: counts until the sender closes.
fn drain(mut receiver: UnixStream, mut tell: UnixStream, inherited: &[RawFd]) -> Result<(), Stop> {
    for &fd in inherited {
        // SAFETY: the parent's ends, which this process does not use; open they would hide the parent's close.
        unsafe { libc::close(fd) };
    }
    let mut buffer = vec![0u8; PIECE];
    let mut total = 0u64;
    loop {
        match receiver.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => total += count as u64,
            Err(error) => return Err(Stop::fail(error.to_string())),
        }
    }
    tell.write_all(&total.to_ne_bytes()).map_err(|e| Stop::fail(e.to_string()))
}

fn send(file: &File, to: &UnixStream, calls: u64) -> Result<u64, Stop> {
    let mut moved = 0;
    for call in 0..calls {
        let mut left = PIECE;
        let mut offset = (call as usize * PIECE % FILE_BYTES) as libc::off_t;
        while left > 0 {
            // SAFETY: offset is valid for the call to change.
            let sent = unsafe { libc::sendfile(to.as_raw_fd(), file.as_raw_fd(), &mut offset, left) };
            let sent = cvt("sendfile", sent as i64)?;
            check(sent > 0, "sendfile moved nothing")?;
            left -= sent as usize;
            moved += sent as u64;
        }
    }
    Ok(moved)
}

fn splice(bench: &mut Bench) -> Result<(), Stop> {
    let file = cached_file(&bench.job().scratch.join("spliced"))?;
    let null = File::create("/dev/null").map_err(|e| Stop::unavailable("/dev/null", &e))?;
    let (from, into) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|e| Stop::unavailable("pipe", &e.into()))?;
    bench.measure("bw.splice", |calls, timer| {
        timer.time(|| {
            for call in 0..calls {
                let offset = (call as usize * PIECE % FILE_BYTES) as libc::off_t;
                let filled = splice_once(file.as_raw_fd(), Some(offset), into.as_raw_fd(), PIECE)?;
                // A pipe holds sixteen base pages by default, so a piece fits; a short one is passed on as it is.
                let mut left = filled;
                while left > 0 {
                    left -= splice_once(from.as_raw_fd(), None, null.as_raw_fd(), left)?;
                }
                check(filled == PIECE, "splice moved less than a piece")?;
            }
            Ok::<(), Stop>(())
        })?;
        timer.worked((calls as usize * PIECE) as f64);
        Ok(())
    })
}

fn splice_once(from: RawFd, offset: Option<libc::off_t>, to: RawFd, bytes: usize) -> Result<usize, Stop> {
    let mut at = offset.unwrap_or(0);
    let offset = if offset.is_some() { &raw mut at } else { std::ptr::null_mut() };
    // SAFETY: the offset is null or valid for the call to change.
    let moved = unsafe { libc::splice(from, offset.cast(), to, std::ptr::null_mut(), bytes, 0) };
    let moved = cvt("splice", moved as i64)?;
    check(moved > 0, "splice moved nothing")?;
    Ok(moved as usize)
}
