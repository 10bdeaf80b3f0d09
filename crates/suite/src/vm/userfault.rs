//! `vm.userfault.missing`, `vm.userfault.wp`: page faults that a thread of the program resolves.
//!
//! Timed: writes to pages of a range registered with userfaultfd; each stops until a thread on the same CPU has read
//! the fault and resolved it, by copying a page (missing) or by lifting the protection (write-protect). Per fault:
//! two context switches, a read, a poll and an ioctl are in it.
//! Proof: the resolver counted one fault per write; a missing page has the contents it was given.
//! Pitfalls: for others than root the kernel must offer faults from user mode only (Linux 5.11).

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use harness::prelude::*;

use super::fault::Faulting;
use super::mapping::page_bytes;

const MISSING: &str = "vm.userfault.missing";
const WRITE_PROTECTED: &str = "vm.userfault.wp";

// From linux/userfaultfd.h.
const USER_MODE_ONLY: i32 = 1;
const API: u64 = 0xaa;
const FEATURE_WRITE_PROTECT: u64 = 1;
const REGISTER_MISSING: u64 = 1;
const REGISTER_WRITE_PROTECT: u64 = 2;
const UFFDIO_API: u64 = 0xc018_aa3f;
const UFFDIO_REGISTER: u64 = 0xc020_aa00;
const UFFDIO_COPY: u64 = 0xc028_aa03;
const UFFDIO_WRITEPROTECT: u64 = 0xc018_aa06;
const EVENT_PAGEFAULT: u8 = 0x12;
/// Bytes of a `uffd_msg`; the faulting address begins at byte 16.
const MESSAGE_BYTES: usize = 32;
/// What a missing page is filled with.
const CONTENTS: u8 = 0x77;

/// Both.
pub fn benchmarks() -> Vec<Benchmark> {
    vec![
        Benchmark::new(MISSING, |bench| run(bench, MISSING, REGISTER_MISSING)).metric(
            time(MISSING, "fault", "A write to a missing page that a thread resolves by UFFDIO_COPY.")
                .blocking(),
        ),
        Benchmark::new(WRITE_PROTECTED, |bench| run(bench, WRITE_PROTECTED, REGISTER_WRITE_PROTECT)).metric(
            time(
                WRITE_PROTECTED,
                "fault",
                "A write to a protected page that a thread resolves by UFFDIO_WRITEPROTECT.",
            )
            .blocking(),
        ),
    ]
}

/// The descriptor and what it does.
struct Userfault(OwnedFd);

