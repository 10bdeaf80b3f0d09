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
