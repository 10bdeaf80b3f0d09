//! `ipc.mq`: a round trip of one byte through two POSIX message queues.
//!
//! Timed: send a message of 1 byte, receive the answer from the other queue. Per round trip: four system calls and,
//! on one CPU, two switches. Proof: the peer answers the byte plus one.
//! The queues lose their names right after they are made, so that none can stay behind.

use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use harness::prelude::*;

/// The family.
pub fn benchmarks() -> Vec<Benchmark> {
    crate::placed::round_trip(
        "ipc.mq",
        false,
        "A byte to another process and back through two POSIX message queues",
        run,
    )
}

/// A queue without a name, one message of one byte long.
struct Queue(OwnedFd);

impl Queue {
    fn new(name: &str) -> Result<Self, Stop> {
        let name = CString::new(name).map_err(|e| Stop::fail(e.to_string()))?;
        // SAFETY: an all-zero mq_attr is valid.
        let mut attributes: libc::mq_attr = unsafe { std::mem::zeroed() };
        attributes.mq_maxmsg = 1;
        attributes.mq_msgsize = 1;
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
        // SAFETY: name is a C string and attributes live through the call.
        let fd =
            unsafe { libc::syscall(libc::SYS_mq_open, name.as_ptr(), flags, 0o600, &raw const attributes) };
        let fd = cvt("mq_open", fd)?;
        // SAFETY: the descriptor was just returned and belongs to nobody else.
        let queue = Queue(unsafe { OwnedFd::from_raw_fd(fd as i32) });
        // SAFETY: name is a C string.
        cvt("mq_unlink", unsafe { libc::syscall(libc::SYS_mq_unlink, name.as_ptr()) })?;
        Ok(queue)
    }

    fn send(&self, byte: u8) -> bool {
        let none = std::ptr::null::<libc::timespec>();
        // SAFETY: one readable byte; no time-out.
        unsafe {
            libc::syscall(libc::SYS_mq_timedsend, self.0.as_raw_fd(), &raw const byte, 1usize, 0, none) == 0
        }
    }

    fn receive(&self) -> Option<u8> {
        let mut byte = 0u8;
        let none = std::ptr::null::<libc::timespec>();
        let nowhere = std::ptr::null_mut::<u32>();
        // SAFETY: one writable byte, which is the queue's message size; the priority is not wanted; no time-out.
        let got = unsafe {
            let fd = self.0.as_raw_fd();
            libc::syscall(libc::SYS_mq_timedreceive, fd, &raw mut byte, 1usize, nowhere, none)
        };
        (got == 1).then_some(byte)
    }
}

fn run(bench: &mut Bench, metric: &str) -> Result<(), Stop> {
    let there = Queue::new(&format!("tlbench-{}-there", std::process::id()))?;
    let back = Queue::new(&format!("tlbench-{}-back", std::process::id()))?;
    let peer = Peer::spawn(bench.peer_cpu(), || {
        while let Some(byte) = there.receive() {
            if !back.send(byte.wrapping_add(1)) {
                break;
            }
        }
        Ok(())
    })?;
    let mut token = 0u8;
    bench.calls(metric, || {
        let sent = there.send(token);
        token = token.wrapping_add(1);
        sent && back.receive() == Some(token)
    })?;
    drop(peer);
    Ok(())
}