impl Userfault {
    /// Non-blocking, since poll reports nothing but an error for a blocking one.
    fn open(mode: u64) -> Result<Userfault, Stop> {
        if cfg!(any(target_arch = "powerpc64", target_arch = "mips64", target_arch = "sparc64")) {
            return Err(Stop::skip("the ioctl numbers of this architecture are not known here"));
        }
        // SAFETY: no pointers are passed; a non-negative return is a descriptor owned by nobody else.
        let fd = unsafe {
            let fd =
                libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | libc::O_NONBLOCK | USER_MODE_ONLY);
            OwnedFd::from_raw_fd(cvt("userfaultfd", fd)? as i32)
        };
        let userfault = Userfault(fd);
        let features = if mode == REGISTER_WRITE_PROTECT { FEATURE_WRITE_PROTECT } else { 0 };
        userfault
            .control(UFFDIO_API, &mut [API, features, 0])
            .map_err(|e| Stop::skip(format!("userfaultfd without this feature: {e}")))?;
        Ok(userfault)
    }

    /// An ioctl whose argument is a structure of 64-bit words.
    fn control<const WORDS: usize>(&self, request: u64, words: &mut [u64; WORDS]) -> io::Result<()> {
        // SAFETY: every request used here takes a structure of WORDS 64-bit words, which the kernel may fill.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), request as _, words.as_mut_ptr()) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    fn register(&self, start: usize, bytes: usize, mode: u64) -> Result<(), Stop> {
        self.control(UFFDIO_REGISTER, &mut [start as u64, bytes as u64, mode, 0])
            .map_err(|e| Stop::skip(format!("UFFDIO_REGISTER: {e}")))
    }

    fn protect(&self, start: usize, bytes: usize, on: bool) -> io::Result<()> {
        self.control(UFFDIO_WRITEPROTECT, &mut [start as u64, bytes as u64, u64::from(on)])
    }

    /// Resolves faults until `stop` can be read; adds to `resolved`.
    fn resolve(&self, mode: u64, stop: &File, resolved: &AtomicU64) -> io::Result<()> {
        let page = page_bytes();
        let contents = vec![CONTENTS; page];
        loop {
            let poll = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
            let mut ready = [poll(self.0.as_raw_fd()), poll(stop.as_raw_fd())];
            // SAFETY: two valid pollfds.
            let count = unsafe { libc::poll(ready.as_mut_ptr(), 2, -1) };
            if ready[1].revents != 0
                || (count == -1 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted)
            {
                return Ok(());
            }
            let mut message = [0u8; MESSAGE_BYTES];
            // SAFETY: the buffer is as long as stated.
            let read = unsafe { libc::read(self.0.as_raw_fd(), message.as_mut_ptr().cast(), MESSAGE_BYTES) };
            if read != MESSAGE_BYTES as isize || message[0] != EVENT_PAGEFAULT {
                continue;
            }
            let mut word = [0u8; 8];
            word.copy_from_slice(&message[16..24]);
            let address = u64::from_ne_bytes(word) as usize / page * page;
            if mode == REGISTER_MISSING {
                let mut copy = [address as u64, contents.as_ptr() as u64, page as u64, 0, 0];
                self.control(UFFDIO_COPY, &mut copy)?;
            } else {
                self.protect(address, page, false)?;
            }
            resolved.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn run(bench: &mut Bench, metric: &str, mode: u64) -> Result<(), Stop> {
    let region = Faulting::new()?;
    let page = page_bytes();
    let (start, bytes) = (region.map.address() + page, region.pages as usize * page);
    let userfault = Userfault::open(mode)?;
    if mode == REGISTER_WRITE_PROTECT {
        region.map.write_every(page, bytes, page);
    }
    userfault.register(start, bytes, mode)?;
    let (stop, tell) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|e| Stop::unavailable("pipe", &e.into()))?;
    let (stop, resolved) = (File::from(stop), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let resolver = std::thread::Builder::new()
            .stack_size(64 << 10)
            .spawn_scoped(scope, || userfault.resolve(mode, &stop, &resolved))
            .map_err(|e| Stop::unavailable("starting the resolver", &e))?;
        let measured = bench.measure_up_to(metric, region.pages, |faults, timer| {
            let touched = faults as usize * page;
            match mode {
                REGISTER_MISSING => region.map.drop_pages(page, touched)?,
                _ => userfault
                    .protect(start, touched, true)
                    .map_err(|e| Stop::skip(format!("UFFDIO_WRITEPROTECT: {e}")))?,
            }
            let before = resolved.load(Ordering::Relaxed);
            timer.time(|| region.map.write_every(page, touched, page));
            // The last fault is over for the writer a moment before the resolver has counted it.
            while resolved.load(Ordering::Relaxed) < before + faults && !resolver.is_finished() {
                std::thread::yield_now();
            }
            check(
                resolved.load(Ordering::Relaxed) == before + faults,
                "not every write was a fault resolved here",
            )?;
            let filled = mode != REGISTER_MISSING || region.map.read_byte(page + 1) == CONTENTS;
            check(filled, "a page does not have the contents it was given")
        });
        drop(tell);
        let resolver = resolver.join().map_err(|_| Stop::fail("the resolver ended early"))?;
        resolver.map_err(|e| Stop::fail(format!("resolving a fault: {e}")))?;
        measured
    })
}
