//! Interruptions: SIGINT, SIGTERM and SIGHUP become a flag and wake a poll.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The signal that asked the program to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupt(pub i32);

impl Interrupt {
    /// 128 + signal: 130 for SIGINT, 143 for SIGTERM.
    pub fn exit_code(self) -> u8 {
        128u8.saturating_add(u8::try_from(self.0).unwrap_or(0))
    }
}

/// Registered handlers; create one, early.
pub struct Signals {
    received: Arc<AtomicUsize>,
    wake: OwnedFd,
}

impl Signals {
    /// Installs the handlers. SIGCHLD only wakes.
    pub fn install() -> io::Result<Self> {
        let (wake, write) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC | rustix::pipe::PipeFlags::NONBLOCK)?;
        let received = Arc::new(AtomicUsize::new(0));
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            signal_hook::flag::register_usize(signal, Arc::clone(&received), signal as usize)?;
        }
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGCHLD] {
            signal_hook::low_level::pipe::register(signal, write.try_clone()?)?;
        }
        Ok(Signals { received, wake })
    }

    /// The interruption received so far, if any.
    pub fn interrupted(&self) -> Option<Interrupt> {
        match self.received.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(Interrupt(signal as i32)),
        }
    }

    /// Readable after any signal.
    pub fn wake_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Empties the wake pipe.
    pub fn drain(&self) {
        let mut buffer = [0u8; 64];
        while matches!(rustix::io::read(&self.wake, &mut buffer), Ok(n) if n > 0) {}
    }
}
