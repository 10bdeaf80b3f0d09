//! A helper process that outlives the coordinator by moments and removes what it left: also after `kill -9`.
//!
//! It holds the reading end of a pipe. While the coordinator lives it only notes what is told to it; when the pipe
//! closes, for whatever reason, it kills the current worker's process group, removes the run's System V objects, cgroup
//! and scratch directory, and ends.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::leftovers::Leftovers;
use crate::{Stop, cvt};

/// The coordinator's end.
pub struct Janitor {
    pid: libc::pid_t,
    tell: Option<File>,
}

impl Janitor {
    /// Forks the janitor of a run. Call while single-threaded.
    pub fn start(leftovers: &Leftovers) -> Result<Self, Stop> {
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .map_err(|e| Stop::fail(format!("pipe: {e}")))?;
        // SAFETY: the coordinator is single-threaded here, so the child may allocate.
        let pid = cvt("fork", unsafe { libc::fork() })?;
        if pid == 0 {
            drop(write);
            serve(read, leftovers);
        }
        Ok(Janitor { pid, tell: Some(File::from(write)) })
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Tells it the process group of the workers now running, 0 when none is, and how many there are.
    pub fn worker_group(&mut self, group: i32, copies: u32) {
        if let Some(tell) = &mut self.tell {
            // A janitor that was killed can't be told anything; the run goes on.
            // One write: each wakes the janitor.
            let _ = tell.write_all(format!("group {group} {copies}\n").as_bytes());
        }
    }

    /// Tells it the shell command that puts back what was changed; run once the coordinator is gone, unless replaced by
    /// an empty one before.
    pub fn undo(&mut self, command: &str) {
        if let Some(tell) = &mut self.tell {
            let _ = tell.write_all(&[b"undo ", command.replace('\n', ";").as_bytes(), b"\n"].concat());
        }
    }

    /// Tells it the run's scratch directory, before it is made.
    pub fn scratch(&mut self, path: &Path) {
        if let Some(tell) = &mut self.tell {
            let mut line = b"scratch ".to_vec();
            line.extend_from_slice(path.as_os_str().as_bytes());
            line.push(b'\n');
            let _ = tell.write_all(&line);
        }
    }
}

impl Drop for Janitor {
    fn drop(&mut self) {
        self.tell = None;
        // SAFETY: pid is our own unreaped child.
        unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) };
    }
}

fn serve(pipe: OwnedFd, leftovers: &Leftovers) -> ! {
    // SAFETY: only this process's own session, signals and descriptors are changed; no pointer outlives its call.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"tlbench-janitor".as_ptr());
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE] {
            libc::signal(signal, libc::SIG_IGN);
        }
        // The record and standard output must not stay open through us.
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for standard in 0..3 {
            libc::dup2(null, standard);
        }
    }
    let (mut group, mut copies) = (0, 1);
    let mut scratch = None;
    let mut undo = Vec::new();
    for line in BufReader::new(File::from(pipe)).split(b'\n').map_while(Result::ok) {
        if let Some(path) = line.strip_prefix(b"scratch ") {
            scratch = Some(PathBuf::from(OsStr::from_bytes(path)));
        } else if let Some(command) = line.strip_prefix(b"undo ") {
            undo = command.to_vec();
        } else if let Some(told) = line.strip_prefix(b"group ") {
            let mut words = std::str::from_utf8(told).unwrap_or("").split(' ');
            group = words.next().and_then(|word| word.parse::<i32>().ok()).unwrap_or(0);
            copies = words.next().and_then(|word| word.parse().ok()).unwrap_or(1);
        }
    }
    if group > 1 {
        // SAFETY: a negative pid addresses the process group told to us.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
    if !undo.is_empty() {
        let _ = std::process::Command::new("/bin/sh").arg("-c").arg(OsStr::from_bytes(&undo)).status();
    }
    leftovers.remove(copies);
    if let Some(scratch) = scratch {
        let _ = std::fs::remove_dir_all(scratch);
    }
    // SAFETY: ends this process without the coordinator's destructors.
    unsafe { libc::_exit(0) }
}
