//! Pages to walk over: how each kind of backing is made, and the proof of what the kernel really mapped.

mod mapping;
mod proof;

use std::io;

use environment::Root;
use thiserror::Error;

pub use mapping::{Mapping, Protection, memory_file};
pub use proof::{Backed, backed};

/// A backing that can't be had, and why.
#[derive(Debug, Error)]
#[error("{what}: {error}{advice}")]
pub struct NoBacking {
    what: String,
    error: io::Error,
    advice: &'static str,
}

impl NoBacking {
    fn new(what: impl Into<String>, error: io::Error) -> Self {
        let advice = match error.raw_os_error() {
            Some(libc::ENOMEM) => " (memory, address space or vm.max_map_count is used up)",
            Some(libc::EPERM | libc::EACCES) => " (forbidden here)",
            _ => "",
        };
        NoBacking { what: what.into(), error, advice }
    }
}

/// Bytes of a base page.
pub fn page_bytes() -> usize {
    // SAFETY: no pointers are passed.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).ok().filter(|b| b.is_power_of_two()).unwrap_or(4096)
}

/// Most separate mappings this process may still make: `vm.max_map_count` less those it has and some to spare.
pub fn spare_mappings() -> usize {
    let root = Root::host();
    let limit = root.number("/proc/sys/vm/max_map_count").ok().and_then(|n| usize::try_from(n).ok());
    let limit = limit.unwrap_or(65_530);
    let used = root.contents("/proc/self/maps").map_or(200, |maps| maps.lines().count());
    limit.saturating_sub(used + 64)
}

/// `count` read-only pages `stride` pages apart that all are the kernel's zero page. Costs page tables only. Huge
/// pages are refused by advice, since the kernel would otherwise put its huge zero page there.
pub fn zero_pages(count: usize, stride: usize) -> Result<Mapping, NoBacking> {
    let page = page_bytes();
    let mapping = untouched_zero_pages(count * stride)?;
    if stride > 1 || mapping.advise(libc::MADV_POPULATE_READ).is_err() {
        for i in 0..count {
            // SAFETY: page i lies in the mapping and may be read.
            unsafe { mapping.base().add(i * stride * page).read_volatile() };
        }
    }
    Ok(mapping)
}

/// Room for `count` zero pages, none of them touched yet: reading one makes it present.
pub fn untouched_zero_pages(count: usize) -> Result<Mapping, NoBacking> {
    let mapping = Mapping::anonymous(count * page_bytes(), 1 << 21, Protection::Read)
        .map_err(|e| NoBacking::new(format!("{count} zero pages"), e))?;
    // Kernels without huge pages answer EINVAL: then there is nothing to refuse.
    let _ = mapping.advise(libc::MADV_NOHUGEPAGE);
    Ok(mapping)
}

/// `count` pages `stride` pages apart, page i showing frame `i / 64 % frames` of one memory file: 64 neighbours share a
/// frame, so that hardware which joins physically contiguous neighbours into one entry finds none.
pub fn alias_pages(
    count: usize,
    stride: usize,
    frames: usize,
    protection: Protection,
) -> Result<Mapping, NoBacking> {
    let what = || format!("{count} mappings of {frames} shared frames");
    let file = memory_file(frames * page_bytes(), protection == Protection::Execute)
        .map_err(|e| NoBacking::new("a file in memory", e))?;
    alias_pages_of(&file, count, stride, frames, protection).map_err(|e| NoBacking::new(what(), e))
}

/// As [`alias_pages`], of an existing file.
pub fn alias_pages_of(
    file: &std::os::fd::OwnedFd,
    count: usize,
    stride: usize,
    frames: usize,
    protection: Protection,
) -> io::Result<Mapping> {
    let page = page_bytes();
    let mut mapping = Mapping::anonymous(count * stride * page, 1 << 21, Protection::None)?;
    for i in 0..count {
        mapping.place_file(i * stride * page, page, file, i / LINES % frames * page, protection)?;
    }
    Ok(mapping)
}

/// `bytes` of anonymous memory on base pages of its own, every page written.
pub fn distinct_pages(bytes: usize) -> Result<Mapping, NoBacking> {
    let mapping = Mapping::anonymous(bytes, 1 << 21, Protection::Write)
        .map_err(|e| NoBacking::new(format!("{} MiB of memory", bytes >> 20), e))?;
    let _ = mapping.advise(libc::MADV_NOHUGEPAGE);
    touch(&mapping, page_bytes(), bytes);
    Ok(mapping)
}

/// `bytes` of anonymous memory on transparent huge pages, as far as the kernel gives them (see [`backed`]).
pub fn transparent_huge_pages(bytes: usize) -> Result<Mapping, NoBacking> {
    let huge = 1 << 21;
    let mapping = Mapping::anonymous(bytes.next_multiple_of(huge), huge, Protection::Write)
        .map_err(|e| NoBacking::new(format!("{} MiB of memory", bytes >> 20), e))?;
    mapping.advise(libc::MADV_HUGEPAGE).map_err(|e| NoBacking::new("transparent huge pages", e))?;
    touch(&mapping, page_bytes(), bytes);
    Ok(mapping)
}

/// `count` huge zero pages: read-only, no memory of their own.
pub fn huge_zero_pages(count: usize) -> Result<Mapping, NoBacking> {
    let huge = 1 << 21;
    let mapping = Mapping::anonymous(count * huge, huge, Protection::Read)
        .map_err(|e| NoBacking::new(format!("{count} huge zero pages"), e))?;
    mapping.advise(libc::MADV_HUGEPAGE).map_err(|e| NoBacking::new("transparent huge pages", e))?;
    for i in 0..count {
        // SAFETY: in the mapping, readable.
        unsafe { mapping.base().add(i * huge).read_volatile() };
    }
    Ok(mapping)
}

/// `count` pages of `page_bytes` from the hugetlb pool, every page written. Only pages already in the pool are used.
pub fn hugetlb_pages(count: usize, page_bytes: usize) -> Result<Mapping, NoBacking> {
    let free = format!("/sys/kernel/mm/hugepages/hugepages-{}kB/free_hugepages", page_bytes >> 10);
    let what = format!("{count} hugetlb pages of {} MiB", page_bytes >> 20);
    let free = Root::host().number(&free).map_err(|e| NoBacking::new(what.clone(), io::Error::other(e)))?;
    if usize::try_from(free).unwrap_or(0) < count {
        let error = io::Error::other(format!("{free} free in the pool"));
        return Err(NoBacking { what, error, advice: "; reserve some in nr_hugepages" });
    }
    let mapping = Mapping::hugetlb(count * page_bytes, page_bytes).map_err(|e| NoBacking::new(what, e))?;
    touch(&mapping, page_bytes, count * page_bytes);
    Ok(mapping)
}

/// Cache lines of 64 bytes in the part of a page that is used: line `i % 64` for page i.
pub const LINES: usize = 64;

fn touch(mapping: &Mapping, step: usize, bytes: usize) {
    for offset in (0..bytes).step_by(step) {
        // SAFETY: in the mapping, writable.
        unsafe { mapping.base().add(offset).write_volatile(0) };
    }
}
