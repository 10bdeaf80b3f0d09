//! System calls, forks and execs counted by `ptrace`, for users whom tracepoints are closed to.
//!
//! Every call of the traced processes stops them twice, so what is counted this way must not be timed. `libc` is called
//! directly: the wrappers at hand turn wait statuses into named signals, and real-time signals, which C libraries use,
//! have no names there.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

/// `PTRACE_GET_SYSCALL_INFO` of `linux/ptrace.h`, since Linux 5.3 (musl's bindings lack it).
const GET_SYSCALL_INFO: i64 = 0x420e;
/// `PTRACE_EVENT_STOP`, the event of group stops and of new tracees under `PTRACE_SEIZE`.
const EVENT_STOP: i32 = 128;
/// Bytes of `struct ptrace_syscall_info`.
const INFO_BYTES: usize = 88;

/// What a traced command and its descendants did from its exec on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls by number; those made through another architecture's interface are under -1.
    pub calls: BTreeMap<i64, u64>,
    /// Processes and threads made.
    pub forks: u64,
    /// Programs executed, the command itself included.
    pub execs: u64,
}

/// Traces one command from a thread of its own, which is the only one that sees the stops.
pub struct SyscallTracer {
    thread: JoinHandle<Tally>,
}

impl SyscallTracer {
    /// Attaches to process `pid`, a child that waits for its release.
    ///
    /// # Errors
    /// What the kernel says when it may not be traced (Yama, a seccomp filter) or is older than Linux 5.3.
    pub fn attach(pid: i32) -> io::Result<Self> {
        let (tell, told) = mpsc::sync_channel(1);
        let thread = thread::Builder::new().name("tlbench-tracer".into()).spawn(move || {
            let native = seize(pid);
            let number = native.as_ref().ok().copied();
            let _ = tell.send(native.map(|_| ()));
            number.map_or_else(Tally::default, |native| trace(pid, native))
        })?;
        told.recv().map_err(io::Error::other)??;
        Ok(SyscallTracer { thread })
    }

    /// The counts, once the process and its descendants have ended.
    pub fn finish(self) -> Tally {
        self.thread.join().unwrap_or_default()
    }
}

/// One ptrace request whose address and data are plain numbers.
fn request(request: i64, pid: i32, address: usize, data: usize) -> io::Result<i64> {
    // SAFETY: none of the requests made here lets the kernel write through `data`, except GET_SYSCALL_INFO, whose caller
    // passes a buffer of `address` bytes.
    let done = unsafe { libc::ptrace(request as _, pid, address, data) };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(done) }
}

/// Seizes `pid`, stops it and lets it go on to its next system call. The number of its system call interface.
fn seize(pid: i32) -> io::Result<u32> {
    let options = libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_EXITKILL;
    request(libc::PTRACE_SEIZE as i64, pid, 0, options as usize)?;
    request(libc::PTRACE_INTERRUPT as i64, pid, 0, 0)?;
    let mut status = 0;
    // SAFETY: status is valid for the call to fill.
    while unsafe { libc::waitpid(pid, &mut status, libc::__WALL) } == -1 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let info = syscall_info(pid)?;
    go_on(pid, 0);
    Ok(info.architecture)
}

/// Follows the tracees of this thread until `root` or all of them have ended.
fn trace(root: i32, native: u32) -> Tally {
    let mut tally = Tally::default();
    while let Some((pid, status)) = next_stop(root) {
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        match event {
            _ if !libc::WIFSTOPPED(status) => {}
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                tally.forks += 1;
                go_on(pid, 0);
            }
            libc::PTRACE_EVENT_EXEC => {
                tally.execs += 1;
                go_on(pid, 0);
            }
            EVENT_STOP if signal != libc::SIGTRAP => {
                let _ = request(libc::PTRACE_LISTEN as i64, pid, 0, 0);
            }
            0 if signal == libc::SIGTRAP | 0x80 => {
                // What comes before the first exec is the launcher's.
                if tally.execs > 0 {
                    tally.note(pid, native);
                }
                go_on(pid, 0);
            }
            0 => go_on(pid, signal),
            _ => go_on(pid, 0),
        }
    }
    tally
}

impl Tally {
    fn note(&mut self, pid: i32, native: u32) {
        if let Ok(SyscallInfo { entered: Some(number), architecture }) = syscall_info(pid) {
            let number = if architecture == native { number } else { -1 };
            *self.calls.entry(number).or_default() += 1;
        }
    }
}

/// Lets a stopped tracee run to its next system call, with the signal it was to get.
fn go_on(pid: i32, signal: i32) {
    // A tracee that was killed meanwhile is no tracee any more.
    let _ = request(libc::PTRACE_SYSCALL as i64, pid, 0, signal as usize);
}

/// The next tracee of this thread that changed state, and its status; `None` once `root` has ended, which is left for its
/// parent to reap, or no tracee is left.
fn next_stop(root: i32) -> Option<(i32, i32)> {
    loop {
        // SAFETY: an all-zero siginfo is valid.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let wanted = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | libc::__WALL | libc::__WNOTHREAD;
        // SAFETY: info is valid for the call to fill.
        if unsafe { libc::waitid(libc::P_ALL, 0, &mut info, wanted) } == -1 {
            if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return None;
        }
        // SAFETY: waitid filled in the fields of a change of state.
        let pid = unsafe { info.si_pid() };
        let over = matches!(info.si_code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED);
        if over && pid == root {
            return None;
        }
        let mut status = 0;
        // SAFETY: status is valid for the call to fill.
        let got =
            unsafe { libc::waitpid(pid, &mut status, libc::__WALL | libc::__WNOTHREAD | libc::WNOHANG) };
        if got == pid {
            return Some((pid, status));
        }
    }
}

/// What a stopped tracee is doing.
struct SyscallInfo {
    /// Number of the call it is entering.
    entered: Option<i64>,
    /// `AUDIT_ARCH_*` of its interface.
    architecture: u32,
}

fn syscall_info(pid: i32) -> io::Result<SyscallInfo> {
    let mut bytes = [0u8; INFO_BYTES];
    request(GET_SYSCALL_INFO, pid, INFO_BYTES, bytes.as_mut_ptr().expose_provenance())?;
    // Layout of linux/ptrace.h: kind of stop at 0, architecture at 4, on entry the number at 24.
    let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
    let architecture = u32::from_ne_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
    Ok(SyscallInfo { entered: (bytes[0] == 1).then(|| word(24) as i64), architecture })
}
