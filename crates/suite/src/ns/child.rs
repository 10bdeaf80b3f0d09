//! A child made by clone3 that ends at once.

use std::io;

use harness::Stop;

/// Makes a child with `flags` (in cgroup descriptor `cgroup` with CLONE_INTO_CGROUP) that exits at once, and waits
/// for it. The error is that of clone3, which a caller may expect.
pub fn come_and_go(flags: u64, cgroup: u64) -> Result<(), CloneError> {
    // SAFETY: an all-zero clone_args asks for a plain fork without a signal.
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = flags;
    arguments.exit_signal = libc::SIGCHLD as u64;
    arguments.cgroup = cgroup;
    // SAFETY: the arguments live through the call; without CLONE_VM the child has a copy of everything, and it only
    // calls _exit.
    let pid = unsafe {
        let pid = libc::syscall(libc::SYS_clone3, &raw mut arguments, size_of::<libc::clone_args>());
        if pid == 0 {
            libc::_exit(0);
        }
        pid
    };
    if pid == -1 {
        return Err(CloneError::Refused(io::Error::last_os_error()));
    }
    let mut status = 0;
    // SAFETY: status is a valid int for the call to fill.
    let reaped = unsafe { libc::waitpid(pid as i32, &mut status, 0) };
    if i64::from(reaped) == pid && status == 0 { Ok(()) } else { Err(CloneError::Lost) }
}

/// Why a child did not come and go.
#[derive(Debug)]
pub enum CloneError {
    /// clone3 failed.
    Refused(io::Error),
    /// The child did not exit with status 0.
    Lost,
}

impl From<CloneError> for Stop {
    fn from(error: CloneError) -> Self {
        match error {
            CloneError::Refused(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                Stop::skip("this kernel's clone3 does not know the flag")
            }
            CloneError::Refused(error) => Stop::unavailable("clone3", &error),
            CloneError::Lost => Stop::fail("work not done: the child did not exit with status 0"),
        }
    }
}
