//! What the launcher does, as data: system calls in memory shared with it ([`super::program`] follows them).
//!
//! The launcher waits on its socket for a message with three descriptors, clones a child and waits again. The child is ours
//! (`CLONE_PARENT`) and borrows the launcher's memory until it executes the command (`CLONE_VM`), so that nothing is copied.
//! It asks to be killed with us, enters its process group, takes the descriptors as its standard streams, writes a byte to
//! the socket and sleeps on a word of this memory until [`Memory::release`]; then it executes the command. What a call
//! refused stands in its step afterwards, so a failed exec needs no message either.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// Where the launcher maps the memory: above its own code, below whatever the kernel places.
pub(super) const AT: u64 = 0x1000_0000;
/// Length of the mapping, bytes: the kernel takes at most 6 MiB of arguments and environment (`execve(2)`), and their
/// pointers beside them. Only what is used exists.
pub(super) const LENGTH: usize = 16 << 20;
/// Where a command's words begin in it.
const WORDS: usize = 4096;

/// A system call. Its layout is known to the assembly.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Step {
    call: i64,
    arguments: [u64; 6],
    /// What it returned last, unless 0.
    result: i64,
    /// The next step after an error, after 0, after anything else.
    next: [u64; 3],
    /// Where a descriptor stands that replaces the first argument; 0 for none.
    first_from: u64,
}

/// The steps by their place.
#[derive(Clone, Copy)]
enum At {
    Name,
    KeepSocket,
    DropMemory,
    Wait,
    Clone,
    Refuse,
    CloseInput,
    CloseOutput,
    CloseError,
    End,
    Die,
    Group,
    Input,
    Output,
    Error,
    Enter,
    Ready,
    Sleep,
    Execute,
    Fail,
}

/// Steps of [`At`].
const STEPS: usize = At::Fail as usize + 1;

/// What stands at the beginning of the memory.
#[repr(C)]
struct Fixed {
    steps: [Step; STEPS],
    /// Process id of the child, written by the kernel before the child runs. (What `clone` returns to the launcher may be
    /// noted later than the child is ready.)
    pid: AtomicI32,
    /// The held command sleeps while this is 0.
    released: AtomicU32,
    /// Room for the byte of a message.
    byte: [u8; 4],
    piece: [u64; 2],
    message: libc::msghdr,
    /// A control message of three descriptors.
    control: [u64; CONTROL],
    name: [u8; 16],
}

/// Words of a control message with three descriptors: header of 16 bytes, 12 bytes and their padding.
const CONTROL: usize = 4;
const _: () = assert!(size_of::<Fixed>() <= WORDS);
const _: () = assert!(size_of::<Step>() == 96);

/// A command as the kernel wants it.
pub(super) struct Words<'a> {
    /// File to execute.
    pub program: &'a OsStr,
    /// Argument vector.
    pub arguments: &'a [&'a OsStr],
    /// `NAME=VALUE` of the whole environment, each in two parts.
    pub environment: &'a [(&'a OsStr, &'a OsStr)],
    /// Directory to enter.
    pub directory: Option<&'a OsStr>,
    /// Process group to enter; 0 for one of its own.
    pub group: i32,
}

/// The memory, as seen from here.
pub(super) struct Memory {
    base: NonNull<u8>,
}

