//! A TLB without anything of anybody.
//!
//! Entries of pages no longer used stay until something needs their place, and some tables then go on dropping pages in use
//! in their stead for as long as the same pages come round. On an AMD Zen 5, whose second level holds 4096, a chain over
//! 1722 pages so cost 21 or 32 cycles per access, by what ran before it; from empty it always costs 21.
//!
//! A process can have its own entries dropped, not those that other processes left. So more pages than any table holds are
//! swept first, which takes the others' places, and then dropped with the rest.

use crate::backing::{Mapping, Protection, page_bytes, zero_pages};

/// Pages swept: several times what a second level holds.
const SWEPT: usize = 16_384;

/// More pages than a kernel drops one by one: Linux on x86 drops everything of the process from 34 pages on
/// (`tlb_single_page_flush_ceiling`, Documentation/arch/x86/tlb.rst). Arm64 drops them by range where the processor can, and
/// then nothing else is dropped.
const DROPPED: usize = 64;

/// Pages to sweep and pages to take away.
pub struct Emptier {
    swept: Option<Mapping>,
    dropped: Option<Mapping>,
}

impl Emptier {
    /// Without the memory for it nothing is emptied.
    pub fn new() -> Emptier {
        let dropped = Mapping::anonymous(DROPPED * page_bytes(), page_bytes(), Protection::Read).ok();
        if let Some(mapping) = &dropped {
            // Kernels without huge pages answer EINVAL: then there is nothing to refuse.
            let _ = mapping.advise(libc::MADV_NOHUGEPAGE);
        }
        Emptier { swept: zero_pages(SWEPT, 1).ok(), dropped }
    }

    /// Drops all entries from the TLBs of this CPU.
    pub fn empty(&self) {
        if let Some(mapping) = &self.swept {
            touch(mapping, SWEPT);
        }
        if let Some(mapping) = &self.dropped {
            touch(mapping, DROPPED);
            let _ = mapping.advise(libc::MADV_DONTNEED);
        }
    }
}

/// Reads each page.
fn touch(mapping: &Mapping, pages: usize) {
    for page in 0..pages {
        // SAFETY: the page lies in the mapping and may be read.
        unsafe { mapping.base().add(page * page_bytes()).read_volatile() };
    }
}
