//! `epoll.file.N`, `epoll.tcp.N` and their `.block`: one epoll instance that watches N descriptors.
//!
//! Timed: a raw `epoll_pwait` for up to 16 events; the registrations were made before. Per call. Without suffix: none is
//! ready and the time limit is zero. `.block`: no time limit and the last one ready (level-triggered, so it is reported
//! by every call); the call does not come to sleep. Unlike select and poll, the cost should not depend on N.
//! Proof: every call returns 0, or 1 with the number of the last descriptor.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use harness::prelude::*;

use super::{Kind, each_size, family};

/// The benchmark of one kind of descriptor.
pub fn benchmark(kind: Kind) -> Benchmark {
    family("epoll", kind, run)
}

fn run(bench: &mut Bench, kind: Kind) -> Result<(), Stop> {
    each_size(bench, "epoll", kind, |bench, metric, fds, block| {
        let epoll = watch(fds)?;
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 16];
        let limit = if block { -1 } else { 0 };
        let last = fds.last().map_or(0, |&fd| fd as u64);
        bench.calls(metric, || {
            // SAFETY: events has room for the 16 entries told; there is no signal mask.
            let ready = unsafe {
                libc::syscall(
                    libc::SYS_epoll_pwait,
                    epoll.as_raw_fd(),
                    events.as_mut_ptr(),
                    16,
                    limit,
                    0usize,
                    8usize,
                )
            };
            ready == i64::from(block) && (!block || { events[0].u64 } == last)
        })
    })
}

/// An epoll instance that watches `fds` for input.
fn watch(fds: &[i32]) -> Result<OwnedFd, Stop> {
    // SAFETY: no pointers; a non-negative return is a new descriptor that nothing else owns.
    let epoll =
        unsafe { OwnedFd::from_raw_fd(cvt("epoll_create1", libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
    for &fd in fds {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: fd as u64 };
        // SAFETY: event is a valid epoll_event, copied by the call.
        cvt("epoll_ctl", unsafe { libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &mut event) })?;
    }
    Ok(epoll)
}
