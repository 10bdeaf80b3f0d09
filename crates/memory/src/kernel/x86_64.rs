//! x86-64 bodies.

use core::arch::asm;

/// Latency of [`multiply_chain`]'s multiplication in cycles (uops.info, Intel and AMD optimisation manuals: 3 on every
/// core since 2006).
pub const MULTIPLY_CYCLES: f64 = 3.0;

/// Whether [`time_each`] reads a clock fine enough to tell one load from the next.
pub const EACH_ACCESS_CLOCK: bool = true;

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
            "mov {at}, qword ptr [{at}]",
            "dec {n}",
            "jnz 2b",
            at = inout(reg) at,
            n = inout(reg) steps => _,
            options(nostack, readonly),
        );
    }
    at
}

/// Follows `steps` pointers from `start`, storing `value` behind each pointer before it is loaded; a fence between keeps the
/// next store from starting before this one is translated and retired. Returns where it arrived.
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
            "mov qword ptr [{at} + 8], {value}",
            "lfence",
            "mov {at}, qword ptr [{at}]",
            "dec {n}",
            "jnz 2b",
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
            "mov {at:e}, dword ptr [{list}]",
            "shl {at}, 6",
            "add {at}, {base}",
            "mov {carry}, qword ptr [{at} + {carry}]",
            "add {list}, 4",
            "dec {n}",
            "jnz 2b",
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

/// Stores `value` at `base + offsets[i] * 64` for each offset; a load fence after each store keeps the next one from
/// starting before this one is translated and retired.
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
            "mov {at:e}, dword ptr [{list}]",
            "shl {at}, 6",
            "mov qword ptr [{base} + {at}], {value}",
            "lfence",
            "add {list}, 4",
            "dec {n}",
            "jnz 2b",
            at = out(reg) _,
            base = in(reg) base,
            value = in(reg) value,
            list = inout(reg) offsets.as_ptr() => _,
            n = inout(reg) offsets.len() => _,
            options(nostack),
        );
    }
}

/// Times the load of `base + offsets[i] * 64` alone, in ticks of the time stamp counter, into `times[i]`.
///
/// # Safety
/// Every `base + offsets[i] * 64` must be 8 readable bytes.
#[inline(never)]
pub unsafe fn time_each(base: *const u8, offsets: &[u32], times: &mut [u32]) {
    for (&offset, time) in offsets.iter().zip(times) {
        let ticks: u32;
        // SAFETY: one load that the caller allows, between two time stamps.
        unsafe {
            asm!(
                "lfence",
                "rdtsc",
                "lfence",
                "mov {start:e}, eax",
                "mov {at}, qword ptr [{at}]",
                "lfence",
                "rdtsc",
                "lfence",
                "sub eax, {start:e}",
                start = out(reg) _,
                at = inout(reg) base.add(offset as usize * super::OFFSET_UNIT) => _,
                out("eax") ticks,
                out("edx") _,
                options(nostack, readonly),
            );
        }
        *time = ticks;
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
            "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}",
            "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}",
            "dec {n}",
            "jnz 2b",
            x = inout(reg) 0x9E37_79B9_7F4A_7C15u64 => _,
            n = inout(reg) rounds => _,
            options(nomem, nostack),
        );
    }
}
