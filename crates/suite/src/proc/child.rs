//! Raw fork and wait, without what a C library adds.

use std::io;

use harness::prelude::*;

/// A raw fork (`clone` with SIGCHLD alone): returns the child's process id, or 0 in the child. The child must call
/// only [`exit`] and `execve`: no C library handler has run in it.
#[inline]
pub fn fork() -> Result<libc::pid_t, Stop> {
    // SAFETY: no pointers are passed; the caller's child does only what is said above.
    let pid = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0usize, 0usize, 0usize, 0usize) };
    cvt("fork", pid).map(|pid| pid as libc::pid_t)
}

/// Ends a child at once.
#[inline]
pub fn exit(status: i32) -> ! {
    // SAFETY: ends the process; nothing of the parent's is run.
    unsafe { libc::syscall(libc::SYS_exit_group, status) };
    unreachable!("exit_group does not return")
}

/// Waits for `pid` and returns its status word and minor faults.
pub fn wait(pid: libc::pid_t) -> Result<(i32, u64), Stop> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: status and usage are valid for the call to fill.
        let got = unsafe { libc::syscall(libc::SYS_wait4, pid, &raw mut status, 0, &raw mut usage) };
        if got == i64::from(pid) {
            return Ok((status, usage.ru_minflt as u64));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(Stop::unavailable("wait4", &error));
        }
    }
}

/// Waits for `pid`, which must exit with 0; returns its minor faults.
#[inline]
pub fn reap(pid: libc::pid_t) -> Result<u64, Stop> {
    let (status, faults) = wait(pid)?;
    if status != 0 {
        return Err(Stop::fail(format!("a child ended with wait status {status:#x} instead of 0")));
    }
    Ok(faults)
}
