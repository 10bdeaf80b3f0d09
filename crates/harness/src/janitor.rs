//! A helper process that outlives the coordinator by moments and removes what it left: also after `kill -9`.
//!
//! It holds the reading end of a pipe. While the coordinator lives it only notes what is told to it; when the pipe
//! closes, for whatever reason, it kills the current worker's process group, removes the run's System V objects, cgroup
//! and scratch directory, and ends. The group changes with every run: it stands in memory that both share, so that the
//! janitor need not wake, beside what is measured, to take note of it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use crate::leftovers::Leftovers;
use crate::{Stop, cvt};

/// The coordinator's end.
pub struct Janitor {
    pid: libc::pid_t,
    tell: Option<File>,
    watched: Shared,
}

impl Janitor {
    /// Forks the janitor of a run. Call while single-threaded.
    pub fn start(leftovers: &Leftovers) -> Result<Self, Stop> {
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .map_err(|e| Stop::fail(format!("pipe: {e}")))?;
        let watched = Shared::new().map_err(|e| Stop::fail(format!("mmap: {e}")))?;
        // SAFETY: the coordinator is single-threaded here, so the child may allocate.
        let pid = cvt("fork", unsafe { libc::fork() })?;
        if pid == 0 {
            drop(write);
            serve(read, leftovers, &watched);
        }
        Ok(Janitor { pid, tell: Some(File::from(write)), watched })
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Tells it the process group of the workers now running, 0 when none is, and how many there are.
    pub fn worker_group(&mut self, group: i32, copies: u32) {
        let watched = self.watched.get();
        watched.copies.store(copies, Ordering::Relaxed);
        watched.group.store(group, Ordering::Release);
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

/// What runs at the moment.
struct Watched {
    /// Process group of the workers, 0 for none.
    group: AtomicI32,
    /// How many they are.
    copies: AtomicU32,
}

/// A [`Watched`] in memory that a forked process shares.
struct Shared(NonNull<Watched>);

impl Shared {
    fn new() -> rustix::io::Result<Self> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let memory =
            unsafe { mmap_anonymous(std::ptr::null_mut(), size_of::<Watched>(), access, MapFlags::SHARED)? };
        // A mapping is never at 0; its zeros are no group.
        NonNull::new(memory.cast()).map(Shared).ok_or(rustix::io::Errno::NOMEM)
    }

    fn get(&self) -> &Watched {
        // SAFETY: mapped, page-aligned and zeroed by the kernel; both processes only use the atomics in it.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: our own mapping, of which no reference is left.
        let _ = unsafe { rustix::mm::munmap(self.0.as_ptr().cast(), size_of::<Watched>()) };
    }
}

// SAFETY: the pointer is to memory of the process, not of a thread, and only atomics are used in it.
unsafe impl Send for Shared {}

impl Drop for Janitor {
    fn drop(&mut self) {
        self.tell = None;
        // SAFETY: pid is our own unreaped child.
        unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) };
    }
}

fn serve(pipe: OwnedFd, leftovers: &Leftovers, watched: &Shared) -> ! {
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
    let mut scratch = None;
    let mut undo = Vec::new();
    for line in BufReader::new(File::from(pipe)).split(b'\n').map_while(Result::ok) {
        if let Some(path) = line.strip_prefix(b"scratch ") {
            scratch = Some(PathBuf::from(OsStr::from_bytes(path)));
        } else if let Some(command) = line.strip_prefix(b"undo ") {
            undo = command.to_vec();
        }
    }
    let group = watched.get().group.load(Ordering::Acquire);
    let copies = watched.get().copies.load(Ordering::Relaxed);
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
