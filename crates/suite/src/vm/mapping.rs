//! Memory mappings that are gone when dropped, and the few ways benchmarks touch them.

use std::fs::File;
use std::os::fd::AsRawFd;

use harness::{Stop, cvt};

/// Bytes of a base page.
pub(crate) fn page_bytes() -> usize {
    rustix::param::page_size()
}

/// Bytes that one last-level page table maps: a page full of 8-byte entries.
pub(crate) fn table_bytes() -> usize {
    page_bytes() / 8 * page_bytes()
}

/// A mapping of this process; unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the pages belong to the whole process; whoever writes them from two threads uses volatile accesses.
unsafe impl Sync for Mapping {}

/// A mapping of the first `bytes` of `file`, shared with it; writable when `write`.
pub(crate) fn map_file(file: &File, bytes: usize, write: bool) -> Result<Mapping, Stop> {
    let protection = if write { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
    Mapping::new(bytes, protection, libc::MAP_SHARED, file.as_raw_fd())
}

impl Mapping {
    /// `bytes` of untouched private anonymous memory where the kernel likes.
    #[inline]
    pub(crate) fn plain(bytes: usize) -> Result<Mapping, Stop> {
        Self::new(bytes, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
    }

    fn new(bytes: usize, protection: i32, flags: i32, fd: i32) -> Result<Mapping, Stop> {
        // SAFETY: the kernel chooses a free address, so no existing mapping is touched.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, fd, 0) };
        if start == libc::MAP_FAILED {
            return Err(Stop::unavailable("mmap", &std::io::Error::last_os_error()));
        }
        Ok(Mapping { start: start.cast(), bytes })
    }

    /// Private anonymous memory whose start is a multiple of `align` (a power of two), nothing of it touched.
    pub(crate) fn anonymous(bytes: usize, align: usize) -> Result<Mapping, Stop> {
        Self::aligned(bytes, align, |wide| {
            Self::new(
                wide,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
            )
        })
    }

    /// A read-only shared mapping of `file` that starts in the middle of a page table, so that not even a file whose
    /// page cache is made of huge folios is mapped by huge pages.
    pub(crate) fn of_file(file: &File, bytes: usize) -> Result<Mapping, Stop> {
        let reserve = |wide| {
            Self::new(
                wide,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
            )
        };
        let mut map = Self::aligned(bytes + table_bytes() / 2, table_bytes(), reserve)?;
        // SAFETY: the first half table lies inside the mapping just made, which nothing uses yet.
        unsafe { libc::munmap(map.start.cast(), table_bytes() / 2) };
        map.start = map.start.wrapping_add(table_bytes() / 2);
        map.bytes = bytes;
        // SAFETY: the range is this mapping's own, which nothing uses yet.
        let start = unsafe {
            let flags = libc::MAP_SHARED | libc::MAP_FIXED;
            libc::mmap(map.start.cast(), bytes, libc::PROT_READ, flags, file.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return Err(Stop::unavailable("mmap of the test file", &std::io::Error::last_os_error()));
        }
        Ok(map)
    }

    /// Maps more than needed and returns the surplus on both sides.
    fn aligned(
        bytes: usize,
        align: usize,
        map: impl FnOnce(usize) -> Result<Mapping, Stop>,
    ) -> Result<Mapping, Stop> {
        let mut wide = map(bytes + align)?;
        let before = (wide.start as usize).next_multiple_of(align) - wide.start as usize;
        let surplus = [(0, before), (before + bytes, align - before)];
        for (offset, length) in surplus {
            if length > 0 {
                // SAFETY: the surplus lies inside the mapping just made, which nothing uses yet.
                unsafe { libc::munmap(wide.start.add(offset).cast(), length) };
            }
        }
        wide.start = wide.start.wrapping_add(before);
        wide.bytes = bytes;
        Ok(wide)
    }

    /// Address of its first byte.
    pub(crate) fn address(&self) -> usize {
        self.start as usize
    }

    /// Its length in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// `madvise` on `bytes` from `offset`.
    pub(crate) fn advise(&self, offset: usize, bytes: usize, advice: i32, name: &str) -> Result<(), Stop> {
        self.check_range(offset, bytes)?;
        // SAFETY: the range is inside this mapping, whose contents no Rust reference points to.
        let done = unsafe { libc::madvise(self.start.add(offset).cast(), bytes, advice) };
        cvt(name, done).map(|_| ())
    }

    /// Drops the pages of `bytes` from `offset`, so that the next touch faults.
    pub(crate) fn drop_pages(&self, offset: usize, bytes: usize) -> Result<(), Stop> {
        self.advise(offset, bytes, libc::MADV_DONTNEED, "madvise(MADV_DONTNEED)")
    }

    /// `mprotect` of `bytes` from `offset` to readable, and writable when `write`.
    #[inline]
    pub(crate) fn protect(&self, offset: usize, bytes: usize, write: bool) -> bool {
        let protection = if write { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: callers keep the range inside the mapping and do not write while it is read-only.
        unsafe { libc::mprotect(self.start.add(offset).cast(), bytes, protection) == 0 }
    }

    /// `munmap` of `bytes` from `offset`; [`Mapping::renew`] maps them again.
    #[inline]
    pub(crate) fn unmap(&self, offset: usize, bytes: usize) -> bool {
        // SAFETY: callers keep the range inside the mapping and do not touch it until it is renewed.
        unsafe { libc::munmap(self.start.add(offset).cast(), bytes) == 0 }
    }

    /// Maps fresh anonymous memory over `bytes` from `offset`.
    pub(crate) fn renew(&self, offset: usize, bytes: usize) -> Result<(), Stop> {
        self.check_range(offset, bytes)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // SAFETY: the range is inside this mapping's addresses, which nothing else uses.
        let start = unsafe { libc::mmap(self.start.add(offset).cast(), bytes, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(Stop::unavailable("mmap", &std::io::Error::last_os_error()));
        }
        Ok(())
    }

    /// Moves `bytes` at `offset` to the same offset of `other`, whose own pages there are replaced; leaves a hole here
    /// until something is moved back or [`Mapping::renew`]ed.
    pub(crate) fn move_to(&self, other: &Mapping, offset: usize, bytes: usize) -> Result<(), Stop> {
        self.check_range(offset, bytes)?;
        other.check_range(offset, bytes)?;
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // SAFETY: both ranges are inside mappings of this program's own, to which no Rust reference points.
        let moved = unsafe {
            let to = other.start.add(offset);
            libc::mremap(self.start.add(offset).cast(), bytes, bytes, flags, to)
        };
        if moved == libc::MAP_FAILED {
            return Err(Stop::unavailable("mremap", &std::io::Error::last_os_error()));
        }
        Ok(())
    }

    /// Writes a zero to every page, so that all of it is mapped.
    pub(crate) fn populate(&self) {
        for at in (0..self.bytes).step_by(page_bytes()) {
            // SAFETY: `at` is inside the mapping, which is writable.
            unsafe { self.start.add(at).write_volatile(0) };
        }
    }

    /// Writes one byte every `step` bytes of `bytes` from `offset`.
    #[inline]
    pub(crate) fn write_every(&self, offset: usize, bytes: usize, step: usize) {
        debug_assert!(offset + bytes <= self.bytes);
        let mut at = offset;
        while at < offset + bytes {
            // SAFETY: `at` is inside the mapping, which is writable.
            unsafe { self.start.add(at).write_volatile(1) };
            at += step;
        }
    }

    /// Reads one byte every `step` bytes of `bytes` from `offset`.
    #[inline]
    pub(crate) fn read_every(&self, offset: usize, bytes: usize, step: usize) {
        debug_assert!(offset + bytes <= self.bytes);
        let mut at = offset;
        while at < offset + bytes {
            // SAFETY: `at` is inside the mapping, which is readable.
            unsafe { self.start.add(at).read_volatile() };
            at += step;
        }
    }

    /// The byte at `offset`.
    pub(crate) fn read_byte(&self, offset: usize) -> u8 {
        debug_assert!(offset < self.bytes);
        // SAFETY: `offset` is inside the mapping, which is readable.
        unsafe { self.start.add(offset).read_volatile() }
    }

    fn check_range(&self, offset: usize, bytes: usize) -> Result<(), Stop> {
        harness::check(offset + bytes <= self.bytes, "a range lies outside its mapping")
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own and no longer used.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

/// Keeps huge pages of every size out of all mappings of this process.
pub(crate) fn only_base_pages() -> Result<(), Stop> {
    // SAFETY: no pointers are passed.
    let done = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
    match cvt("prctl(PR_SET_THP_DISABLE)", done) {
        // EINVAL: a kernel without transparent huge pages, which has none to keep out.
        Err(Stop::Fail(_)) | Ok(_) => Ok(()),
        Err(skip) => Err(skip),
    }
}

/// Takes back [`only_base_pages`].
pub(crate) fn huge_pages_allowed() -> Result<(), Stop> {
    // SAFETY: no pointers are passed.
    cvt("prctl(PR_SET_THP_DISABLE)", unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 0, 0, 0, 0) }).map(|_| ())
}

/// Minor page faults of the calling thread so far.
pub(crate) fn minor_faults() -> u64 {
    thread_usage().ru_minflt as u64
}

/// Times the calling thread was preempted so far.
pub(crate) fn preemptions() -> u64 {
    thread_usage().ru_nivcsw as u64
}

fn thread_usage() -> libc::rusage {
    // SAFETY: an all-zero rusage is valid, and the call fills it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage
    }
}

/// The proof of fault benchmarks: as many faults as expected, and hardly more: a page of the worker's own may fault in
/// between, above all after a fork.
pub(crate) fn check_faults(counted: u64, expected: u64) -> Result<(), Stop> {
    if (expected..=expected + 2 + expected / 50).contains(&counted) {
        return Ok(());
    }
    Err(Stop::fail(format!("work not done: {expected} page faults expected, getrusage counted {counted}")))
}
