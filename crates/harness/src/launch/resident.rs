//! The launcher as a process.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use rustix::fs::MemfdFlags;
use rustix::io::FdFlags;

use super::script::{Memory, Words};
use super::{Held, is_executable, program};

/// How long a command may take to start on a machine that is busy beyond reason.
const PATIENCE: Duration = Duration::from_secs(60);

/// Words of a command, bytes, above which the launcher has grown so large that another command would show it.
const MOST_WORDS: usize = 64 << 10;

/// A running launcher that waits for work. Dropped, it is killed and reaped.
pub(super) struct Resident {
    process: Child,
    socket: UnixStream,
    memory: Rc<Memory>,
    worn: bool,
}

/// The child's standard streams.
pub(super) type Streams<'a> = [BorrowedFd<'a>; 3];

impl Resident {
    /// Starts it. Files are memory files, or lie in `scratch` where those can't be had or executed.
    pub(super) fn start(scratch: &Path) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(PATIENCE))?;
        let file = memory_file(scratch)?;
        let memory = Rc::new(Memory::new(&file, theirs.as_raw_fd())?);
        let image = program::program(file.as_raw_fd()).ok_or_else(|| {
            io::Error::new(io::ErrorKind::Unsupported, "no launcher program for this architecture yet")
        })?;
        let executable = Executable::of(&image, scratch)?;
        let mut command = Command::new(&executable.path);
        command.arg0("tlbench-launcher").env_clear();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // The terminal's signals are for us; it ends when we do.
        command.process_group(0);
        let handed_on = [theirs.as_fd(), file.as_fd()];
        for descriptor in handed_on {
            rustix::io::fcntl_setfd(descriptor, FdFlags::empty())?;
        }
        let started = command.spawn();
        for descriptor in handed_on {
            rustix::io::fcntl_setfd(descriptor, FdFlags::CLOEXEC)?;
        }
        Ok(Resident { process: started?, socket: ours, memory, worn: false })
    }

    /// Its process id.
    pub(super) fn pid(&self) -> i32 {
        self.process.id() as i32
    }

    /// False when the next command needs a new one.
    pub(super) fn is_fresh(&self) -> bool {
        !self.worn
    }

    /// Starts a command up to the point where only its release is missing.
    pub(super) fn hold(&mut self, words: &Words<'_>, streams: Streams<'_>) -> io::Result<Held> {
        self.worn = self.memory.prepare(words)? > MOST_WORDS;
        send(&self.socket, streams).map_err(gone)?;
        self.socket.read_exact(&mut [0]).map_err(gone)?;
        let pid = self.memory.child().map_err(|error| {
            let advice = "no process could be started (too many, or too little memory?)";
            io::Error::new(error.kind(), format!("{advice}: {error}"))
        })?;
        let group = if words.group == 0 { pid } else { 0 };
        let held = Held::new(self.pid(), pid, group, Rc::clone(&self.memory));
        match self.memory.not_ready() {
            // Dropped, it is reaped.
            Some(error) => Err(error),
            None => Ok(held),
        }
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn gone(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
            // Not of the same kind: to a reader a broken pipe is an output that was closed.
            io::Error::other("the process that starts the commands is gone: it was killed")
        }
        io::ErrorKind::WouldBlock => {
            let seconds = PATIENCE.as_secs();
            io::Error::new(io::ErrorKind::TimedOut, format!("no command could be started in {seconds} s"))
        }
        _ => error,
    }
}

/// Sends a byte and the three descriptors.
fn send(socket: &UnixStream, streams: Streams<'_>) -> io::Result<()> {
    let numbers = streams.map(|stream| stream.as_raw_fd());
    let size = size_of_val(&numbers) as u32;
    let mut byte = *b"s";
    let mut piece = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    // In words, so that the header is aligned; one more than the three descriptors need.
    let mut control = [0u64; 5];
    // SAFETY: an all-zero msghdr is valid; the control buffer is larger than CMSG_SPACE of three descriptors, so its first
    // header and their place lie inside; all pointers outlive the call.
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut piece;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size) as _;
        libc::CMSG_DATA(header).cast::<[i32; 3]>().write_unaligned(numbers);
        libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL)
    };
    if sent == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A file that is not executed, only mapped.
fn memory_file(scratch: &Path) -> io::Result<File> {
    let memory = |flags| rustix::fs::memfd_create("tlbench-launch", MemfdFlags::CLOEXEC | flags);
    if let Ok(file) = memory(MemfdFlags::NOEXEC_SEAL).or_else(|_| memory(MemfdFlags::empty())) {
        return Ok(file.into());
    }
    File::options().read(true).write(true).create(true).truncate(true).open(scratch.join("launch"))
}

/// The launcher's program where it can be executed.
struct Executable {
    path: PathBuf,
    /// What `path` names, when it is a memory file.
    _memory: Option<OwnedFd>,
}

impl Executable {
    fn of(image: &[u8], scratch: &Path) -> io::Result<Self> {
        if let Ok(memory) = rustix::fs::memfd_create("tlbench-launcher", MemfdFlags::CLOEXEC) {
            let mut file = File::from(memory);
            file.write_all(image)?;
            let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
            if is_executable(&path).is_ok() {
                return Ok(Executable { path, _memory: Some(file.into()) });
            }
        }
        let path = scratch.join("launcher");
        std::fs::write(&path, image)?;
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o700))?;
        Ok(Executable { path, _memory: None })
    }
}
