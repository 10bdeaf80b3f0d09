//! Foreign commands as measured processes: started small, held until the clock is read, waited for with their resource
//! usage, and gone with everything they started.

mod descendants;
mod held;
mod program;
mod resident;
mod script;
mod streams;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;

pub use held::{Finished, Held, RunEnd, Usage, Watch};
pub use streams::Redirection;

use descendants::Children;
use resident::Resident;
use script::Words;
use streams::Ends;

/// A command to run.
pub struct Order<'a> {
    /// The file to execute ([`find_program`]).
    pub program: &'a Path,
    /// The whole argument vector, the name first.
    pub arguments: &'a [OsString],
    /// Variables added to the environment.
    pub environment: &'a [(OsString, OsString)],
    /// Working directory, absolute; the one this process had when it made the launcher without.
    pub directory: Option<&'a Path>,
    /// Standard input.
    pub stdin: Redirection,
    /// Standard output.
    pub stdout: Redirection,
    /// Standard error.
    pub stderr: Redirection,
    /// A process group of its own; without, it shares ours and with it the terminal.
    pub own_group: bool,
}

/// Starts commands through a small program that stays.
pub struct Launcher {
    scratch: PathBuf,
    null: File,
    children: Option<Rc<Children>>,
    resident: Option<Resident>,
}

impl Launcher {
    /// Starts the launcher. Its files lie in memory, or in `scratch` where those can't be executed.
    pub fn new(scratch: &Path) -> io::Result<Self> {
        let null = File::options().read(true).write(true).open("/dev/null")?;
        let resident = Some(Resident::start(scratch)?);
        let children = Children::open().map(Rc::new);
        Ok(Launcher { scratch: scratch.to_owned(), null, children, resident })
    }

    /// Process id of the launcher, while it runs.
    pub fn pid(&self) -> Option<i32> {
        self.resident.as_ref().map(Resident::pid)
    }

    /// Starts `order` up to the point where only its release is missing. After an error the next order gets a new launcher.
    pub fn hold(&mut self, order: Order<'_>) -> io::Result<Held> {
        let mut resident = match self.resident.take() {
            Some(resident) => resident,
            None => Resident::start(&self.scratch)?,
        };
        let null = self.null.as_fd();
        let [(input, _), (output, stdout), (error, stderr)] = [
            Ends::of(order.stdin, libc::STDIN_FILENO, null)?.split(),
            Ends::of(order.stdout, libc::STDOUT_FILENO, null)?.split(),
            Ends::of(order.stderr, libc::STDERR_FILENO, null)?.split(),
        ];
        let arguments: Vec<&OsStr> = order.arguments.iter().map(OsString::as_os_str).collect();
        let inherited: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let is_kept = |name: &OsStr| order.environment.iter().all(|(added, _)| added != name);
        let kept = inherited.iter().filter(|(name, _)| is_kept(name));
        let environment: Vec<(&OsStr, &OsStr)> = kept
            .chain(order.environment)
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
            .collect();
        let words = Words {
            program: order.program.as_os_str(),
            arguments: &arguments,
            environment: &environment,
            directory: order.directory.map(Path::as_os_str),
            // SAFETY: asks only for a number.
            group: if order.own_group { 0 } else { unsafe { libc::getpgrp() } },
        };
        let streams = [&input, &output, &error].map(|end| end.as_fd());
        let held =
            resident.hold(&words, streams)?.with_pipes(stdout, stderr).with_children(self.children.clone());
        self.resident = Some(resident).filter(Resident::is_fresh);
        Ok(held)
    }
}

/// The file that `name` stands for: itself when it holds a slash (seen from `directory`), else the first executable of
/// that name in `PATH`.
pub fn find_program(name: &OsStr, directory: Option<&Path>) -> io::Result<PathBuf> {
    let path = Path::new(name);
    let here = |path: &Path| directory.map_or_else(|| path.to_owned(), |directory| directory.join(path));
    if name.as_encoded_bytes().contains(&b'/') {
        return is_executable(&here(path)).map(|()| path.to_owned());
    }
    let search = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let mut refused = io::Error::new(io::ErrorKind::NotFound, "no such command in PATH");
    for folder in std::env::split_paths(&search) {
        let candidate = here(&folder.join(path));
        match is_executable(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

fn is_executable(path: &Path) -> io::Result<()> {
    if std::fs::metadata(path)?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "is a directory"));
    }
    Ok(rustix::fs::access(path, rustix::fs::Access::EXEC_OK)?)
}

/// Reads what a non-blocking descriptor holds, at most one buffer; nothing at its end.
fn read_some<'b>(from: &OwnedFd, buffer: &'b mut [MaybeUninit<u8>]) -> io::Result<&'b mut [u8]> {
    Ok(rustix::io::read(from, buffer)?.0)
}
