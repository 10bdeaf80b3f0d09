//! A TLB without anything of this process.
//!
//! Entries of pages no longer used stay until something needs their place, and some tables then go on dropping pages in use
//! in their stead for as long as the same pages come round. On an AMD Zen 5, whose second level holds 4096, a chain over
//! 1722 pages so cost 21 or 32 cycles per access, by what ran before it; from empty it always costs 21.

use crate::backing::{Mapping, Protection, page_bytes};

/// More pages than a kernel drops one by one: Linux on x86 flushes everything from 34 pages on
/// (`tlb_single_page_flush_ceiling`, Documentation/arch/x86/tlb.rst). Arm64 drops them by range where the processor can, and
/// then nothing else is dropped.
const PAGES: usize = 64;

/// Pages to take away.
pub struct Emptier(Option<Mapping>);

impl Emptier {
    /// Without the memory for it nothing is emptied.
    pub fn new() -> Emptier {
        let mapping = Mapping::anonymous(PAGES * page_bytes(), page_bytes(), Protection::Read).ok();
        if let Some(mapping) = &mapping {
            // Kernels without huge pages answer EINVAL: then there is nothing to refuse.
            let _ = mapping.advise(libc::MADV_NOHUGEPAGE);
        }
        Emptier(mapping)
    }

    /// Drops the entries of this process from the TLBs of this CPU.
    pub fn empty(&self) {
        let Some(mapping) = &self.0 else { return };
        for page in 0..PAGES {
            // SAFETY: the page lies in the mapping and may be read.
            unsafe { mapping.base().add(page * page_bytes()).read_volatile() };
        }
        let _ = mapping.advise(libc::MADV_DONTNEED);
    }
}
