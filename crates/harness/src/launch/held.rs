//! A started command: held until released, then waited for.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

use super::descendants::Children;
use super::script::Memory;
use super::{descendants, read_some};
use crate::{Clock, Interrupt, Signals};

/// What is kept of the end of a command's standard error.
const MOST_COMPLAINT: usize = 4096;

/// Pieces of 64 KiB taken from a pipe before looking up; the last look takes what the largest usual pipe can hold.
const MOST_PIECES: usize = 32;

/// `PTRACE_EVENT_STOP` of `linux/ptrace.h`.
const EVENT_STOP: i32 = 128;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// It exited with this status.
    Exited(i32),
    /// This signal killed it.
    Killed(i32),
    /// It was still running at its deadline.
    TimedOut,
    /// It stopped to wait for a terminal that it does not own (SIGTTIN or SIGTTOU), and would wait for ever.
    WantsTerminal,
    /// The user asked to stop.
    Interrupted(Interrupt),
    /// It could not be executed; errno.
    NotExecuted(i32),
}

/// What the kernel charged the command and the descendants it waited for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// CPU time in user mode, ns; the split from `system_ns` may be sampled at clock ticks, the sum is exact.
    pub user_ns: f64,
    /// CPU time in the kernel, ns.
    pub system_ns: f64,
    /// Largest resident set of any one of its processes, bytes.
    pub max_rss_bytes: u64,
    /// Page faults without input or output.
    pub minor_faults: u64,
    /// Page faults that read from a device.
    pub major_faults: u64,
    /// Context switches of its own will.
    pub voluntary_switches: u64,
    /// Context switches forced on it.
    pub involuntary_switches: u64,
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Finished {
    /// From the moment before its release to the moment its end was seen, ns.
    pub wall_ns: f64,
    /// How it ended.
    pub end: RunEnd,
    /// What it used.
    pub usage: Usage,
    /// The end of what it said on a captured standard error.
    pub complaint: Vec<u8>,
    /// Processes it left behind, which were killed.
    pub left_behind: usize,
}

/// How a run is watched.
pub struct Watch<'a> {
    /// The clock.
    pub clock: &'a Clock,
    /// Our own signals; SIGCHLD wakes the wait.
    pub signals: &'a Signals,
    /// Whether an interruption ends the run. False for commands that put things back.
    pub heed_interrupts: bool,
    /// Longest time it may take.
    pub limit: Option<Duration>,
    /// Children of ours that are no business of the command and stay.
    pub keep: &'a [i32],
}

/// A command that waits for its release. Dropped, it and everything it started is killed and reaped.
pub struct Held {
    /// Process id of the launcher, which stays.
    launcher: i32,
    pid: i32,
    group: i32,
    memory: Rc<Memory>,
    children: Option<Rc<Children>>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
}

impl Held {
    pub(super) fn new(launcher: i32, pid: i32, group: i32, memory: Rc<Memory>) -> Self {
        Held { launcher, pid, group, memory, children: None, stdout: None, stderr: None }
    }

    pub(super) fn with_children(mut self, children: Option<Rc<Children>>) -> Self {
        self.children = children;
        self
    }

    pub(super) fn with_pipes(mut self, stdout: Option<OwnedFd>, stderr: Option<OwnedFd>) -> Self {
        (self.stdout, self.stderr) = (stdout, stderr);
        self
    }

    /// Process id of the command.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Its process group, when it has one of its own.
    pub fn group(&self) -> Option<i32> {
        (self.group > 0).then_some(self.group)
    }

    /// Lets it go and waits for its end. Captured standard output goes to `output` piece by piece. Afterwards none of
    /// its processes is left.
    pub fn run(mut self, watch: &Watch<'_>, output: &mut dyn FnMut(&[u8])) -> io::Result<Finished> {
        let Watch { clock, signals, .. } = *watch;
        for pipe in [&self.stdout, &self.stderr].into_iter().flatten() {
            rustix::io::ioctl_fionbio(pipe, true)?;
        }
        let deadline = watch.limit.map(|limit| Instant::now() + limit);
        let mut complaint = Vec::new();
        let start = clock.stamp();
        self.memory.release();
        let (end, stop) = loop {
            let now = clock.stamp();
            if let Some(end) = ended(self.pid)? {
                break (end, now);
            }
            if let Some(interrupt) = signals.interrupted().filter(|_| watch.heed_interrupts) {
                break (RunEnd::Interrupted(interrupt), now);
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                break (RunEnd::TimedOut, now);
            }
            self.drain(output, &mut complaint);
            self.wait_for_news(signals, deadline);
        };
        let usage = self.stop_and_reap()?;
        self.pid = 0;
        let left_behind = descendants::end_all(self.children.as_deref(), watch.keep, self.launcher);
        self.drain(output, &mut complaint);
        let end = match self.memory.not_executed() {
            Some(refused) if end == RunEnd::Exited(127) => RunEnd::NotExecuted(refused),
            _ => end,
        };
        Ok(Finished { wall_ns: clock.ns(stop.saturating_sub(start)), end, usage, complaint, left_behind })
    }

