//! The calls that take translations away, and the range they take them from.

use harness::prelude::*;

use crate::vm::mapping::{Mapping, check_faults, minor_faults, only_base_pages, page_bytes, table_bytes};

/// A range of anonymous base pages with a mapped page before and after it in the same page tables, so that no call
/// frees a table.
pub(super) struct Range {
    map: Mapping,
}

impl Range {
    /// Room for a whole table's worth of pages.
    pub(super) fn new() -> Result<Range, Stop> {
        only_base_pages()?;
        let (page, table) = (page_bytes(), table_bytes());
        let map = Mapping::anonymous(2 * table, table)?;
        map.write_every(0, page, page);
        map.write_every(2 * table - page, page, page);
        Ok(Range { map })
    }

    /// Where the pages that calls work on begin: behind the one that stays.
    fn start(&self) -> usize {
        page_bytes()
    }
}

/// What is called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Mprotect,
    DontNeed,
    Munmap,
}

impl Operation {
    pub(super) const ALL: [Operation; 3] = [Operation::Mprotect, Operation::DontNeed, Operation::Munmap];

    pub(super) fn name(self) -> &'static str {
        match self {
            Operation::Mprotect => "mprotect",
            Operation::DontNeed => "dontneed",
            Operation::Munmap => "munmap",
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Operation::Mprotect => "mprotect to read-only",
            Operation::DontNeed => "madvise(MADV_DONTNEED)",
            Operation::Munmap => "munmap",
        }
    }

    /// Makes all `pages` pages writable and writes them; proves that the last call had taken them away.
    pub(super) fn prepare(self, range: &Range, pages: usize) -> Result<(), Stop> {
        let page = page_bytes();
        if self == Operation::Mprotect {
            check(range.map.protect(range.start(), pages * page, true), "mprotect back to writable")?;
        }
        let before = minor_faults();
        range.map.write_every(range.start(), pages * page, page);
        let faults = minor_faults() - before;
        if self == Operation::Mprotect { Ok(()) } else { check_faults(faults, pages as u64) }
    }

    /// The timed call.
    #[inline]
    pub(super) fn call(self, range: &Range, pages: usize) -> bool {
        let (start, bytes) = (range.start(), pages * page_bytes());
        match self {
            Operation::Mprotect => range.map.protect(start, bytes, false),
            Operation::DontNeed => range.map.drop_pages(start, bytes).is_ok(),
            Operation::Munmap => range.map.unmap(start, bytes),
        }
    }

    /// Maps again what the call has unmapped, at once: nothing else may come in its place.
    pub(super) fn fill_hole(self, range: &Range, pages: usize) -> Result<(), Stop> {
        match self {
            Operation::Munmap => range.map.renew(range.start(), pages * page_bytes()),
            Operation::Mprotect | Operation::DontNeed => Ok(()),
        }
    }
}
