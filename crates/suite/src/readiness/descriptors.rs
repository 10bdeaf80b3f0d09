//! Many distinct descriptors, none ready until told.
//!
//! *file*: eventfds. Regular files are ready at all times and have no wait queue, so nothing could be asked of them; an
//! eventfd is the least object that has one, costs no file system anything, and needs no second descriptor.
//! *tcp*: connected loopback sockets, whose other ends a second process holds.

use std::fmt;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use harness::prelude::*;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::ipc::pipe::pipe;
use crate::net::socket::reset_on_close;

/// How many descriptors each call is asked about: LMbench's sizes.
pub const SIZES: [usize; 4] = [10, 100, 250, 500];

/// Descriptors a process needs besides: standard streams, witnesses, pipes, the listener.
const BESIDES: usize = 24;

/// What the descriptors stand for.
#[derive(Clone, Copy)]
pub enum Kind {
    File,
    Tcp,
}

impl Kind {
    pub const ALL: [Kind; 2] = [Kind::File, Kind::Tcp];

    pub fn words(self) -> &'static str {
        match self {
            Kind::File => "eventfds",
            Kind::Tcp => "connected TCP sockets",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::File => "file",
            Kind::Tcp => "tcp",
        })
    }
}

/// Open descriptors in ascending order, and what makes one of them ready.
pub struct Descriptors {
    fds: Vec<OwnedFd>,
    far_ends: Option<FarEnds>,
    limit: usize,
}

/// The process that holds the other ends of the sockets, and the pipe that tells it which one to write to.
struct FarEnds {
    _holder: Peer,
    tell: File,
}

impl Descriptors {
    /// Opens as many as the largest size needs, or as RLIMIT_NOFILE allows (its soft limit is raised if it can be).
    pub fn open(bench: &Bench, kind: Kind) -> Result<Self, Stop> {
        let most = SIZES.iter().max().copied().unwrap_or_default();
        let limit = raise_descriptor_limit(most + BESIDES);
        let count = most.min(limit.saturating_sub(BESIDES));
        let (fds, far_ends) = match kind {
            Kind::File => (eventfds(count)?, None),
            Kind::Tcp => sockets(bench, count).map(|(fds, far_ends)| (fds, Some(far_ends)))?,
        };
        Ok(Descriptors { fds, far_ends, limit })
    }

    /// The descriptors' numbers.
    pub fn numbers(&self) -> Vec<i32> {
        self.fds.iter().map(AsRawFd::as_raw_fd).collect()
    }

    /// Why `size` descriptors can't be had.
    pub fn too_few(&self, size: usize) -> String {
        format!("needs {} descriptors, RLIMIT_NOFILE allows {}", size + BESIDES, self.limit)
    }

    /// Makes one readable, and waits until it is.
    pub fn make_ready(&self, index: usize) -> Result<(), Stop> {
        let failed = |e| Stop::unavailable("making a descriptor ready", &e);
        match &self.far_ends {
            None => {
                rustix::io::write(&self.fds[index], &1u64.to_ne_bytes()).map_err(|e| failed(e.into()))?;
            }
            Some(far) => (&far.tell).write_all(&(index as u32).to_ne_bytes()).map_err(failed)?,
        }
        let mut asked = [PollFd::new(&self.fds[index], PollFlags::IN)];
        let ready = poll(&mut asked, Some(&Timespec { tv_sec: 5, tv_nsec: 0 }));
        check(ready == Ok(1), "the last descriptor did not become ready within 5 s")
    }

    /// Reads what made one ready, so that none is.
    pub fn empty(&self, index: usize) -> Result<(), Stop> {
        // An eventfd is read whole; of a socket's one byte more is asked than there is.
        let mut bytes = [0; 8];
        let read = rustix::io::read(&self.fds[index], &mut bytes)
            .map_err(|e| Stop::unavailable("emptying a descriptor", &e.into()))?;
        let written = if self.far_ends.is_none() { bytes.len() } else { 1 };
        check(read == written, "the ready descriptor did not hold what was written")
    }
}

/// The descriptor limit after trying to have `wanted`.
fn raise_descriptor_limit(wanted: usize) -> usize {
    let limits = getrlimit(Resource::Nofile);
    let current = limits.current.map_or(usize::MAX, |n| n as usize);
    if current >= wanted {
        return current;
    }
    let allowed = limits.maximum.map_or(wanted as u64, |most| most.min(wanted as u64));
    match setrlimit(Resource::Nofile, Rlimit { current: Some(allowed), maximum: limits.maximum }) {
        Ok(()) => allowed as usize,
        Err(_) => current,
    }
}

fn eventfds(count: usize) -> Result<Vec<OwnedFd>, Stop> {
    (0..count)
        .map(|_| eventfd(0, EventfdFlags::CLOEXEC).map_err(|e| Stop::unavailable("eventfd", &e.into())))
        .collect()
}

/// Connections made one at a time, each accepted before the next: the listener's queue never holds two.
fn sockets(bench: &Bench, count: usize) -> Result<(Vec<OwnedFd>, FarEnds), Stop> {
    let failed = |e: std::io::Error| Stop::skip(format!("TCP over loopback: {e}"));
    let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let files = || pipe().map(|(read, write)| (File::from(read), File::from(write)));
    let ((orders, tell), (accepted, report)) = (files()?, files()?);
    let holder = Peer::spawn(bench.job().cpus.first().copied(), || hold(&listener, count, orders, report))?;
    let mut fds = Vec::with_capacity(count);
    for _ in 0..count {
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(5)).map_err(failed)?;
        reset_on_close(&stream).map_err(failed)?;
        let mut byte = [0];
        (&accepted).read_exact(&mut byte).map_err(|_| Stop::fail("a connection was not accepted"))?;
        fds.push(OwnedFd::from(stream));
    }
    Ok((fds, FarEnds { _holder: holder, tell }))
}

/// The other process: accepts `count` connections, then writes a byte to each one it is told.
fn hold(listener: &TcpListener, count: usize, mut orders: File, mut report: File) -> Result<(), Stop> {
    let failed = |e: std::io::Error| Stop::fail(e.to_string());
    let mut streams = Vec::with_capacity(count);
    for _ in 0..count {
        let (stream, _) = listener.accept().map_err(failed)?;
        reset_on_close(&stream).map_err(failed)?;
        streams.push(stream);
        report.write_all(&[1]).map_err(failed)?;
    }
    let mut index = [0; 4];
    while orders.read_exact(&mut index).is_ok() {
        let told = streams.get_mut(u32::from_ne_bytes(index) as usize);
        told.ok_or_else(|| Stop::fail("no such connection"))?.write_all(&[1]).map_err(failed)?;
    }
    Ok(())
}
