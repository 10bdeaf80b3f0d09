//! The coordinator: one fresh worker process per invocation, watched, bounded, and cleaned up after.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use record::{Invocation, Status};
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::janitor::Janitor;
use crate::leftovers::Leftovers;
use crate::worker::{Report, SUBCOMMAND};
use crate::{Benchmark, Interrupt, Job, Scratch, Signals, Stop};

/// Longest text kept of a worker's standard error.
const MOST_COMPLAINT: usize = 4096;
/// Largest report accepted from a worker.
const MOST_REPORT: usize = 64 << 20;

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

/// What a finished worker left on its pipes.
struct Output {
    report: Vec<u8>,
    complaint: Vec<u8>,
}

/// Starts workers, one at a time.
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

    /// Runs workers of another binary of this program (`ab --a-bin`).
    pub fn set_program(&mut self, program: impl Into<OsString>) {
        self.program = program.into();
    }

    /// Runs `job` in a fresh process whose environment is `environment` plus `padding` bytes, and waits for it, at
    /// most `deadline`. Afterwards none of its processes, files or System V objects is left.
    pub fn invoke(
        &mut self,
        benchmark: &Benchmark,
        job: &Job,
        environment: &[(String, String)],
        padding: usize,
        deadline: Duration,
        signals: &Signals,
    ) -> WorkerOutcome {
        let started = Instant::now();
        let (ended, output) = match self.spawn(job, environment, padding) {
            Ok(mut child) => {
                self.janitor.worker_group(child.id() as i32);
                let result = watch(&mut child, started + deadline, signals);
                end_group(&mut child);
                self.janitor.worker_group(0);
                result
            }
            Err(error) => (Ended::Crashed(format!("the worker can't be started: {error}")), Output::empty()),
        };
        self.leftovers.remove();
        let left = self.scratch.empty().err().map(|e| format!("scratch directory: {e}"));
        let mut outcome = read_outcome(benchmark, ended, &output, deadline);
        if let Some(left) = left {
            outcome.not_pinned.get_or_insert(left);
        }
        outcome
    }

    fn spawn(&self, job: &Job, environment: &[(String, String)], padding: usize) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command
            .arg0("tlbench")
            .args([SUBCOMMAND, &job.benchmark])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into()))
            .env("LC_ALL", "C")
            .envs(environment.iter().map(|(k, v)| (k, v)))
            .env("TLBENCH_PADDING", "x".repeat(padding))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        // SAFETY: getpid has no arguments.
        let parent = unsafe { libc::getpid() };
        // SAFETY: between fork and exec only prctl, getppid and _exit run, all async-signal-safe.
        unsafe {
            command.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                if libc::getppid() != parent {
                    libc::_exit(1);
                }
                Ok(())
            });
        }
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A worker that died at once is found by `watch`.
            let _ = stdin.write_all(&serde_json::to_vec(job)?);
        }
        Ok(child)
    }
}

impl Output {
    fn empty() -> Self {
        Output { report: Vec::new(), complaint: Vec::new() }
    }
}

/// Collects a worker's output until it ends, runs late, or the user interrupts.
fn watch(child: &mut Child, deadline: Instant, signals: &Signals) -> (Ended, Output) {
    let mut output = Output::empty();
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    for pipe in [stdout.as_ref().map(AsFd::as_fd), stderr.as_ref().map(AsFd::as_fd)].into_iter().flatten() {
        let _ = rustix::io::ioctl_fionbio(pipe, true);
    }
    loop {
        drain(&mut stdout, &mut output.report, MOST_REPORT);
        drain(&mut stderr, &mut output.complaint, MOST_COMPLAINT);
        if let Some(interrupt) = signals.interrupted() {
            return (Ended::Interrupted(interrupt), output);
        }
        match child.try_wait() {
            Ok(Some(status)) => {
                drain(&mut stdout, &mut output.report, MOST_REPORT);
                drain(&mut stderr, &mut output.complaint, MOST_COMPLAINT);
                return (
                    if status.success() { Ended::Reported } else { Ended::Crashed(status.to_string()) },
                    output,
                );
            }
            Ok(None) => {}
            Err(error) => return (Ended::Crashed(error.to_string()), output),
        }
        let Some(left) = deadline.checked_duration_since(Instant::now()).filter(|d| !d.is_zero()) else {
            return (Ended::TimedOut, output);
        };
        let mut fds = vec![PollFd::from_borrowed_fd(signals.wake_fd(), PollFlags::IN)];
        for pipe in [stdout.as_ref().map(AsFd::as_fd), stderr.as_ref().map(AsFd::as_fd)].into_iter().flatten()
        {
            fds.push(PollFd::from_borrowed_fd(pipe, PollFlags::IN));
        }
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let _ = rustix::event::poll(&mut fds, Some(&timeout));
        signals.drain();
    }
}

/// Moves what a non-blocking pipe holds into `into`, at most `most` bytes in all; `None` once it has ended.
fn drain<R: Read>(pipe: &mut Option<R>, into: &mut Vec<u8>, most: usize) {
    let Some(reader) = pipe else { return };
    let mut buffer = [0u8; 1 << 14];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => {
                *pipe = None;
                return;
            }
            Ok(n) => into.extend_from_slice(&buffer[..n.min(most - into.len().min(most))]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(_) => {
                *pipe = None;
                return;
            }
        }
    }
}

/// Kills what is left of a worker's process group and reaps it, orphans handed to us included.
fn end_group(child: &mut Child) {
    let group = child.id() as i32;
    // SAFETY: the group is our own worker's: its leader is unreaped or its id is still held by members.
    unsafe { libc::kill(-group, libc::SIGKILL) };
    let _ = child.wait();
    // SAFETY: waits only for children in that group.
    while unsafe { libc::waitpid(-group, std::ptr::null_mut(), 0) } > 0 {}
}

fn read_outcome(benchmark: &Benchmark, ended: Ended, output: &Output, deadline: Duration) -> WorkerOutcome {
    let report = matches!(ended, Ended::Reported).then(|| serde_json::from_slice::<Report>(&output.report));
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
            let complaint = String::from_utf8_lossy(&output.complaint);
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
