//! Vector registers in use: what the kernel must save at a switch and for a signal.

use harness::Stop;

/// The machine's widest vector registers, by what is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vectors {
    /// 256-bit registers of AVX.
    Avx,
    /// 512-bit registers of AVX-512.
    Avx512,
}

impl Vectors {
    /// The widest kind here; a skip where the kernel always saves all it has (no lazy state to fill), or where this
    /// program does not know how to fill it.
    #[cfg(target_arch = "x86_64")]
    pub fn widest() -> Result<Self, Stop> {
        if std::arch::is_x86_feature_detected!("avx512f") {
            Ok(Vectors::Avx512)
        } else if std::arch::is_x86_feature_detected!("avx") {
            Ok(Vectors::Avx)
        } else {
            Err(Stop::skip("no vector registers beyond SSE, which every switch saves"))
        }
    }

    /// As above.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn widest() -> Result<Self, Stop> {
        Err(Stop::skip(format!("filling vector registers is not written for {}", std::env::consts::ARCH)))
    }

    /// A word for the record.
    pub fn name(self) -> &'static str {
        match self {
            Vectors::Avx => "ymm0 (avx)",
            Vectors::Avx512 => "zmm0 (avx512f)",
        }
    }

    /// Sets all bits of register 0, so that its wide part is no longer in its initial state and must be saved.
    #[inline(always)]
    pub fn fill(self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `widest` has found the instructions; the one register changed is named (by its low part: naming the
        // wide one would need the target feature, with which the compiler clears the upper half behind us).
        unsafe {
            match self {
                Vectors::Avx => {
                    core::arch::asm!("vpcmpeqd xmm0, xmm0, xmm0", "vinsertf128 ymm0, ymm0, xmm0, 1", out("xmm0") _, options(nomem, nostack, preserves_flags));
                }
                Vectors::Avx512 => {
                    core::arch::asm!("vpternlogd zmm0, zmm0, zmm0, 0xff", out("xmm0") _, options(nomem, nostack, preserves_flags));
                }
            }
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// XINUSE (Intel SDM vol. 1, 13.6): bit 2 is the upper halves of the ymm registers, bit 6 those of zmm.
    fn in_use() -> u32 {
        let low: u32;
        // SAFETY: only called where CPUID leaf 0xD says that XGETBV with ECX = 1 exists.
        unsafe {
            core::arch::asm!("xgetbv", in("ecx") 1, out("eax") low, out("edx") _, options(nomem, nostack))
        };
        low
    }

    #[test]
    fn a_filled_register_is_in_use() {
        let Ok(vectors) = Vectors::widest() else { return };
        if core::arch::x86_64::__cpuid_count(0xd, 1).eax & 4 == 0 {
            return;
        }
        vectors.fill();
        let after = in_use();
        let bit = if vectors == Vectors::Avx { 1 << 2 } else { 1 << 6 };
        assert_ne!(after & bit, 0, "{vectors:?} {after:#x}");
    }
}
