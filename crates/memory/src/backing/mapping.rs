//! Owned address ranges.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// A range of addresses that is unmapped when dropped. What lies in it may be many mappings.
#[derive(Debug)]
pub struct Mapping {
    start: *mut u8,
    bytes: usize,
    base: *mut u8,
}

// SAFETY: the range belongs to this value alone; whoever reads or writes it does so through raw pointers.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

/// Protection of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Nothing may be done there.
    None,
    /// Loads.
    Read,
    /// Loads and stores.
    Write,
    /// Loads and jumps.
    Execute,
}

impl Protection {
    fn bits(self) -> libc::c_int {
        match self {
            Protection::None => libc::PROT_NONE,
            Protection::Read => libc::PROT_READ,
            Protection::Write => libc::PROT_READ | libc::PROT_WRITE,
            Protection::Execute => libc::PROT_READ | libc::PROT_EXEC,
        }
    }
}

impl Mapping {
    /// `bytes` of private anonymous memory, aligned to `align` (a power of two), nothing touched yet.
    pub fn anonymous(bytes: usize, align: usize, protection: Protection) -> io::Result<Mapping> {
        Self::anonymous_with(bytes, align, protection, 0)
    }

    /// `bytes` of pages from the hugetlb pool with pages of `page_bytes`.
    pub fn hugetlb(bytes: usize, page_bytes: usize) -> io::Result<Mapping> {
        let size_flag = (page_bytes.trailing_zeros() as libc::c_int) << libc::MAP_HUGE_SHIFT;
        Self::raw(bytes, Protection::Write, libc::MAP_HUGETLB | size_flag)
    }

    fn anonymous_with(
        bytes: usize,
        align: usize,
        protection: Protection,
        flags: libc::c_int,
    ) -> io::Result<Mapping> {
        let slack = if align > 4096 { align } else { 0 };
        let room = bytes.checked_add(slack).ok_or(io::ErrorKind::OutOfMemory)?;
        let mut mapping = Self::raw(room, protection, flags)?;
        let misaligned = mapping.start as usize & (align - 1);
        if misaligned != 0 {
            mapping.base = mapping.start.wrapping_add(align - misaligned);
        }
        Ok(mapping)
    }

    fn raw(bytes: usize, protection: Protection, flags: libc::c_int) -> io::Result<Mapping> {
        let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping where the kernel chooses; nothing existing is touched.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, protection.bits(), flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = start.cast::<u8>();
        Ok(Mapping { start, bytes, base: start })
    }

    /// First usable address, aligned as asked.
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// Bytes from [`Mapping::base`] to the end.
    pub fn len(&self) -> usize {
        self.bytes - (self.base as usize - self.start as usize)
    }

    /// True for a range of no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Replaces `bytes` at `offset` by a shared mapping of `file` from `file_offset`.
    pub fn place_file(
        &mut self,
        offset: usize,
        bytes: usize,
        file: &impl AsRawFd,
        file_offset: usize,
        protection: Protection,
    ) -> io::Result<()> {
        assert!(offset + bytes <= self.len(), "place_file within the mapping");
        // SAFETY: the range lies inside this mapping, which is ours to replace.
        let placed = unsafe {
            libc::mmap(
                self.base.add(offset).cast(),
                bytes,
                protection.bits(),
                libc::MAP_SHARED | libc::MAP_FIXED | libc::MAP_POPULATE,
                file.as_raw_fd(),
                file_offset as libc::off_t,
            )
        };
        if placed == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Makes `bytes` at `offset` writable.
    pub fn make_writable(&mut self, offset: usize, bytes: usize) -> io::Result<()> {
        assert!(offset + bytes <= self.len(), "make_writable within the mapping");
        // SAFETY: the range lies inside this mapping.
        let done = unsafe { libc::mprotect(self.base.add(offset).cast(), bytes, Protection::Write.bits()) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Gives the kernel `advice` on the whole range.
    pub fn advise(&self, advice: libc::c_int) -> io::Result<()> {
        // SAFETY: advice on our own range; the advices used here keep or zero its contents.
        let done = unsafe { libc::madvise(self.base.cast(), self.len(), advice) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is ours, and no reference into it outlives this value.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

/// An unnamed file in memory of `bytes` zeros.
pub fn memory_file(bytes: usize, executable: bool) -> io::Result<OwnedFd> {
    const MFD_EXEC: libc::c_uint = 0x10;
    let create = |flags| {
        // SAFETY: the name is a C string; the result is checked.
        unsafe { libc::memfd_create(c"tlbench-pages".as_ptr(), flags) }
    };
    // Kernels before 6.3 do not know MFD_EXEC and allow execution anyway.
    let mut fd = create(libc::MFD_CLOEXEC | if executable { MFD_EXEC } else { 0 });
    if fd < 0 && executable && io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL) {
        fd = create(libc::MFD_CLOEXEC);
    }
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: fd was just created and is owned by nobody else.
    let file = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: an open descriptor and a length.
    if unsafe { libc::ftruncate(file.as_raw_fd(), bytes as libc::off_t) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(file)
}
