//! Resident memory of base pages, which fork copies the tables of and exit gives back.

use std::io;

use harness::prelude::*;

/// Sizes of `proc.fork.*`: name and bytes.
pub const SIZES: [(&str, u64); 3] = [("64m", 64 << 20), ("256m", 256 << 20), ("1g", 1 << 30)];

/// `madvise` advice since Linux 5.14 (include/uapi/asm-generic/mman-common.h): fault in every page, writable.
const MADV_POPULATE_WRITE: libc::c_int = 23;

/// A private anonymous mapping with every page present, written, and of the base size.
pub struct Resident {
    start: *mut libc::c_void,
    bytes: usize,
    pages: u64,
}

impl Resident {
    /// Maps and fills `bytes`. Transparent huge pages are switched off for the mapping; as many page faults as pages
    /// prove that every page is there and none is huge.
    pub fn map(bytes: u64) -> Result<Self, Stop> {
        let bytes = usize::try_from(bytes).map_err(|_| Stop::skip("more memory than addresses"))?;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(Stop::unavailable("mapping memory", &io::Error::last_os_error()));
        }
        let pages = (bytes / page_bytes()) as u64;
        let resident = Resident { start, bytes, pages };
        let before = minor_faults();
        resident.fill();
        let faults = minor_faults() - before;
        // A fault or two may be this function's own.
        if faults < pages || faults > pages + 16 {
            return Err(Stop::fail(format!(
                "{faults} faults filled {pages} pages: pages are missing or huge"
            )));
        }
        Ok(resident)
    }

    /// Makes every page present by writing to it.
    fn fill(&self) {
        // SAFETY: advice about, and writes inside, the mapping of map(), which is ours alone.
        unsafe {
            // Fails where the kernel has no huge pages: nothing to switch off.
            libc::madvise(self.start, self.bytes, libc::MADV_NOHUGEPAGE);
            if libc::madvise(self.start, self.bytes, MADV_POPULATE_WRITE) == 0 {
                return;
            }
            for offset in (0..self.bytes).step_by(page_bytes()) {
                self.start.cast::<u8>().add(offset).write_volatile(1);
            }
        }
    }

    /// Pages present.
    pub fn pages(&self) -> u64 {
        self.pages
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        // SAFETY: the mapping of map(), which nothing refers to any more.
        unsafe { libc::munmap(self.start, self.bytes) };
    }
}

/// The base page size.
pub fn page_bytes() -> usize {
    rustix::param::page_size()
}

/// Minor faults of this process so far.
fn minor_faults() -> u64 {
    // SAFETY: an all-zero rusage is valid, and the call fills it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage.ru_minflt as u64
    }
}
