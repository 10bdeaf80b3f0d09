//! Bandwidth of one CPU by operation and width of access.

use serde::Serialize;

use crate::backing::distinct_pages;
use crate::recording::{Chain, Request, quantile};
use crate::sampler::Sampler;

/// One row. Bytes are those the operation is about: a copy of n bytes counts n, though it moves at least 2n.
#[derive(Clone, Debug, Serialize)]
pub struct Bandwidth {
    /// `read`, `write`, `write_nt` (past the caches), `copy`.
    pub operation: &'static str,
    /// Bytes per load or store; `None` for the library's choice.
    pub width: Option<u32>,
    /// Buffer, bytes (two of them for a copy).
    pub bytes: u64,
    /// MB/s (10^6 bytes).
    pub mb_per_s: f64,
}

/// Bytes handled by one call: long enough against the clock, short against a scheduler slice.
const PER_CALL: usize = 256 << 10;

/// A loop over one buffer or two.
enum Sweep {
    Load(unsafe fn(*const u8, usize)),
    Store(unsafe fn(*mut u8, usize)),
    Copy,
}

/// The loops this processor has, with name and width.
fn sweeps() -> Vec<(&'static str, Option<u32>, Sweep)> {
    let mut all = vec![
        ("read", Some(8), Sweep::Load(lanes::read_8)),
        ("write", Some(8), Sweep::Store(lanes::write_8)),
        ("copy", None, Sweep::Copy),
    ];
    #[cfg(target_arch = "x86_64")]
    {
        all.push(("read", Some(16), Sweep::Load(lanes::read_16)));
        all.push(("write", Some(16), Sweep::Store(lanes::write_16)));
        all.push(("write_nt", Some(16), Sweep::Store(lanes::write_nt_16)));
        if std::arch::is_x86_feature_detected!("avx") {
            all.push(("read", Some(32), Sweep::Load(lanes::read_32)));
            all.push(("write", Some(32), Sweep::Store(lanes::write_32)));
        }
        if std::arch::is_x86_feature_detected!("avx512f") {
            all.push(("read", Some(64), Sweep::Load(lanes::read_64)));
            all.push(("write", Some(64), Sweep::Store(lanes::write_64)));
        }
    }
    all.sort_by_key(|(name, width, _)| (*name, *width));
    all
}

/// Every operation over buffers of `bytes`.
pub fn bandwidths(sampler: &mut Sampler, bytes: u64) -> Result<Vec<Bandwidth>, String> {
    let bytes = (bytes as usize).next_multiple_of(4096);
    let source = distinct_pages(bytes).map_err(|e| e.to_string())?;
    let target = distinct_pages(bytes).map_err(|e| e.to_string())?;
    let per_call = bytes.min(PER_CALL);
    let mut rows = Vec::new();
    for (operation, width, sweep) in sweeps() {
        let request = Request { chain: Chain::LoadDistinct, stride: 1, pages: 0 };
        let mut at = 0;
        // Work is counted in bytes; a call begins where the last one ended.
        let batch = sampler.batch(request, 0, per_call, || {
            let (from, to) = (source.base().wrapping_add(at), target.base().wrapping_add(at));
            // SAFETY: `per_call` bytes from `at` lie in both mappings, which do not overlap; the set of instructions was
            // checked.
            unsafe {
                match &sweep {
                    Sweep::Load(load) => load(from, per_call),
                    Sweep::Store(store) => store(to, per_call),
                    Sweep::Copy => std::ptr::copy_nonoverlapping(from, to, per_call),
                }
            }
            at = if at + 2 * per_call > bytes { 0 } else { at + per_call };
        });
        let mut ns: Vec<f64> = batch.chunk_ns.iter().map(|&ns| f64::from(ns)).collect();
        ns.sort_by(f64::total_cmp);
        let mb_per_s = 1000.0 / quantile(&ns, 0.25);
        rows.push(Bandwidth { operation, width, bytes: bytes as u64, mb_per_s });
    }
    Ok(rows)
}

