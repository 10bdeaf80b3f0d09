//! Pages of code for the instruction-side chain.

use std::os::fd::OwnedFd;

use crate::backing::{LINES, Mapping, Protection, alias_pages_of, memory_file, page_bytes};
use crate::kernel::{OFFSET_UNIT, jump};

/// Pages that can hold a ring of jumps: written through one mapping, run through another.
pub struct CodePages {
    writable: Mapping,
    run: Mapping,
    packed: bool,
    _file: OwnedFd,
}

/// A ring of jumps, ready to run.
pub struct Ring<'c> {
    first: *const u8,
    _pages: &'c CodePages,
}

impl CodePages {
    /// Room for rings of up to `count` jumps: one per page on shared frames, each jump in a line of its own; with
    /// `packed`, the same lines side by side in as few pages as hold them.
    pub fn new(count: usize, packed: bool) -> Result<Self, String> {
        if !jump::AVAILABLE {
            return Err("no jump loop for this architecture".into());
        }
        let frames = count.div_ceil(LINES);
        let page = page_bytes();
        let file = memory_file(frames * page, true).map_err(|e| format!("a file in memory: {e}"))?;
        let mut writable = Mapping::anonymous(frames * page, page, Protection::None)
            .map_err(|e| format!("code pages: {e}"))?;
        writable
            .place_file(0, frames * page, &file, 0, Protection::Write)
            .map_err(|e| format!("writable code pages: {e}"))?;
        let run = if packed {
            let mut run = Mapping::anonymous(frames * page, page, Protection::None)
                .map_err(|e| format!("code pages: {e}"))?;
            run.place_file(0, frames * page, &file, 0, Protection::Execute)
                .map_err(|e| format!("executable memory: {e}"))?;
            run
        } else {
            alias_pages_of(&file, count, 1, frames, Protection::Execute)
                .map_err(|e| format!("executable memory: {e}"))?
        };
        Ok(CodePages { writable, run, packed, _file: file })
    }

    /// Byte offset of jump `i` in the frames.
    fn in_frames(i: usize) -> usize {
        i / LINES * page_bytes() + i % LINES * OFFSET_UNIT + i / LINES % 4 * 8
    }

    /// Byte offset of jump `i` in the executable mapping.
    fn in_run(&self, i: usize) -> usize {
        if self.packed {
            Self::in_frames(i)
        } else {
            i * page_bytes() + i % LINES * OFFSET_UNIT + i / LINES % 4 * 8
        }
    }

    /// Writes the ring that visits the jumps in `order`.
    pub fn ring(&self, order: &[u32]) -> Result<Ring<'_>, String> {
        let base = self.run.base() as usize;
        let address = |i: u32| base + self.in_run(i as usize);
        let first = *order.first().ok_or("an empty ring")?;
        for (at, &this) in order.iter().enumerate() {
            let code = match order.get(at + 1) {
                Some(&next) => jump::jump(address(this), address(next)),
                None => jump::last(address(this), address(first)),
            }
            .ok_or("a jump is too far to encode")?;
            let place = Self::in_frames(this as usize);
            if place + code.len() > self.writable.len() {
                return Err("more jumps than pages".into());
            }
            // SAFETY: in the writable mapping; nothing runs there while it is written.
            unsafe {
                std::ptr::copy_nonoverlapping(code.as_ptr(), self.writable.base().add(place), code.len());
            }
        }
        synchronise_instructions(self.run.base(), self.run.len());
        Ok(Ring { first: address(first) as *const u8, _pages: self })
    }
}

impl Ring<'_> {
    /// Walks the ring `passes` times.
    pub fn run(&self, passes: u64) {
        // SAFETY: the ring was written whole and its pages live as long as `self`.
        unsafe { jump::run(self.first, passes) };
    }
}

/// Makes freshly written code visible to instruction fetch. x86 does so by itself (SDM vol. 3, 12.6, once a jump has
/// been executed); aarch64 needs cache maintenance by the address that is run.
#[cfg(target_arch = "aarch64")]
fn synchronise_instructions(base: *const u8, bytes: usize) {
    let mut line = base as usize;
    let end = line + bytes;
    // SAFETY: maintenance by address in our own mapping; user space may do it on Linux (SCTLR_EL1.UCI).
    unsafe {
        while line < end {
            core::arch::asm!("dc cvau, {a}", "ic ivau, {a}", a = in(reg) line);
            line += OFFSET_UNIT;
        }
        core::arch::asm!("dsb ish", "isb");
    }
}

#[cfg(not(target_arch = "aarch64"))]
fn synchronise_instructions(_base: *const u8, _bytes: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_of_jumps_return() {
        if !jump::AVAILABLE {
            return;
        }
        for packed in [false, true] {
            let pages = match CodePages::new(200, packed) {
                Ok(pages) => pages,
                Err(reason) => {
                    eprintln!("skipped: {reason}");
                    return;
                }
            };
            let order: Vec<u32> = (0..200).map(|i| i * 77 % 200).collect();
            for count in [1, 2, 65, 200] {
                let ring = pages.ring(&order[..count]).unwrap();
                ring.run(3);
            }
        }
    }
}