    /// Sleeps until a child changes state, a pipe has something, a signal comes or the deadline is there.
    fn wait_for_news(&self, signals: &Signals, deadline: Option<Instant>) {
        let mut watched = vec![PollFd::from_borrowed_fd(signals.wake_fd(), PollFlags::IN)];
        for pipe in [&self.stdout, &self.stderr].into_iter().flatten() {
            watched.push(PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN));
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let timeout =
            left.map(|l| Timespec { tv_sec: l.as_secs() as i64, tv_nsec: i64::from(l.subsec_nanos()) });
        let _ = rustix::event::poll(&mut watched, timeout.as_ref());
        signals.drain();
    }

    /// Moves what the pipes hold: standard output on to `output`, of standard error the end.
    fn drain(&mut self, output: &mut dyn FnMut(&[u8]), complaint: &mut Vec<u8>) {
        let mut keep_end = |piece: &[u8]| {
            complaint.extend_from_slice(piece);
            let surplus = complaint.len().saturating_sub(MOST_COMPLAINT);
            complaint.drain(..surplus);
        };
        drain(&mut self.stdout, output);
        drain(&mut self.stderr, &mut keep_end);
    }

    /// Kills what is left of the command and its group, and reaps the command itself.
    fn stop_and_reap(&mut self) -> io::Result<Usage> {
        self.kill();
        // SAFETY: an all-zero rusage is valid.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: pid is our own unreaped child; usage is valid for the call to fill.
        while unsafe { libc::wait4(self.pid, std::ptr::null_mut(), 0, &mut usage) } == -1 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        Ok(usage_of(&usage))
    }

    fn kill(&self) {
        // SAFETY: pid is our own unreaped child, so that its number, which is the group's too, is not used again.
        unsafe {
            if self.group > 0 {
                libc::kill(-self.group, libc::SIGKILL);
            }
            libc::kill(self.pid, libc::SIGKILL);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.pid > 0 {
            let _ = self.stop_and_reap();
        }
    }
}

/// How `pid` ended, if it has; it is not reaped. A stop for want of a terminal counts as an end.
fn ended(pid: i32) -> io::Result<Option<RunEnd>> {
    // SAFETY: an all-zero siginfo is valid.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let wanted = libc::WEXITED | libc::WSTOPPED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: info is valid for the call to fill.
    if unsafe { libc::waitid(libc::P_PID, pid as libc::id_t, &mut info, wanted) } == -1 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::Interrupted { Ok(None) } else { Err(error) };
    }
    // SAFETY: waitid filled in the fields of a child's change of state, or left all zero.
    let (who, status) = unsafe { (info.si_pid(), info.si_status()) };
    Ok(match info.si_code {
        _ if who == 0 => None,
        libc::CLD_EXITED => Some(RunEnd::Exited(status)),
        libc::CLD_KILLED | libc::CLD_DUMPED => Some(RunEnd::Killed(status)),
        libc::CLD_STOPPED if wants_terminal(status) => Some(RunEnd::WantsTerminal),
        // Of a traced command only the group stop counts, not the signal on its way.
        libc::CLD_TRAPPED if status >> 8 == EVENT_STOP && wants_terminal(status & 0xff) => {
            Some(RunEnd::WantsTerminal)
        }
        _ => None,
    })
}

fn wants_terminal(signal: i32) -> bool {
    signal == libc::SIGTTIN || signal == libc::SIGTTOU
}

fn drain(pipe: &mut Option<OwnedFd>, take: &mut dyn FnMut(&[u8])) {
    // Not zeroed: most looks find nothing.
    let mut buffer = [MaybeUninit::<u8>::uninit(); 1 << 16];
    // Bounded, so that a command that never stops printing can't keep us from its deadline.
    for _ in 0..MOST_PIECES {
        let Some(open) = pipe else { return };
        match read_some(open, &mut buffer) {
            Ok(piece) if !piece.is_empty() => take(piece),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => *pipe = None,
        }
    }
}

fn usage_of(usage: &libc::rusage) -> Usage {
    let ns = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
    Usage {
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        max_rss_bytes: usage.ru_maxrss.max(0) as u64 * 1024,
        minor_faults: usage.ru_minflt.max(0) as u64,
        major_faults: usage.ru_majflt.max(0) as u64,
        voluntary_switches: usage.ru_nvcsw.max(0) as u64,
        involuntary_switches: usage.ru_nivcsw.max(0) as u64,
    }
}