/// Loops pinned down in assembly, so that every byte is loaded or stored at the width said. The byte counts are multiples
/// of 512.
mod lanes {
    #[cfg(target_arch = "x86_64")]
    mod x86_64 {
        /// Eight accesses of one width a round, `$bytes` in all, at the offsets given.
        macro_rules! load {
            ($name:ident, $bytes:literal, $instruction:literal, $register:literal, $($offset:literal)*) => {
                /// # Safety
                /// `n` bytes at `at` must be readable and aligned to the width, and the instruction set present.
                #[inline(never)]
                pub unsafe fn $name(at: *const u8, n: usize) {
                    if n < $bytes {
                        return;
                    }
                    // SAFETY: loads only within the range.
                    unsafe {
                        core::arch::asm!(
                            "2:",
                            $(concat!($instruction, " ", $register, ", [{at} + ", $offset, "]"),)*
                            concat!("add {at}, ", $bytes),
                            "dec {rounds}",
                            "jnz 2b",
                            at = inout(reg) at => _,
                            rounds = inout(reg) n / $bytes => _,
                            out("rax") _,
                            out("xmm0") _,
                            options(nostack, readonly),
                        );
                    }
                }
            };
        }
        /// As `load`, storing.
        macro_rules! store {
            ($name:ident, $bytes:literal, $instruction:literal, $register:literal, $($offset:literal)*) => {
                /// # Safety
                /// `n` bytes at `at` must be writable and aligned to the width, and the instruction set present.
                #[inline(never)]
                pub unsafe fn $name(at: *mut u8, n: usize) {
                    if n < $bytes {
                        return;
                    }
                    // SAFETY: stores only within the range.
                    unsafe {
                        core::arch::asm!(
                            "xor eax, eax",
                            "2:",
                            $(concat!($instruction, " [{at} + ", $offset, "], ", $register),)*
                            concat!("add {at}, ", $bytes),
                            "dec {rounds}",
                            "jnz 2b",
                            at = inout(reg) at => _,
                            rounds = inout(reg) n / $bytes => _,
                            out("rax") _,
                            out("xmm0") _,
                            options(nostack),
                        );
                    }
                }
            };
        }
        load!(read_8, 64, "mov", "rax", 0 8 16 24 32 40 48 56);
        load!(read_16, 128, "movaps", "xmm0", 0 16 32 48 64 80 96 112);
        load!(read_32, 256, "vmovaps", "ymm0", 0 32 64 96 128 160 192 224);
        load!(read_64, 512, "vmovaps", "zmm0", 0 64 128 192 256 320 384 448);
        store!(write_8, 64, "mov", "rax", 0 8 16 24 32 40 48 56);
        store!(write_16, 128, "movaps", "xmm0", 0 16 32 48 64 80 96 112);
        store!(write_nt_16, 128, "movntps", "xmm0", 0 16 32 48 64 80 96 112);
        store!(write_32, 256, "vmovaps", "ymm0", 0 32 64 96 128 160 192 224);
        store!(write_64, 512, "vmovaps", "zmm0", 0 64 128 192 256 320 384 448);
    }
    #[cfg(target_arch = "x86_64")]
    pub use x86_64::*;

    /// # Safety
    /// `n` bytes at `at` must be readable.
    #[cfg(not(target_arch = "x86_64"))]
    #[inline(never)]
    pub unsafe fn read_8(at: *const u8, n: usize) {
        for offset in (0..n / 64 * 64).step_by(64) {
            for lane in 0..8 {
                // SAFETY: within the range.
                unsafe { at.add(offset + 8 * lane).cast::<u64>().read_volatile() };
            }
        }
    }

    /// # Safety
    /// `n` bytes at `at` must be writable.
    #[cfg(not(target_arch = "x86_64"))]
    #[inline(never)]
    pub unsafe fn write_8(at: *mut u8, n: usize) {
        for offset in (0..n / 64 * 64).step_by(64) {
            for lane in 0..8 {
                // SAFETY: within the range.
                unsafe { at.add(offset + 8 * lane).cast::<u64>().write_volatile(0) };
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn stores_reach_every_byte_and_no_other() {
            let mut bytes = vec![0xAAu8; 4096 + 128];
            let offset = bytes.as_ptr().align_offset(64);
            // SAFETY: 1024 bytes from the aligned place lie in the buffer.
            unsafe { write_8(bytes.as_mut_ptr().add(offset), 1024) };
            // SAFETY: as above.
            unsafe { read_8(bytes.as_ptr().add(offset), 1024) };
            assert!(bytes[offset..offset + 1024].iter().all(|&b| b == 0));
            assert!(bytes[..offset].iter().chain(&bytes[offset + 1024..]).all(|&b| b == 0xAA));
        }
    }
}
