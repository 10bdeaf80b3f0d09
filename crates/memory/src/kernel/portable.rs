//! Bodies for architectures without assembly here: volatile accesses, a few more instructions per step.

use super::OFFSET_UNIT;

/// Latency assumed for [`multiply_chain`]'s multiplication, cycles. A guess: cycle figures are only as good as it is.
pub const MULTIPLY_CYCLES: f64 = 3.0;

/// Whether [`time_each`] reads a clock fine enough to tell one load from the next.
pub const EACH_ACCESS_CLOCK: bool = false;

/// Follows `steps` pointers from `start`; returns where it arrived.
///
/// # Safety
/// `start` and every address loaded must be a readable pointer.
#[inline(never)]
pub unsafe fn pointer_chain(start: *const u8, steps: u64) -> *const u8 {
    let mut at = start;
    for _ in 0..steps {
        // SAFETY: the caller vouches for every address on the chain.
        at = unsafe { at.cast::<*const u8>().read_volatile() };
    }
    at
}

/// Follows `steps` pointers from `start`, storing `value` behind each pointer before it is loaded; a fence between keeps the
/// next store from starting before this one is translated. Returns where it arrived.
///
/// # Safety
/// `start` and every address loaded must be 16 writable bytes whose second half nothing else relies on.
#[inline(never)]
pub unsafe fn store_chain(start: *mut u8, steps: u64, value: u64) -> *mut u8 {
    let mut at = start;
    for _ in 0..steps {
        // SAFETY: as the caller vouches.
        unsafe { at.cast::<u64>().add(1).write_volatile(value) };
        core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
        // SAFETY: as the caller vouches.
        at = unsafe { at.cast::<*mut u8>().read_volatile() };
    }
    at
}

/// Loads `base + offsets[i] * 64 + carry` for each offset, each load's value being the next carry; returns the last.
///
/// # Safety
/// Every address so formed must be 8 readable bytes; with zeros there, these are `base + offsets[i] * 64`.
#[inline(never)]
pub unsafe fn zero_chain(base: *const u8, offsets: &[u32]) -> u64 {
    let mut carry = 0u64;
    for &offset in offsets {
        // SAFETY: as the caller vouches.
        carry =
            unsafe { base.add(offset as usize * OFFSET_UNIT + carry as usize).cast::<u64>().read_volatile() };
    }
    carry
}

/// Stores `value` at `base + offsets[i] * 64` for each offset, with a fence after each store.
///
/// # Safety
/// Every `base + offsets[i] * 64` must be 8 writable bytes that nothing else relies on.
#[inline(never)]
pub unsafe fn store_each(base: *mut u8, offsets: &[u32], value: u64) {
    for &offset in offsets {
        // SAFETY: as the caller vouches.
        unsafe { base.add(offset as usize * OFFSET_UNIT).cast::<u64>().write_volatile(value) };
        core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
    }
}

/// Loads each address once; there is no clock fine enough to time one load, so every time is 0.
///
/// # Safety
/// Every `base + offsets[i] * 64` must be 8 readable bytes.
#[inline(never)]
pub unsafe fn time_each(base: *const u8, offsets: &[u32], times: &mut [u32]) {
    for (&offset, time) in offsets.iter().zip(times) {
        // SAFETY: as the caller vouches.
        unsafe { base.add(offset as usize * OFFSET_UNIT).cast::<u64>().read_volatile() };
        *time = 0;
    }
}

/// Eight dependent multiplications a round.
#[inline(never)]
pub fn multiply_chain(rounds: u64) {
    let mut x = 0x9E37_79B9_7F4A_7C15u64;
    for _ in 0..rounds * 8 {
        x = core::hint::black_box(x.wrapping_mul(x));
    }
}
