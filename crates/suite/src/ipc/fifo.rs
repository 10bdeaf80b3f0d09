//! `ipc.fifo`: a round trip of one byte through two named pipes.
//!
//! Timed: see `byte_echo`. Per round trip. The FIFOs are made in the test directory, opened and unlinked at once:
//! what is timed is the same pipe code behind a file system's inode.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use harness::prelude::*;
use rustix::fs::{CWD, FileType, Mode, OFlags};

use super::byte_echo::{self, Side};

/// The family.
pub fn benchmarks() -> Vec<Benchmark> {
    crate::placed::round_trip("ipc.fifo", false, "A byte to another process and back through two FIFOs", run)
}

fn run(bench: &mut Bench, metric: &str) -> Result<(), Stop> {
    let scratch = bench.job().scratch.clone();
    let (their_from, to) = fifo(&scratch.join("fifo.there"))?;
    let (from, their_to) = fifo(&scratch.join("fifo.back"))?;
    byte_echo::measure(bench, metric, Side { from, to }, Side { from: their_from, to: their_to })
}

/// Both ends of a fresh FIFO without a name.
fn fifo(path: &Path) -> Result<(OwnedFd, OwnedFd), Stop> {
    let made = || -> rustix::io::Result<(OwnedFd, OwnedFd)> {
        rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        // Without O_NONBLOCK the first open would wait for the other end.
        let from =
            rustix::fs::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
        let to = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        rustix::io::ioctl_fionbio(&from, false)?;
        rustix::fs::unlink(path)?;
        Ok((from, to))
    };
    made().map_err(|e| Stop::unavailable("making a FIFO in the test directory", &io::Error::from(e)))
}
