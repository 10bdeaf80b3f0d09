//! Why a benchmark yields no number.

use std::io;

/// A benchmark's early end.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// This machine, user or budget can't do it; says why. Never changes an exit code.
    #[error("{0}")]
    Skip(String),
    /// The work was not done as declared; the number must not be used.
    #[error("{0}")]
    Fail(String),
}

impl Stop {
    /// A skip with its reason.
    pub fn skip(reason: impl Into<String>) -> Self {
        Stop::Skip(reason.into())
    }

    /// A failure with its reason.
    pub fn fail(reason: impl Into<String>) -> Self {
        Stop::Fail(reason.into())
    }

    /// The failure of a system call that this machine may simply not offer: missing, forbidden or out of resources
    /// is a skip, anything else a failure.
    pub fn unavailable(what: &str, error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(
                libc::ENOSYS
                | libc::EPERM
                | libc::EACCES
                | libc::EOPNOTSUPP
                | libc::EMFILE
                | libc::ENFILE
                | libc::ENOMEM
                | libc::ENOSPC
                | libc::EROFS
                | libc::EAGAIN,
            ) => Stop::Skip(format!("{what}: {error}")),
            _ => Stop::Fail(format!("{what}: {error}")),
        }
    }
}

/// Turns a `-1` return into a [`Stop`] that names the call (see [`Stop::unavailable`]).
pub fn cvt<T: Into<i64> + Copy>(what: &str, returned: T) -> Result<T, Stop> {
    if returned.into() == -1 {
        Err(Stop::unavailable(what, &io::Error::last_os_error()))
    } else {
        Ok(returned)
    }
}

/// The proof that work was done: fails with `what` unless `done`.
pub fn check(done: bool, what: &str) -> Result<(), Stop> {
    if done { Ok(()) } else { Err(Stop::Fail(format!("work not done: {what}"))) }
}
