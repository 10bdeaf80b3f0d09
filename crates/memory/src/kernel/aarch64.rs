//! aarch64 bodies. They have run under emulation (`scripts/aarch64-emulated`), never on hardware.

use core::arch::asm;

/// Latency of [`multiply_chain`]'s multiplication in cycles: 3 on Cortex-A76, Neoverse N1/N2/V1 and Apple cores (Arm
/// software optimisation guides, `MADD`, 64-bit: 3-4), 4 on Cortex-A53/A55. 3 is assumed, so cycles may be 4/3 too few.
pub const MULTIPLY_CYCLES: f64 = 3.0;

/// Whether [`time_each`] reads a clock fine enough to tell one load from the next: the generic timer usually steps by
/// 10-40 ns, several loads.
pub const EACH_ACCESS_CLOCK: bool = false;

/// Follows `steps` pointers from `start`; returns where it arrived.
///
/// # Safety
/// `start` and every address loaded must be 8 readable bytes.
#[inline(always)]
pub unsafe fn pointer_chain(start: *const u8, steps: u64) -> *const u8 {
    let mut at = start;
    if steps == 0 {
        return at;
    }
    // SAFETY: reads only where the caller allows; no stack use.
    unsafe {
        asm!(
            "2:",
            "ldr {at}, [{at}]",
            "subs {n}, {n}, #1",
            "b.ne 2b",
            at = inout(reg) at,
            n = inout(reg) steps => _,
            options(nostack, readonly),
        );
    }
    at
}

/// Follows `steps` pointers from `start`, storing `value` behind each pointer before it is loaded; a fence between keeps the
/// next store from starting before this one is translated. Returns where it arrived.
///
/// # Safety
/// `start` and every address loaded must be 16 writable bytes whose second half nothing else relies on.
#[inline(always)]
pub unsafe fn store_chain(start: *mut u8, steps: u64, value: u64) -> *mut u8 {
    let mut at = start;
    if steps == 0 {
        return at;
    }
    // SAFETY: loads and stores only where the caller allows; no stack use.
    unsafe {
        asm!(
            "2:",
            "str {value}, [{at}, #8]",
            "dsb nsh",
            "ldr {at}, [{at}]",
            "subs {n}, {n}, #1",
            "b.ne 2b",
            at = inout(reg) at,
            value = in(reg) value,
            n = inout(reg) steps => _,
            options(nostack),
        );
    }
    at
}

/// Loads `base + offsets[i] * 64 + carry` for each offset, each load's value being the next carry; returns the last.
///
/// # Safety
/// Every address so formed must be 8 readable bytes; with zeros there, these are `base + offsets[i] * 64`.
#[inline(always)]
pub unsafe fn zero_chain(base: *const u8, offsets: &[u32]) -> u64 {
    let mut carry = 0u64;
    if offsets.is_empty() {
        return carry;
    }
    // SAFETY: the list is read within its length; the rest is the caller's.
    unsafe {
        asm!(
            "2:",
            "ldr {at:w}, [{list}], #4",
            "add {at}, {base}, {at}, lsl #6",
            "ldr {carry}, [{at}, {carry}]",
            "subs {n}, {n}, #1",
            "b.ne 2b",
            at = out(reg) _,
            base = in(reg) base,
            list = inout(reg) offsets.as_ptr() => _,
            carry = inout(reg) carry,
            n = inout(reg) offsets.len() => _,
            options(nostack, readonly),
        );
    }
    carry
}

/// Stores `value` at `base + offsets[i] * 64` for each offset, with a barrier after each store.
///
/// # Safety
/// Every `base + offsets[i] * 64` must be 8 writable bytes that nothing else relies on.
#[inline(always)]
pub unsafe fn store_each(base: *mut u8, offsets: &[u32], value: u64) {
    if offsets.is_empty() {
        return;
    }
    // SAFETY: the list is read within its length; the stores are the caller's.
    unsafe {
        asm!(
            "2:",
            "ldr {at:w}, [{list}], #4",
            "add {at}, {base}, {at}, lsl #6",
            "str {value}, [{at}]",
            "dsb nsh",
            "subs {n}, {n}, #1",
            "b.ne 2b",
            at = out(reg) _,
            base = in(reg) base,
            value = in(reg) value,
            list = inout(reg) offsets.as_ptr() => _,
            n = inout(reg) offsets.len() => _,
            options(nostack),
        );
    }
}

/// Times the load of `base + offsets[i] * 64` alone, in ticks of the generic timer, into `times[i]`.
///
/// # Safety
/// Every `base + offsets[i] * 64` must be 8 readable bytes.
#[inline(never)]
pub unsafe fn time_each(base: *const u8, offsets: &[u32], times: &mut [u32]) {
    for (&offset, time) in offsets.iter().zip(times) {
        let (start, end): (u64, u64);
        // SAFETY: one load that the caller allows, between two reads of the counter, which user space may read.
        unsafe {
            asm!(
                "isb",
                "mrs {start}, cntvct_el0",
                "isb",
                "ldr {at}, [{at}]",
                "dsb ld",
                "isb",
                "mrs {end}, cntvct_el0",
                start = out(reg) start,
                end = out(reg) end,
                at = inout(reg) base.add(offset as usize * super::OFFSET_UNIT) => _,
                options(nostack, readonly),
            );
        }
        *time = end.wrapping_sub(start) as u32;
    }
}

/// Eight dependent multiplications a round.
#[inline(always)]
pub fn multiply_chain(rounds: u64) {
    if rounds == 0 {
        return;
    }
    // SAFETY: only the named registers and the flags are changed.
    unsafe {
        asm!(
            "2:",
            "mul {x}, {x}, {x}", "mul {x}, {x}, {x}", "mul {x}, {x}, {x}", "mul {x}, {x}, {x}",
            "mul {x}, {x}, {x}", "mul {x}, {x}, {x}", "mul {x}, {x}, {x}", "mul {x}, {x}, {x}",
            "subs {n}, {n}, #1",
            "b.ne 2b",
            x = inout(reg) 0x9E37_79B9_7F4A_7C15u64 => _,
            n = inout(reg) rounds => _,
            options(nomem, nostack),
        );
    }
}
