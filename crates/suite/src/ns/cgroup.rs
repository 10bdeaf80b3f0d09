//! `cgroup.*`: a process born into a cgroup, and a cgroup made and destroyed around it.
//!
//! Timed: `cgroup.fork_into`: `clone3` with CLONE_INTO_CGROUP into a cgroup that exists, a child that exits at once,
//! `waitpid`. `cgroup.create`: mkdir of a cgroup, such a child, rmdir. `cgroup.create.full`: the same until
//! the kernel no longer counts the cgroup as dying (`cgroup.stat` of its parent). Per child. Cgroup v2, below the
//! worker's own; which controllers it has is in the record.
//! Proof: every child exits with status 0, and rmdir finds the cgroup empty.
//! The cgroups are removed at the end, by the benchmark or, whatever happens, by the harness.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use harness::prelude::*;

use super::child::come_and_go;

/// `CLONE_INTO_CGROUP` (linux/sched.h).
const INTO_CGROUP: u64 = 1 << 33;
/// Longest wait for one cgroup to go, and time between two looks.
const LONGEST: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_micros(20);

/// All of them.
pub fn benchmarks() -> Vec<Benchmark> {
    vec![
        Benchmark::new("cgroup.fork_into", fork_into).weight(0.5).metric(
            time("cgroup.fork_into", "child", "A clone3 child born into another cgroup that exits at once.")
                .blocking(),
        ),
        Benchmark::new("cgroup.create", create)
            .parts(2)
            .metric(
                time(
                    "cgroup.create",
                    "child",
                    "A cgroup made, a child born into it and reaped, the cgroup removed.",
                )
                .blocking(),
            )
            .metric(
                time(
                    "cgroup.create.full",
                    "child",
                    "As cgroup.create, until the kernel has freed the cgroup.",
                )
                .blocking(),
            ),
    ]
}

/// The run's own cgroup directory, removed when dropped.
struct Parent(PathBuf);

impl Parent {
    fn new(bench: &mut Bench, metric: &str) -> Result<Self, Stop> {
        let path =
            bench.job().cgroup.clone().ok_or_else(|| Stop::skip("no cgroup v2 hierarchy is mounted"))?;
        fs::create_dir(&path).map_err(|e| Stop::unavailable("making a cgroup", &e))?;
        let parent = Parent(path);
        let controllers = fs::read_to_string(parent.0.join("cgroup.controllers")).unwrap_or_default();
        bench.note(metric, "controllers", controllers.trim());
        Ok(parent)
    }

    /// Removed cgroups below this one that the kernel has not freed yet.
    fn dying(&self) -> Result<u64, Stop> {
        let text = fs::read_to_string(self.0.join("cgroup.stat"))
            .map_err(|e| Stop::unavailable("cgroup.stat", &e))?;
        let count = text.lines().find_map(|line| line.strip_prefix("nr_dying_descendants ")?.parse().ok());
        count.ok_or_else(|| Stop::skip("cgroup.stat does not count dying cgroups"))
    }

    fn await_none_dying(&self) -> Result<(), Stop> {
        let since = Instant::now();
        while self.dying()? > 0 {
            if since.elapsed() > LONGEST {
                return Err(Stop::skip("the kernel keeps a removed cgroup for longer than 2 s here"));
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }
}

impl Drop for Parent {
    fn drop(&mut self) {
        harness::remove_cgroups(&self.0);
    }
}

fn fork_into(bench: &mut Bench) -> Result<(), Stop> {
    let parent = Parent::new(bench, "cgroup.fork_into")?;
    let directory = open(&parent.0)?;
    bench.measure("cgroup.fork_into", |children, timer| {
        timer.time(|| {
            (0..children).try_for_each(|_| Ok(come_and_go(INTO_CGROUP, directory.as_raw_fd() as u64)?))
        })
    })
}

fn create(bench: &mut Bench) -> Result<(), Stop> {
    let parent = Parent::new(bench, "cgroup.create")?;
    let child = parent.0.join("child");
    bench.measure("cgroup.create", |children, timer| {
        timer.time(|| (0..children).try_for_each(|_| make_and_remove(&child)))
    })?;
    let full = parent.await_none_dying().and_then(|()| {
        super::one_by_one(bench, "cgroup.create.full", || {
            make_and_remove(&child).and_then(|()| parent.await_none_dying())
        })
    });
    match full {
        Err(Stop::Skip(reason)) => {
            bench.absent("cgroup.create.full", reason);
            Ok(())
        }
        other => other.map(|_| ()),
    }
}

fn make_and_remove(path: &Path) -> Result<(), Stop> {
    fs::create_dir(path).map_err(|e| Stop::unavailable("making a cgroup", &e))?;
    let directory = open(path)?;
    come_and_go(INTO_CGROUP, directory.as_raw_fd() as u64)?;
    drop(directory);
    fs::remove_dir(path).map_err(|e| Stop::fail(format!("work not done: removing a cgroup: {e}")))
}

fn open(path: &Path) -> Result<File, Stop> {
    File::open(path).map_err(|e| Stop::unavailable("opening a cgroup", &e))
}
