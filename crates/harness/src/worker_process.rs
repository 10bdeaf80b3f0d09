//! Worker processes from the coordinator's side: started, watched together, ended together.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec};

use crate::coordinator::Ended;
use crate::worker::SUBCOMMAND;
use crate::{Job, Signals};

/// Longest text kept of a worker's standard error.
const MOST_COMPLAINT: usize = 4096;
/// Largest report accepted from a worker.
const MOST_REPORT: usize = 64 << 20;

/// One worker: the process, what it has said, and how it ended.
pub struct WorkerProcess {
    child: Child,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    /// Its standard output so far.
    pub report: Vec<u8>,
    /// Its standard error so far, cut to 4 KiB.
    pub complaint: Vec<u8>,
    /// How it ended, once it has.
    pub ended: Option<Ended>,
}

impl WorkerProcess {
    /// Starts `program` as a worker of `job` in the process group `group` (0: one of its own).
    pub fn start(
        program: &OsStr,
        job: &Job,
        environment: &[(String, String)],
        padding: usize,
        group: i32,
    ) -> io::Result<Self> {
        let mut command = Command::new(program);
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
            .process_group(group);
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
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let worker =
            WorkerProcess { child, stdout, stderr, report: Vec::new(), complaint: Vec::new(), ended: None };
        for pipe in worker.pipes() {
            let _ = rustix::io::ioctl_fionbio(pipe, true);
        }
        Ok(worker)
    }

    /// Its process id, which is its group's where it is the first.
    pub fn id(&self) -> i32 {
        self.child.id() as i32
    }

    fn pipes(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        [self.stdout.as_ref().map(AsFd::as_fd), self.stderr.as_ref().map(AsFd::as_fd)].into_iter().flatten()
    }

    /// Reads what it has said, and whether it has ended.
    fn look(&mut self) {
        let exited = self.child.try_wait();
        drain(&mut self.stdout, &mut self.report, MOST_REPORT);
        drain(&mut self.stderr, &mut self.complaint, MOST_COMPLAINT);
        self.ended = match exited {
            Ok(None) => return,
            Ok(Some(status)) if status.success() => Some(Ended::Reported),
            Ok(Some(status)) => Some(Ended::Crashed(status.to_string())),
            Err(error) => Some(Ended::Crashed(error.to_string())),
        };
    }
}

/// Collects the workers' output until all have ended, run late, or the user interrupts; `gone` hears the place of each
/// that ends by itself.
pub fn watch(
    workers: &mut [WorkerProcess],
    deadline: Instant,
    signals: &Signals,
    mut gone: impl FnMut(usize),
) {
    loop {
        for (place, worker) in workers.iter_mut().enumerate().filter(|(_, worker)| worker.ended.is_none()) {
            worker.look();
            if worker.ended.is_some() {
                gone(place);
            }
        }
        if workers.iter().all(|worker| worker.ended.is_some()) {
            return;
        }
        if let Some(interrupt) = signals.interrupted() {
            return end_all(workers, || Ended::Interrupted(interrupt));
        }
        let Some(left) = deadline.checked_duration_since(Instant::now()).filter(|d| !d.is_zero()) else {
            return end_all(workers, || Ended::TimedOut);
        };
        let mut fds = vec![PollFd::from_borrowed_fd(signals.wake_fd(), PollFlags::IN)];
        let pipes = workers.iter().flat_map(WorkerProcess::pipes);
        fds.extend(pipes.map(|pipe| PollFd::from_borrowed_fd(pipe, PollFlags::IN)));
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let _ = rustix::event::poll(&mut fds, Some(&timeout));
        signals.drain();
    }
}

fn end_all(workers: &mut [WorkerProcess], how: impl Fn() -> Ended) {
    for worker in workers.iter_mut().filter(|worker| worker.ended.is_none()) {
        worker.ended = Some(how());
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

/// Kills what is left of the workers' process group and reaps it, orphans handed to us included.
pub fn end_group(workers: &mut [WorkerProcess]) {
    let Some(group) = workers.first().map(WorkerProcess::id) else { return };
    // SAFETY: the group is our own workers': its leader is unreaped or its id is still held by members.
    unsafe { libc::kill(-group, libc::SIGKILL) };
    for worker in workers {
        let _ = worker.child.wait();
    }
    // SAFETY: waits only for children in that group.
    while unsafe { libc::waitpid(-group, std::ptr::null_mut(), 0) } > 0 {}
}
