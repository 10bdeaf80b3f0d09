//! Keeps parallel copies of a benchmark in step: they start together, and each keeps up its load until the last has
//! finished.
//!
//! A file in the run's scratch directory, mapped by all, holds one counter per copy. A copy that has ended, however,
//! counts as being past every step, so that nobody waits for it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Job, Stop};

/// One copy's place among those started together; part of a [`Job`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CopyOf {
    /// Its number, from 0.
    pub number: u32,
    /// How many there are.
    pub copies: u32,
    /// The file that keeps them in step.
    pub gate: PathBuf,
}

/// A counter on a cache line of its own.
#[repr(align(64))]
struct Step(AtomicU32);

const LEFT: u32 = u32::MAX;
/// Time between two looks of a copy that waits for the others to start.
const LOOK: Duration = Duration::from_micros(50);

/// The mapped file.
pub(crate) struct Gate {
    steps: *mut Step,
    copies: usize,
}

impl Gate {
    /// The gate of jobs that are copies of one benchmark; `None` where they are not.
    pub(crate) fn for_jobs(jobs: &[Job]) -> io::Result<Option<Gate>> {
        let Some(copy) = jobs.first().and_then(|job| job.copy.as_ref()) else { return Ok(None) };
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&copy.gate)?;
        file.set_len((jobs.len() * size_of::<Step>()) as u64)?;
        Gate::map(&file, jobs.len()).map(Some)
    }

    fn open(path: &Path, copies: usize) -> io::Result<Gate> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.metadata()?.len() < (copies * size_of::<Step>()) as u64 {
            return Err(io::Error::other("the gate of the copies is too short"));
        }
        Gate::map(&file, copies)
    }

    fn map(file: &File, copies: usize) -> io::Result<Gate> {
        // SAFETY: a fresh shared mapping of a file that is long enough, checked below.
        let steps = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                copies * size_of::<Step>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if steps == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Gate { steps: steps.cast(), copies })
    }

    fn steps(&self) -> &[Step] {
        // SAFETY: mapped for this many counters until drop; zero is a valid counter.
        unsafe { std::slice::from_raw_parts(self.steps, self.copies) }
    }

    fn reach(&self, copy: usize, step: u32) {
        if let Some(own) = self.steps().get(copy) {
            own.0.store(step, Ordering::Release);
        }
    }

    fn all_at(&self, step: u32) -> bool {
        self.steps().iter().all(|copy| copy.0.load(Ordering::Acquire) >= step)
    }

    /// Nobody waits for `copy` any more.
    pub(crate) fn leave(&self, copy: usize) {
        self.reach(copy, LEFT);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `map`, with no reference left.
        unsafe { libc::munmap(self.steps.cast(), self.copies * size_of::<Step>()) };
    }
}

/// A worker that is one of several copies.
pub(crate) struct InStep {
    gate: Gate,
    number: usize,
    step: u32,
}

impl InStep {
    /// The worker of `job`, where it is one of several.
    pub(crate) fn of(job: &Job) -> Result<Option<Self>, Stop> {
        let Some(copy) = &job.copy else { return Ok(None) };
        let gate = Gate::open(&copy.gate, copy.copies as usize)
            .map_err(|e| Stop::fail(format!("{}: {e}", copy.gate.display())))?;
        Ok(Some(InStep { gate, number: copy.number as usize, step: 0 }))
    }

    /// Waits until every other copy is about to measure too.
    pub(crate) fn start_together(&mut self) {
        self.step += 1;
        self.gate.reach(self.number, self.step);
        while !self.gate.all_at(self.step) {
            std::thread::sleep(LOOK);
        }
    }

    /// Says that this copy has measured.
    pub(crate) fn finish(&mut self) {
        self.step += 1;
        self.gate.reach(self.number, self.step);
    }

    /// Whether every copy has measured.
    pub(crate) fn all_finished(&self) -> bool {
        self.gate.all_at(self.step)
    }
}

impl Drop for InStep {
    fn drop(&mut self) {
        self.gate.leave(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(gate: PathBuf, number: u32) -> Job {
        let clock = crate::Clock::calibrate(None);
        Job { copy: Some(CopyOf { number, copies: 2, gate }), ..Job::bare("syscall.null", clock) }
    }

    #[test]
    fn copies_wait_for_each_other_but_not_for_one_that_left() {
        let place = tempfile::tempdir().unwrap();
        let jobs: Vec<Job> = (0..2).map(|n| job(place.path().join("gate"), n)).collect();
        let gate = Gate::for_jobs(&jobs).unwrap().unwrap();
        let mut first = InStep::of(&jobs[0]).unwrap().unwrap();
        first.finish();
        assert!(!first.all_finished(), "the second has not finished");
        let order = AtomicU32::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut second = InStep::of(&jobs[1]).unwrap().unwrap();
                std::thread::sleep(Duration::from_millis(20));
                order.store(1, Ordering::SeqCst);
                second.start_together();
                second.start_together();
            });
            first.start_together();
            assert_eq!(order.load(Ordering::SeqCst), 1, "the first did not wait");
        });
        assert!(first.all_finished(), "the second has left");
        drop(first);
        assert!(gate.all_at(LEFT));
    }
}
