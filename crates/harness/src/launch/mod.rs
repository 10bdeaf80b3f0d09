//! Foreign commands as measured processes: started small, held until the clock is read, waited for with their resource
//! usage, and gone with everything they started.

mod descendants;
mod held;
mod program;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

pub use held::{Finished, Held, RunEnd, Usage, Watch};

/// Descriptors from here on are looked at for the launcher's socket: above what people redirect by hand.
const FIRST_SOCKET: i32 = 100;
/// How long the launcher may take to start on a machine that is busy beyond reason.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command to run.
pub struct Order<'a> {
    /// The file to execute ([`find_program`]).
    pub program: &'a Path,
    /// The whole argument vector, the name first.
    pub arguments: &'a [OsString],
    /// Variables added to the environment.
    pub environment: &'a [(OsString, OsString)],
    /// Working directory; this process's own without.
    pub directory: Option<&'a Path>,
    /// Standard input.
    pub stdin: Stdio,
    /// Standard output.
    pub stdout: Stdio,
    /// Standard error.
    pub stderr: Stdio,
    /// A process group of its own; without, it shares ours and with it the terminal.
    pub own_group: bool,
}

/// Starts commands through the small launcher program.
pub struct Launcher {
    program: PathBuf,
    /// Keeps the number of the launcher's socket taken between launches.
    place: OwnedFd,
    /// The memory file behind `program`, or whatever else fills `place` meanwhile.
    file: OwnedFd,
}

impl Launcher {
    /// Writes the launcher to a memory file, or into `scratch` where those can't be executed.
    pub fn new(scratch: &Path) -> io::Result<Self> {
        let unsupported =
            || io::Error::new(io::ErrorKind::Unsupported, "no launcher program for this architecture yet");
        let anchor = File::open("/dev/null")?;
        // SAFETY: duplicates an open descriptor; the new one is owned here alone.
        let place = unsafe {
            let number = libc::fcntl(anchor.as_raw_fd(), libc::F_DUPFD_CLOEXEC, FIRST_SOCKET);
            if number == -1 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(number)
        };
        let image = program::program(place.as_raw_fd()).ok_or_else(unsupported)?;
        if let Ok(memory) = rustix::fs::memfd_create("tlbench-launcher", rustix::fs::MemfdFlags::CLOEXEC) {
            let mut file = File::from(memory);
            file.write_all(&image)?;
            let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
            if is_executable(&path).is_ok() {
                return Ok(Launcher { program: path, place, file: file.into() });
            }
        }
        let path = scratch.join("launcher");
        std::fs::write(&path, &image)?;
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        Ok(Launcher { program: path, place, file: anchor.into() })
    }

    /// Starts `order` up to the point where only its release is missing.
    pub fn hold(&self, order: Order<'_>) -> io::Result<Held> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new(&self.program);
        command
            .arg0(order.program)
            .args(order.arguments)
            .envs(order.environment.iter().map(|(name, value)| (name, value)))
            .stdin(order.stdin)
            .stdout(order.stdout)
            .stderr(order.stderr);
        if order.own_group {
            command.process_group(0);
        }
        if let Some(directory) = order.directory {
            command.current_dir(directory);
        }
        self.occupy(theirs.as_raw_fd(), 0)?;
        let started = command.spawn();
        let restored = self.occupy(self.file.as_raw_fd(), libc::O_CLOEXEC);
        drop(theirs);
        let mut launcher = started?;
        let group = if order.own_group { launcher.id() as i32 } else { 0 };
        let pipes = (launcher.stdout.take().map(OwnedFd::from), launcher.stderr.take().map(OwnedFd::from));
        let mut held = Held::new(launcher, group, ours, pipes);
        restored?;
        held.learn_pid(PATIENCE)?;
        Ok(held)
    }

    /// Puts a copy of `descriptor` at the number of the launcher's socket.
    fn occupy(&self, descriptor: i32, flags: i32) -> io::Result<()> {
        // SAFETY: both are open descriptors of this process, and the target's number belongs to this launcher.
        let done = unsafe {
            if flags == 0 {
                libc::dup2(descriptor, self.place.as_raw_fd())
            } else {
                libc::dup3(descriptor, self.place.as_raw_fd(), flags)
            }
        };
        if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
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

/// Reads a whole 4-byte message of the launcher; `None` at the end of the socket.
fn message(socket: &mut UnixStream) -> io::Result<Option<i32>> {
    let mut word = [0u8; 4];
    match socket.read_exact(&mut word) {
        Ok(()) => Ok(Some(i32::from_le_bytes(word))),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}
