//! Standard streams of a command.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::pipe::{PipeFlags, pipe_with};

/// Where a standard stream of a command comes from or goes to.
#[derive(Debug)]
pub enum Redirection {
    /// `/dev/null`.
    Null,
    /// The same stream of this process.
    Inherit,
    /// A pipe to us; of standard input one that is at its end.
    Pipe,
    /// This file.
    File(File),
}

/// The end that the command gets, and ours, if it is a pipe.
pub(super) struct Ends<'a> {
    theirs: End<'a>,
    ours: Option<OwnedFd>,
}

/// An open descriptor of the command's.
pub(super) enum End<'a> {
    /// To be closed once the command has it.
    Owned(OwnedFd),
    /// One that we keep.
    Kept(BorrowedFd<'a>),
}

impl End<'_> {
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            End::Owned(owned) => owned.as_fd(),
            End::Kept(borrowed) => *borrowed,
        }
    }
}

impl<'a> Ends<'a> {
    /// Opens what standard stream `number` needs; `null` is `/dev/null`.
    pub(super) fn of(redirection: Redirection, number: i32, null: BorrowedFd<'a>) -> io::Result<Self> {
        let theirs = match redirection {
            Redirection::File(file) => End::Owned(file.into()),
            // SAFETY: the standard library opens the standard streams at the start where they are closed, and nothing closes
            // them.
            Redirection::Inherit => End::Kept(unsafe { BorrowedFd::borrow_raw(number) }),
            Redirection::Pipe if number == libc::STDIN_FILENO => End::Owned(pipe_with(PipeFlags::CLOEXEC)?.0),
            Redirection::Pipe => {
                let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
                return Ok(Ends { theirs: End::Owned(write), ours: Some(read) });
            }
            Redirection::Null => End::Kept(null),
        };
        Ok(Ends { theirs, ours: None })
    }

    pub(super) fn split(self) -> (End<'a>, Option<OwnedFd>) {
        (self.theirs, self.ours)
    }
}