impl Memory {
    /// Maps `file`, emptied before, and writes the steps for a launcher that talks on its descriptor `socket` and has
    /// `file` open under the same number as this process.
    pub(super) fn new(file: &File, socket: i32) -> io::Result<Self> {
        file.set_len(LENGTH as u64)?;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), LENGTH, access, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = Memory { base: NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)? };
        // SAFETY: the mapping is page-aligned, larger than `Fixed`, and nobody else looks at it yet.
        unsafe { memory.base.cast::<Fixed>().write(fixed(socket, file.as_raw_fd())) };
        Ok(memory)
    }

    /// Writes down `words`, for a launcher that is waiting. Returns the bytes they take.
    pub(super) fn prepare(&self, words: &Words<'_>) -> io::Result<usize> {
        let block = Block::of(words)?;
        // SAFETY: the block was made to fit behind WORDS; the launcher waits, so nobody reads meanwhile.
        unsafe {
            let target = self.base.add(WORDS);
            std::ptr::copy_nonoverlapping(block.bytes.as_ptr(), target.as_ptr(), block.bytes.len());
        }
        for at in [At::Clone, At::Group, At::Input, At::Output, At::Error, At::Enter, At::Execute] {
            self.change(at, |step| step.result = 0);
        }
        self.change(At::Group, |step| step.arguments[1] = words.group as u64);
        let after = if words.directory.is_some() { At::Enter } else { At::Ready };
        self.change(At::Error, |step| step.next[1..].fill(place(after)));
        self.change(At::Enter, |step| step.arguments[0] = block.directory);
        self.change(At::Execute, |step| {
            step.arguments[..3].copy_from_slice(&[block.program, block.arguments, block.environment]);
        });
        self.pid().store(0, Ordering::Release);
        self.released().store(0, Ordering::Release);
        Ok(block.bytes.len())
    }

    /// Process id of the child, or why there is none.
    pub(super) fn child(&self) -> io::Result<i32> {
        match (self.pid().load(Ordering::Acquire), self.result(At::Clone)) {
            (pid, 0..) if pid > 0 => Ok(pid),
            (_, result) => Err(refusal(result)),
        }
    }

    /// Why the child could not make itself ready, if so.
    pub(super) fn not_ready(&self) -> Option<io::Error> {
        let steps = [At::Group, At::Input, At::Output, At::Error, At::Enter];
        steps.map(|at| self.result(at)).into_iter().find(|result| *result < 0).map(refusal)
    }

    /// Lets the child execute its command.
    pub(super) fn release(&self) {
        let word = self.released();
        word.store(1, Ordering::Release);
        // SAFETY: wakes whoever sleeps on the word, which lives as long as the mapping.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
    }

    /// The errno of an exec that failed.
    pub(super) fn not_executed(&self) -> Option<i32> {
        let result = self.result(At::Execute);
        (result < 0).then_some(-result as i32)
    }

    fn pid(&self) -> &AtomicI32 {
        // SAFETY: within the mapping, which outlives the borrow; both sides use it as an atomic word.
        unsafe { &(*self.base.cast::<Fixed>().as_ptr()).pid }
    }

    fn released(&self) -> &AtomicU32 {
        // SAFETY: within the mapping, which outlives the borrow; both sides use it as an atomic word.
        unsafe { &(*self.base.cast::<Fixed>().as_ptr()).released }
    }

    fn step(&self, at: At) -> *mut Step {
        // SAFETY: a place inside `Fixed`, which lies inside the mapping.
        unsafe { (&raw mut (*self.base.cast::<Fixed>().as_ptr()).steps).cast::<Step>().add(at as usize) }
    }

    fn result(&self, at: At) -> i64 {
        // SAFETY: inside the mapping; the other process may write, so it is read at once and as a whole.
        unsafe { (&raw const (*self.step(at)).result).read_volatile() }
    }

    fn change(&self, at: At, change: impl FnOnce(&mut Step)) {
        let step = self.step(at);
        // SAFETY: inside the mapping; called while the launcher waits, in a step that is not among those changed.
        unsafe {
            let mut changed = step.read_volatile();
            change(&mut changed);
            step.write_volatile(changed);
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: our own mapping, of which no reference is left.
        unsafe { libc::munmap(self.base.as_ptr().cast(), LENGTH) };
    }
}

fn refusal(result: i64) -> io::Error {
    io::Error::from_raw_os_error(-result as i32)
}

/// Where a step stands for the launcher.
fn place(at: At) -> u64 {
    AT + (offset_of!(Fixed, steps) + at as usize * size_of::<Step>()) as u64
}

