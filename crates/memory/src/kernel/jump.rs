//! Machine code of the instruction-side loop: a ring of direct jumps, one per code line.
//!
//! The first line is entered as `extern "C" fn(passes: u64)`. Every line jumps to the next one of the ring; the last
//! counts a pass and either starts the next one or returns.

/// Whether this architecture has the loop.
pub const AVAILABLE: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// Code of a block that jumps from address `from` to `to`; `None` when the distance can't be encoded.
#[cfg(target_arch = "x86_64")]
pub fn jump(from: usize, to: usize) -> Option<Vec<u8>> {
    let distance = i32::try_from(to as i64 - (from as i64 + 5)).ok()?;
    let mut code = vec![0xE9];
    code.extend(distance.to_le_bytes());
    Some(code)
}

/// Code of the last block at address `from`: one pass less, on to `first` or back to the caller.
#[cfg(target_arch = "x86_64")]
pub fn last(from: usize, first: usize) -> Option<Vec<u8>> {
    let distance = i32::try_from(first as i64 - (from as i64 + 9)).ok()?;
    // dec rdi; jnz first; ret
    let mut code = vec![0x48, 0xFF, 0xCF, 0x0F, 0x85];
    code.extend(distance.to_le_bytes());
    code.push(0xC3);
    Some(code)
}

#[cfg(target_arch = "aarch64")]
fn branch(from: usize, to: usize) -> Option<u32> {
    let words = (to as i64 - from as i64) / 4;
    (-(1 << 25)..1 << 25).contains(&words).then_some(0x1400_0000 | (words as u32 & 0x03FF_FFFF))
}

/// Code of a block that jumps from address `from` to `to`; `None` when the distance can't be encoded.
#[cfg(target_arch = "aarch64")]
pub fn jump(from: usize, to: usize) -> Option<Vec<u8>> {
    Some(branch(from, to)?.to_le_bytes().to_vec())
}

/// Code of the last block at address `from`: one pass less, on to `first` or back to the caller.
#[cfg(target_arch = "aarch64")]
pub fn last(from: usize, first: usize) -> Option<Vec<u8>> {
    // sub x0, x0, #1; cbz x0, +8; b first; ret
    let words = [0xD100_0400, 0xB400_0040, branch(from + 8, first)?, 0xD65F_03C0];
    Some(words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect())
}

/// No loop on this architecture.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn jump(_from: usize, _to: usize) -> Option<Vec<u8>> {
    None
}

/// No loop on this architecture.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn last(_from: usize, _first: usize) -> Option<Vec<u8>> {
    None
}

/// Calls the ring at `first` for `passes` passes.
///
/// # Safety
/// `first` must be executable memory holding a ring made of [`jump`] and one [`last`].
#[inline(never)]
pub unsafe fn run(first: *const u8, passes: u64) {
    // SAFETY: the code there follows the C calling convention and changes only its argument register and the flags.
    let ring: extern "C" fn(u64) = unsafe { core::mem::transmute(first) };
    ring(passes);
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: usize = 64;
    const LINES: usize = 16;

    // Declared here so that the loops' tests need nothing but the standard library: `scripts/aarch64-emulated`.
    unsafe extern "C" {
        fn mmap(at: *mut u8, bytes: usize, protection: i32, flags: i32, file: i32, offset: i64) -> *mut u8;
        fn mprotect(at: *mut u8, bytes: usize, protection: i32) -> i32;
        fn munmap(at: *mut u8, bytes: usize) -> i32;
    }

    /// Written data becomes code on aarch64 only after maintenance by address.
    fn synchronise(start: *mut u8) {
        #[cfg(target_arch = "aarch64")]
        for line in 0..LINES {
            // SAFETY: maintenance of a line in our own mapping.
            unsafe {
                let at = start.add(line * LINE);
                core::arch::asm!("dc cvau, {a}", "dsb ish", "ic ivau, {a}", "dsb ish", "isb", a = in(reg) at);
            }
        }
        let _ = start;
    }

    #[test]
    fn a_ring_of_jumps_comes_back_after_its_passes() {
        if !AVAILABLE {
            return;
        }
        let bytes = LINES * LINE;
        // SAFETY: a new private mapping (read, write; private, anonymous) where the kernel chooses.
        let start = unsafe { mmap(core::ptr::null_mut(), bytes, 3, 0x22, -1, 0) };
        assert_ne!(start as isize, -1, "no mapping");
        let order: Vec<usize> = (0..LINES).map(|i| i * 7 % LINES).collect();
        let address = |i: usize| start as usize + order[i] * LINE;
        for i in 0..LINES {
            let code = match i + 1 {
                LINES => last(address(i), address(0)),
                next => jump(address(i), address(next)),
            }
            .unwrap();
            // SAFETY: a line of the mapping, larger than any block.
            unsafe { core::ptr::copy_nonoverlapping(code.as_ptr(), address(i) as *mut u8, code.len()) };
        }
        // SAFETY: our own mapping, from now on read and execute.
        if unsafe { mprotect(start, bytes, 5) } == 0 {
            synchronise(start);
            for passes in [1, 2, 1000] {
                // SAFETY: the ring was written whole above.
                unsafe { run(address(0) as *const u8, passes) };
            }
        }
        // SAFETY: our own mapping, not used any more.
        unsafe { munmap(start, bytes) };
    }
}
