//! Which pages are really mapped: `/proc/self/pagemap` and `/proc/kpageflags` (Linux Documentation/admin-guide/mm/
//! pagemap.rst).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use environment::Root;
use harness::Stop;

use super::mapping::{Mapping, page_bytes};

/// Bit 63: the page is present.
const PRESENT: u64 = 1 << 63;
/// Bit 62: the page is swapped out.
const SWAPPED: u64 = 1 << 62;
/// Bit 56: the page is mapped once only.
const EXCLUSIVE: u64 = 1 << 56;
/// Bits 0-54 of a present page: its frame number, 0 for the unprivileged.
const FRAME: u64 = (1 << 55) - 1;
/// `/proc/kpageflags`: page is the head of a compound page.
const COMPOUND_HEAD: u64 = 1 << 15;
/// `/proc/kpageflags`: page is a later part of a compound page.
const COMPOUND_TAIL: u64 = 1 << 16;

/// The page map of this process, opened once; its buffer is allocated and touched before it is used.
pub(crate) struct Pagemap {
    file: File,
    bytes: Vec<u8>,
}

impl Pagemap {
    /// Opens it for ranges of up to `pages` pages.
    pub(crate) fn open(pages: usize) -> Result<Pagemap, Stop> {
        let file = File::open("/proc/self/pagemap")
            .map_err(|e| Stop::skip(format!("/proc/self/pagemap, which counts the pages mapped: {e}")))?;
        Ok(Pagemap { file, bytes: vec![1; pages * 8] })
    }

    /// Number of pages present in `bytes` from `offset` of `map`.
    pub(crate) fn present(&mut self, map: &Mapping, offset: usize, bytes: usize) -> Result<u64, Stop> {
        self.count(map, offset, bytes, PRESENT)
    }

    /// Number of pages that are in swap.
    pub(crate) fn swapped(&mut self, map: &Mapping, offset: usize, bytes: usize) -> Result<u64, Stop> {
        self.count(map, offset, bytes, SWAPPED)
    }

    /// Number of pages that are present and that no one else maps.
    pub(crate) fn exclusive(&mut self, map: &Mapping, offset: usize, bytes: usize) -> Result<u64, Stop> {
        self.count(map, offset, bytes, PRESENT | EXCLUSIVE)
    }

    fn count(&mut self, map: &Mapping, offset: usize, bytes: usize, bits: u64) -> Result<u64, Stop> {
        let entries =
            self.entries(map, offset, bytes).map_err(|e| Stop::fail(format!("/proc/self/pagemap: {e}")))?;
        Ok(entries.filter(|entry| entry & bits == bits).count() as u64)
    }

    fn entries(
        &mut self,
        map: &Mapping,
        offset: usize,
        bytes: usize,
    ) -> io::Result<impl Iterator<Item = u64> + '_> {
        let pages = bytes.div_ceil(page_bytes());
        let buffer = self
            .bytes
            .get_mut(..pages * 8)
            .ok_or_else(|| io::Error::other("a larger range than it was opened for"))?;
        let first = (map.address() + offset) / page_bytes();
        self.file.read_exact_at(buffer, first as u64 * 8)?;
        Ok(buffer.chunks_exact(8).map(|entry| {
            let mut word = [0u8; 8];
            word.copy_from_slice(entry);
            u64::from_ne_bytes(word)
        }))
    }
}

/// Bytes of the folio behind the first page of `map`, which must be present. The error says why it is not known:
/// frame numbers and `/proc/kpageflags` are for root only.
pub(crate) fn folio_bytes(map: &Mapping) -> Result<u64, String> {
    let mut pagemap = Pagemap::open(1).map_err(|stop| stop.to_string())?;
    let entry = pagemap
        .entries(map, 0, page_bytes())
        .map_err(|e| format!("/proc/self/pagemap: {e}"))?
        .next()
        .filter(|entry| entry & PRESENT != 0)
        .ok_or("the page is not present")?;
    let frame = entry & FRAME;
    if frame == 0 {
        return Err("frame numbers are shown to root only".to_owned());
    }
    let flags = File::open("/proc/kpageflags").map_err(|e| format!("/proc/kpageflags: {e}"))?;
    let at = |frame: u64| -> Result<u64, String> {
        let mut word = [0u8; 8];
        flags.read_exact_at(&mut word, frame * 8).map_err(|e| format!("/proc/kpageflags: {e}"))?;
        Ok(u64::from_ne_bytes(word))
    };
    if at(frame)? & (COMPOUND_HEAD | COMPOUND_TAIL) == 0 {
        return Ok(page_bytes() as u64);
    }
    // The first page of a file is the first of its folio.
    let mut pages = 1;
    while pages < 1 << 12 && at(frame + pages)? & COMPOUND_TAIL != 0 {
        pages += 1;
    }
    Ok(pages * page_bytes() as u64)
}

/// `AnonHugePages` of the mapping at `address` in `/proc/self/smaps`, kB.
pub(crate) fn anon_huge_kb(root: &Root, address: usize) -> Option<u64> {
    let text = root.contents("/proc/self/smaps").ok()?;
    let from = text.lines().skip_while(|line| {
        let start = line.split_once('-').and_then(|(start, _)| usize::from_str_radix(start, 16).ok());
        start != Some(address)
    });
    from.skip(1)
        .find_map(|line| line.strip_prefix("AnonHugePages:")?.trim().strip_suffix(" kB")?.parse().ok())
}
