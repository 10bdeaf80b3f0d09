//! The system calls underneath, behind a trait that tests replace by a recording.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use perf_event_open_sys as perf;
use perf_event_open_sys::bindings as sys;

use crate::event::Attribute;

/// An open event.
pub trait Descriptor {
    /// Its number, which group members name as their leader.
    fn number(&self) -> i32;
    /// Count and times, over the process and all its descendants.
    fn read(&self) -> io::Result<Times>;
    /// Counts only what this tracepoint filter lets through.
    fn filter(&self, filter: &str) -> io::Result<()>;
}

/// What one read of an event gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Raw count.
    pub count: u64,
    /// Time the event was enabled, ns.
    pub enabled_ns: u64,
    /// Time it was really being counted, ns; less where events share counters.
    pub running_ns: u64,
}

/// Opens events.
pub trait Kernel {
    /// Opens an event of process `pid` (0 for this one) and of whatever it starts later, counting from its next `exec`.
    /// A group's members are opened with their leader's number.
    fn open(&self, attribute: &Attribute, pid: i32, leader: Option<i32>) -> io::Result<Box<dyn Descriptor>>;

    /// Opens an event of this process that never counts. While one of a kind of software event is open the kernel leaves
    /// the code for that kind switched on: else it patches itself, on all CPUs, when the first of a kind is opened and
    /// again when the last one is closed (`perf_swevent_enabled` in kernel/events/core.c).
    fn keep(&self, _attribute: &Attribute) -> Option<Box<dyn Descriptor>> {
        None
    }
}

/// The running kernel.
pub struct Linux;

impl Kernel for Linux {
    fn open(&self, attribute: &Attribute, pid: i32, leader: Option<i32>) -> io::Result<Box<dyn Descriptor>> {
        let mut attr = described(attribute);
        attr.set_inherit(1);
        // Members follow their leader.
        if leader.is_none() {
            attr.set_disabled(1);
            attr.set_enable_on_exec(1);
        }
        open(attr, pid, leader)
    }

    fn keep(&self, attribute: &Attribute) -> Option<Box<dyn Descriptor>> {
        let mut attr = described(attribute);
        attr.set_disabled(1);
        open(attr, 0, None).ok()
    }
}

fn described(attribute: &Attribute) -> sys::perf_event_attr {
    let mut attr = sys::perf_event_attr::default();
    attr.type_ = attribute.kind;
    attr.size = size_of::<sys::perf_event_attr>() as u32;
    attr.config = attribute.config;
    attr.read_format = u64::from(sys::PERF_FORMAT_TOTAL_TIME_ENABLED | sys::PERF_FORMAT_TOTAL_TIME_RUNNING);
    attr.__bindgen_anon_3.config1 = attribute.config1;
    attr.__bindgen_anon_4.config2 = attribute.config2;
    attr.set_exclude_user(attribute.exclude_user.into());
    attr.set_exclude_kernel(attribute.exclude_kernel.into());
    attr.set_exclude_hv(attribute.exclude_kernel.into());
    attr
}

fn open(mut attr: sys::perf_event_attr, pid: i32, leader: Option<i32>) -> io::Result<Box<dyn Descriptor>> {
    let flags = u64::from(sys::PERF_FLAG_FD_CLOEXEC);
    // SAFETY: attr is a valid perf_event_attr of the size it states; the call only reads it (and may write `size`).
    let fd = unsafe { perf::perf_event_open(&mut attr, pid, -1, leader.unwrap_or(-1), flags as _) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: fd was just opened and is owned by nobody else.
    Ok(Box::new(Open(unsafe { OwnedFd::from_raw_fd(fd) })))
}

struct Open(OwnedFd);

impl Descriptor for Open {
    fn number(&self) -> i32 {
        self.0.as_raw_fd()
    }

    fn read(&self) -> io::Result<Times> {
        let mut words = [0u64; 3];
        // SAFETY: words is valid for 24 bytes, all that the read format of `open` yields.
        let got = unsafe { libc::read(self.0.as_raw_fd(), words.as_mut_ptr().cast(), size_of_val(&words)) };
        match got {
            -1 => Err(io::Error::last_os_error()),
            24 => Ok(Times { count: words[0], enabled_ns: words[1], running_ns: words[2] }),
            // The kernel returns 0 for an event that fell out of its group into the error state.
            other => {
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("{other} bytes instead of 24")))
            }
        }
    }

    fn filter(&self, filter: &str) -> io::Result<()> {
        let filter = CString::new(filter).map_err(io::Error::other)?;
        // SAFETY: the descriptor is a perf event; filter is a C string the call only reads.
        let done = unsafe { perf::ioctls::SET_FILTER(self.0.as_raw_fd(), filter.as_ptr().cast_mut()) };
        if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}
