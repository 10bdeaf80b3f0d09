//! Mapping files: page sizes by address range, with what is global and what is pinned.

use serde::Deserialize;

use super::{Address, Bytes, Machine, MapRange, PinnedRange};

/// Pages that one range may pin; no TLB has as many entries to give away.
const MOST_PINNED: u64 = 4096;

/// `[[map]]` tables and nothing else.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MapFile {
    map: Vec<Range>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    base: Address,
    len: Bytes,
    page: Bytes,
    #[serde(default)]
    global: bool,
    #[serde(default)]
    pinned: bool,
}

impl MapFile {
    /// `machine` with the ranges appended to its map; a pinned range takes an entry per page from every TLB of the last
    /// level.
    ///
    /// # Errors
    /// A pinned range is no whole number of pages, or too many.
    pub(super) fn apply(self, machine: &Machine) -> Result<Machine, String> {
        let mut out = machine.clone();
        let last = out.tlbs.iter().map(|t| t.level).max().unwrap_or(1);
        for range in self.map {
            let Range { base, len, page, global, pinned } = range;
            out.map.push(MapRange { base, len, page, global });
            if !pinned {
                continue;
            }
            let pages = pages(base.0, len.0, page.0)?;
            for tlb in out.tlbs.iter_mut().filter(|t| t.level == last) {
                let pin = |i| PinnedRange { base: Address(base.0 + i * page.0), size: page };
                tlb.pinned.extend((0..pages).map(pin));
            }
        }
        Ok(out)
    }
}

/// Pages of a range that is to be pinned.
fn pages(base: u64, len: u64, page: u64) -> Result<u64, String> {
    let whole = page > 0 && len > 0 && len.is_multiple_of(page) && base.checked_add(len - 1).is_some();
    if !whole {
        return Err(format!("the pinned range at {base:x} is no whole number of pages of {page} bytes"));
    }
    let pages = len / page;
    if pages > MOST_PINNED {
        return Err(format!(
            "the pinned range at {base:x} has {pages} pages; at most {MOST_PINNED} can be pinned"
        ));
    }
    Ok(pages)
}