/// All steps and what they refer to.
fn fixed(socket: i32, memory: i32) -> Fixed {
    let field = |offset: usize| AT + offset as u64;
    let byte = field(offset_of!(Fixed, byte));
    let descriptor = |n: usize| field(offset_of!(Fixed, control)) + 16 + 4 * n as u64;
    let (socket, memory) = (socket as u64, memory as u64);
    let step = |call: i64, arguments: &[u64], next: [At; 3]| {
        let mut step = Step { call, next: next.map(place), ..Step::default() };
        step.arguments[..arguments.len()].copy_from_slice(arguments);
        step
    };
    let on = |call: i64, arguments: &[u64], at: At| step(call, arguments, [at; 3]);
    // Steps of the child: an error is told like readiness.
    let child = |call: i64, arguments: &[u64], at: At| step(call, arguments, [At::Ready, at, at]);
    let first = |n: usize, step: Step| Step { first_from: descriptor(n), ..step };
    let close = |n: usize, at: At| first(n, on(libc::SYS_close, &[0], at));
    let stream = |n: usize, at: At| first(n, child(libc::SYS_dup3, &[0, n as u64, 0], at));
    let flags = libc::CLONE_VM | libc::CLONE_PARENT | libc::CLONE_PARENT_SETTID | libc::SIGCHLD;
    let clone = [flags as u64, 0, field(offset_of!(Fixed, pid)), 0, 0];
    let wait = [socket, field(offset_of!(Fixed, message)), libc::MSG_CMSG_CLOEXEC as u64];
    let sleep = [field(offset_of!(Fixed, released)), libc::FUTEX_WAIT as u64, 0, 0];
    let mut steps = [Step::default(); STEPS];
    let mut put = |at: At, step: Step| steps[at as usize] = step;
    let name = field(offset_of!(Fixed, name));
    put(At::Name, on(libc::SYS_prctl, &[libc::PR_SET_NAME as u64, name], At::KeepSocket));
    let keep = [socket, libc::F_SETFD as u64, libc::FD_CLOEXEC as u64];
    put(At::KeepSocket, on(libc::SYS_fcntl, &keep, At::DropMemory));
    put(At::DropMemory, on(libc::SYS_close, &[memory], At::Wait));
    put(At::Wait, step(libc::SYS_recvmsg, &wait, [At::End, At::End, At::Clone]));
    put(At::Clone, step(libc::SYS_clone, &clone, [At::Refuse, At::Die, At::CloseInput]));
    put(At::Refuse, on(libc::SYS_write, &[socket, byte, 1], At::CloseInput));
    put(At::CloseInput, close(0, At::CloseOutput));
    put(At::CloseOutput, close(1, At::CloseError));
    put(At::CloseError, close(2, At::Wait));
    put(At::End, on(libc::SYS_exit_group, &[0], At::End));
    let die = [libc::PR_SET_PDEATHSIG as u64, libc::SIGKILL as u64];
    put(At::Die, on(libc::SYS_prctl, &die, At::Group));
    put(At::Group, child(libc::SYS_setpgid, &[0, 0], At::Input));
    put(At::Input, stream(0, At::Output));
    put(At::Output, stream(1, At::Error));
    put(At::Error, stream(2, At::Ready));
    put(At::Enter, child(libc::SYS_chdir, &[0], At::Ready));
    // Nobody listens: we are gone, and so is the signal that was asked for too late.
    put(At::Ready, step(libc::SYS_write, &[socket, byte, 1], [At::Fail, At::Fail, At::Sleep]));
    // Asked again when woken: only a changed word ends it, and that is an error (EAGAIN).
    put(At::Sleep, step(libc::SYS_futex, &sleep, [At::Execute, At::Sleep, At::Sleep]));
    put(At::Execute, on(libc::SYS_execve, &[], At::Fail));
    put(At::Fail, on(libc::SYS_exit_group, &[127], At::Fail));
    Fixed {
        steps,
        pid: AtomicI32::new(0),
        released: AtomicU32::new(0),
        byte: *b"r\0\0\0",
        piece: [byte, 1],
        message: message(field(offset_of!(Fixed, piece)), field(offset_of!(Fixed, control))),
        control: [0; CONTROL],
        name: *b"tlbench-launch\0\0",
    }
}

/// A message header for one piece and a control message of three descriptors, which the kernel fills every time (so that
/// the length it writes back is the one that stood there).
fn message(piece: u64, control: u64) -> libc::msghdr {
    // SAFETY: all-zero is a valid msghdr.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = std::ptr::without_provenance_mut(piece as usize);
    message.msg_iovlen = 1;
    message.msg_control = std::ptr::without_provenance_mut(control as usize);
    message.msg_controllen = size_of::<[u64; CONTROL]>() as _;
    message
}

/// A command's words in one piece, and where they are for the launcher.
struct Block {
    bytes: Vec<u8>,
    program: u64,
    directory: u64,
    arguments: u64,
    environment: u64,
}

impl Block {
    fn of(words: &Words<'_>) -> io::Result<Self> {
        let mut bytes = Vec::new();
        let program = text(&mut bytes, &[words.program])?;
        let directory = words.directory.map_or(Ok(0), |directory| text(&mut bytes, &[directory]))?;
        let arguments: io::Result<Vec<u64>> =
            words.arguments.iter().map(|word| text(&mut bytes, &[word])).collect();
        let variable = |&(name, value): &(&OsStr, &OsStr)| text(&mut bytes, &[name, OsStr::new("="), value]);
        let environment: io::Result<Vec<u64>> = words.environment.iter().map(variable).collect();
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let arguments = pointers(&mut bytes, &arguments?);
        let environment = pointers(&mut bytes, &environment?);
        if bytes.len() > LENGTH - WORDS {
            return Err(io::Error::from_raw_os_error(libc::E2BIG));
        }
        Ok(Block { bytes, program, directory, arguments, environment })
    }
}

fn end(bytes: &[u8]) -> u64 {
    AT + (WORDS + bytes.len()) as u64
}

/// Appends `parts` as one string; its address.
fn text(bytes: &mut Vec<u8>, parts: &[&OsStr]) -> io::Result<u64> {
    let at = end(bytes);
    for part in parts {
        if part.as_bytes().contains(&0) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a word holds a zero byte"));
        }
        bytes.extend_from_slice(part.as_bytes());
    }
    bytes.push(0);
    Ok(at)
}

/// Appends a list of addresses and the 0 behind it; its own address.
fn pointers(bytes: &mut Vec<u8>, list: &[u64]) -> u64 {
    let at = end(bytes);
    bytes.extend(list.iter().chain(&[0]).flat_map(|address| address.to_ne_bytes()));
    at
}
