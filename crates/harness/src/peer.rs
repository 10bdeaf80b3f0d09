//! A forked second process of a benchmark, which never outlives it.

use std::io;

use crate::affinity::pin_to;
use crate::{Stop, cvt};

/// A child process; killed and reaped when dropped.
pub struct Peer {
    pid: libc::pid_t,
}

impl Peer {
    /// Forks a child that pins itself to `cpu` (if any), runs `body` and exits with its result. The child dies with
    /// its parent. `body` runs in a copy of this single-threaded process.
    pub fn spawn(cpu: Option<usize>, body: impl FnOnce() -> Result<(), Stop>) -> Result<Peer, Stop> {
        // SAFETY: workers fork while single-threaded, so the child may use everything the parent may.
        let parent = unsafe { libc::getpid() };
        // SAFETY: as above.
        let pid = cvt("fork", unsafe { libc::fork() })?;
        if pid > 0 {
            return Ok(Peer { pid });
        }
        let die_with_parent = Self::die_with(parent);
        let pinned = cpu.map_or(Ok(()), |cpu| pin_to(&[cpu]).map_err(Stop::Fail));
        let code = match die_with_parent.and(pinned).and_then(|()| body()) {
            Ok(()) => 0,
            Err(_) => 1,
        };
        // SAFETY: _exit ends the child without running the parent's destructors.
        unsafe { libc::_exit(code) }
    }

    /// Asks the kernel to kill the calling process when `parent` dies, and checks that it has not died already.
    pub fn die_with(parent: libc::pid_t) -> Result<(), Stop> {
        // SAFETY: no pointers are passed.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() != parent {
                libc::_exit(0);
            }
        }
        Ok(())
    }

    /// The child's process id.
    pub fn pid(&self) -> libc::pid_t {
        self.pid
    }

    /// Waits for the child to end by itself; anything but exit status 0 is a failure.
    pub fn join(mut self) -> Result<(), Stop> {
        let pid = std::mem::replace(&mut self.pid, 0);
        let mut status = 0;
        loop {
            // SAFETY: status is a valid int for the call to fill.
            let got = unsafe { libc::waitpid(pid, &mut status, 0) };
            if got == pid {
                break;
            }
            if got == -1 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return Err(Stop::fail("the peer process was lost"));
            }
        }
        if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0 {
            Ok(())
        } else {
            Err(Stop::fail(format!("the peer process ended with status {status:#x}")))
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if self.pid > 0 {
            // SAFETY: pid is our own unreaped child, so it can't have been reused.
            unsafe {
                libc::kill(self.pid, libc::SIGKILL);
                libc::waitpid(self.pid, std::ptr::null_mut(), 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_peer_is_gone_and_a_failing_one_is_told() {
        let peer = Peer::spawn(None, || {
            loop {
                std::thread::sleep(std::time::Duration::from_secs(1));
            }
        })
        .unwrap();
        let pid = peer.pid();
        drop(peer);
        // SAFETY: signal 0 only asks whether the process exists.
        assert_eq!(unsafe { libc::kill(pid, 0) }, -1);
        assert!(Peer::spawn(None, || Ok(())).unwrap().join().is_ok());
        assert!(Peer::spawn(None, || Err(Stop::fail("x"))).unwrap().join().is_err());
    }
}
