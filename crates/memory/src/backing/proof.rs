//! What the kernel says is behind an address range.

use std::fs::File;
use std::os::fd::AsRawFd;

use environment::Root;
use serde::Serialize;

use super::Mapping;

/// What backs a range, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Backed {
    /// Mapped by huge entries (of whatever size).
    pub huge: u64,
    /// Showing the (huge) zero page.
    pub zero: u64,
    /// Present at all.
    pub present: u64,
    /// Where this is from: `PAGEMAP_SCAN` or `smaps`.
    pub source: &'static str,
}

/// Argument of the `PAGEMAP_SCAN` ioctl (linux/fs.h, since Linux 6.7).
#[repr(C)]
struct ScanArgument {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

const PAGEMAP_SCAN: u64 = 0xC060_6610;
const PAGE_IS_PRESENT: u64 = 1 << 3;
const PAGE_IS_PFNZERO: u64 = 1 << 5;
const PAGE_IS_HUGE: u64 = 1 << 6;

/// What backs `mapping`; the error says why it can't be told.
pub fn backed(mapping: &Mapping) -> Result<Backed, String> {
    let (start, end) = (mapping.base() as u64, mapping.base() as u64 + mapping.len() as u64);
    scan(start, end).or_else(|scan| smaps(start, end).map_err(|smaps| format!("{scan}; {smaps}")))
}

fn scan(start: u64, end: u64) -> Result<Backed, String> {
    let file = File::open("/proc/self/pagemap").map_err(|e| format!("/proc/self/pagemap: {e}"))?;
    let mut regions = vec![Region { start: 0, end: 0, categories: 0 }; 512];
    let mut found = Backed { source: "PAGEMAP_SCAN", ..Backed::default() };
    let mut from = start;
    while from < end {
        let mut argument = ScanArgument {
            size: size_of::<ScanArgument>() as u64,
            flags: 0,
            start: from,
            end,
            walk_end: 0,
            vec: regions.as_mut_ptr() as u64,
            vec_len: regions.len() as u64,
            max_pages: 0,
            category_inverted: 0,
            category_mask: PAGE_IS_PRESENT,
            category_anyof_mask: 0,
            return_mask: PAGE_IS_PRESENT | PAGE_IS_PFNZERO | PAGE_IS_HUGE,
        };
        // SAFETY: the argument and the vector it points to are ours and as large as they say.
        let count = unsafe { libc::ioctl(file.as_raw_fd(), PAGEMAP_SCAN as _, &mut argument) };
        let Ok(count) = usize::try_from(count) else {
            return Err(format!("PAGEMAP_SCAN: {}", std::io::Error::last_os_error()));
        };
        for region in &regions[..count.min(512)] {
            let bytes = region.end.saturating_sub(region.start);
            found.present += bytes;
            if region.categories & PAGE_IS_HUGE != 0 {
                found.huge += bytes;
            }
            if region.categories & PAGE_IS_PFNZERO != 0 {
                found.zero += bytes;
            }
        }
        if argument.walk_end <= from {
            break;
        }
        from = argument.walk_end;
    }
    Ok(found)
}

/// Sums `AnonHugePages`, `*_Hugetlb` and `Rss` over the mappings that begin in the range.
fn smaps(start: u64, end: u64) -> Result<Backed, String> {
    let text = Root::host().contents("/proc/self/smaps").map_err(|e| e.to_string())?;
    let mut found = Backed { source: "smaps", ..Backed::default() };
    let mut inside = false;
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(first), second) = (words.next(), words.next()) else { continue };
        if let Some((from, _)) = first.split_once('-').filter(|_| !first.ends_with(':')) {
            inside = u64::from_str_radix(from, 16).is_ok_and(|from| (start..end).contains(&from));
        } else if inside {
            let bytes = second.and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) << 10;
            match first {
                "AnonHugePages:" => found.huge += bytes,
                "Private_Hugetlb:" | "Shared_Hugetlb:" => {
                    found.huge += bytes;
                    found.present += bytes;
                }
                "Rss:" => found.present += bytes,
                _ => {}
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backing::{distinct_pages, page_bytes, zero_pages};

    #[test]
    fn zero_pages_are_the_zero_page_and_written_pages_are_not() {
        let zero = zero_pages(100, 1).unwrap();
        let own = distinct_pages(50 * page_bytes()).unwrap();
        let (zero, own) = (backed(&zero).unwrap(), backed(&own).unwrap());
        assert_eq!(own.present, 50 * page_bytes() as u64, "{own:?}");
        assert_eq!((own.zero, own.huge), (0, 0), "{own:?}");
        if zero.source == "PAGEMAP_SCAN" {
            assert!(zero.zero == zero.present && zero.zero >= 100 * page_bytes() as u64, "{zero:?}");
        }
        assert_eq!(zero.huge, 0);
    }
}
