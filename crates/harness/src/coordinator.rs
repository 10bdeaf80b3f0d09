//! The coordinator: one fresh worker process per invocation, watched, bounded, and cleaned up after.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use record::{Invocation, Status};

use crate::gate::Gate;
use crate::janitor::Janitor;
use crate::leftovers::Leftovers;
use crate::worker::Report;
use crate::worker_process::{WorkerProcess, end_group, watch};
use crate::{Benchmark, Interrupt, Job, Scratch, Signals, Stop};

/// How a worker ended.
#[derive(Debug)]
pub enum Ended {
    /// It printed its report.
    Reported,
    /// It ran past its deadline and was killed.
    TimedOut,
    /// It ended without a report; says how.
    Crashed(String),
    /// The user asked to stop; it was killed.
    Interrupted(Interrupt),
}

/// The result of one invocation.
#[derive(Debug)]
pub struct WorkerOutcome {
    /// How the worker ended.
    pub ended: Ended,
    /// One line per metric of the benchmark, whatever happened; block and slot are the caller's to fill in.
    pub lines: Vec<Invocation>,
    /// Iterations it found.
    pub iterations: std::collections::BTreeMap<String, u64>,
    /// Why pinning is not as asked, if so.
    pub not_pinned: Option<String>,
}

/// Starts workers: one at a time, or the copies of one benchmark together.
pub struct Coordinator {
    janitor: Janitor,
    scratch: Scratch,
    program: OsString,
    leftovers: Leftovers,
}

impl Coordinator {
    /// Prepares a run: becomes the reaper of orphaned descendants, starts the janitor, makes the scratch directory in
    /// `directory` or a temporary one. Call while single-threaded.
    pub fn new(directory: Option<&Path>) -> Result<Self, Stop> {
        // SAFETY: prctl with an integer argument.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
        let leftovers = Leftovers::of_this_process();
        let mut janitor = Janitor::start(&leftovers)?;
        let scratch = Scratch::create(directory, |path| janitor.scratch(path))
            .map_err(|e| Stop::fail(e.to_string()))?;
        Ok(Coordinator { janitor, scratch, program: "/proc/self/exe".into(), leftovers })
    }

    /// Where benchmarks put their files.
    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// Names of the kernel objects a job may create.
    pub fn leftovers(&self) -> &Leftovers {
        &self.leftovers
    }

    /// Keeps a shell command that puts back what a set-up changed, in case this process is killed; empty when there is
    /// nothing to put back.
    pub fn keep_undo(&mut self, command: &str) {
        self.janitor.undo(command);
    }

    /// The janitor: a child of ours that must outlive whatever is measured.
    pub fn janitor_pid(&self) -> i32 {
        self.janitor.pid()
    }

    /// Has the janitor kill this process group when we are gone; 0 for none.
    pub fn guard_group(&mut self, group: i32) {
        self.janitor.worker_group(group, 1);
    }

    /// Runs workers of another binary of this program (`ab --a-bin`).
    pub fn set_program(&mut self, program: impl Into<OsString>) {
        self.program = program.into();
    }

    /// Runs each of `jobs`, copies of one benchmark, in a fresh process whose environment is `environment` plus `padding`
    /// bytes, and waits for all of them, at most `deadline`. Afterwards none of their processes, files, System V
    /// objects or cgroups is left. One outcome per job.
    pub fn invoke(
        &mut self,
        benchmark: &Benchmark,
        jobs: &[Job],
        environment: &[(String, String)],
        padding: usize,
        deadline: Duration,
        signals: &Signals,
    ) -> Vec<WorkerOutcome> {
        let started = Instant::now();
        let mut workers = Vec::new();
        let mut refused = None;
        let gate = Gate::for_jobs(jobs);
        if let Err(error) = &gate {
            refused = Some(format!("the copies can't be kept in step: {error}"));
        }
        for job in jobs.iter().take(if refused.is_none() { jobs.len() } else { 0 }) {
            let group = workers.first().map_or(0, WorkerProcess::id);
            match WorkerProcess::start(&self.program, job, environment, padding, group) {
                Ok(worker) => {
                    if workers.is_empty() {
                        self.janitor.worker_group(worker.id(), jobs.len() as u32);
                    }
                    workers.push(worker);
                }
                Err(error) => {
                    refused = Some(format!("the worker can't be started: {error}"));
                    break;
                }
            }
        }
        if refused.is_none() {
            watch(&mut workers, started + deadline, signals, |place| {
                if let Ok(Some(gate)) = &gate {
                    gate.leave(place);
                }
            });
        }
        end_group(&mut workers);
        self.janitor.worker_group(0, 1);
        self.leftovers.remove(jobs.len() as u32);
        let left = self.scratch.empty().err().map(|e| format!("scratch directory: {e}"));
        let mut workers = workers.into_iter();
        jobs.iter()
            .map(|_| {
                let worker = workers.next().filter(|_| refused.is_none());
                let mut outcome = read_outcome(benchmark, worker, refused.as_deref(), deadline);
                if let Some(left) = &left {
                    outcome.not_pinned.get_or_insert_with(|| left.clone());
                }
                outcome
            })
            .collect()
    }
}

/// The outcome of one worker; without a worker, of one that was not started because of `refused`.
fn read_outcome(
    benchmark: &Benchmark,
    worker: Option<WorkerProcess>,
    refused: Option<&str>,
    deadline: Duration,
) -> WorkerOutcome {
    let (ended, report, complaint) = match worker {
        Some(worker) => (worker.ended, worker.report, worker.complaint),
        None => (None, Vec::new(), Vec::new()),
    };
    let ended = ended.unwrap_or_else(|| Ended::Crashed(refused.unwrap_or("it never ended").to_owned()));
    let report = matches!(ended, Ended::Reported).then(|| serde_json::from_slice::<Report>(&report));
    let (ended, status, reason) = match (ended, report) {
        (Ended::Reported, Some(Ok(report))) => {
            return WorkerOutcome {
                ended: Ended::Reported,
                lines: report.lines,
                iterations: report.iterations,
                not_pinned: report.not_pinned,
            };
        }
        (Ended::Reported, _) => {
            let reason = "the worker's report can't be read".to_owned();
            (Ended::Crashed(reason.clone()), Status::Failed, reason)
        }
        (Ended::TimedOut, _) => {
            let reason = format!("killed at its deadline of {:.1} s", deadline.as_secs_f64());
            (Ended::TimedOut, Status::Timeout, reason)
        }
        (Ended::Interrupted(signal), _) => {
            (Ended::Interrupted(signal), Status::Skipped, "interrupted".to_owned())
        }
        (Ended::Crashed(how), _) => {
            let complaint = String::from_utf8_lossy(&complaint);
            let complaint = complaint.trim();
            let reason = if complaint.is_empty() {
                format!("the worker crashed: {how}")
            } else {
                format!("the worker crashed: {how}; it said: {complaint}")
            };
            (Ended::Crashed(how), Status::Failed, reason)
        }
    };
    let lines = benchmark
        .metrics()
        .iter()
        .map(|metric| Invocation::of(metric).without_value(status, reason.clone()))
        .collect();
    WorkerOutcome { ended, lines, iterations: Default::default(), not_pinned: None }
}
