//! The loops in x86-64 instructions: SSE2 everywhere, AVX and AVX-512 where the processor has them.

use core::arch::asm;

use super::kernel::{By, Kernel, Work};

/// Stored by write loops, and STREAM's scalar.
#[repr(align(64))]
struct Constant<T>(T);
static ONES: Constant<[u8; 64]> = Constant([0xff; 64]);
static ZEROS: Constant<[u8; 64]> = Constant([0; 64]);
static SCALAR: Constant<[f64; 8]> = Constant([3.0; 8]);

macro_rules! load {
    ($mov:literal, $r:literal, $w:literal, $array:literal, $i:literal) => {
        concat!($mov, " ", $r, $i, ", [{", $array, "} + ", $w, "*", $i, "]")
    };
}
macro_rules! store {
    ($mov:literal, $r:literal, $w:literal, $array:literal, $i:literal) => {
        concat!($mov, " [{", $array, "} + ", $w, "*", $i, "], ", $r, $i)
    };
}
/// Stores register 8, the constant.
macro_rules! store_constant {
    ($mov:literal, $r:literal, $w:literal, $array:literal, $i:literal) => {
        concat!($mov, " [{", $array, "} + ", $w, "*", $i, "], ", $r, "8")
    };
}
/// Arithmetic on register `$i` with an operand, in the two-operand form of SSE2.
macro_rules! sse_arithmetic {
    ($op:literal, $r:literal, $i:literal, $operand:expr) => {
        concat!($op, " ", $r, $i, ", ", $operand)
    };
}
/// The same in the three-operand form of AVX.
macro_rules! avx_arithmetic {
    ($op:literal, $r:literal, $i:literal, $operand:expr) => {
        concat!("v", $op, " ", $r, $i, ", ", $r, $i, ", ", $operand)
    };
}
macro_rules! with_constant {
    ($arithmetic:ident, $op:literal, $r:literal, $i:literal) => {
        $arithmetic!($op, $r, $i, concat!($r, "8"))
    };
}
macro_rules! with_memory {
    ($arithmetic:ident, $op:literal, $r:literal, $w:literal, $array:literal, $i:literal) => {
        $arithmetic!($op, $r, $i, concat!("[{", $array, "} + ", $w, "*", $i, "]"))
    };
}
/// Eight lines, for the registers 0 to 7.
macro_rules! eight {
    ($line:ident, $($argument:tt),*) => {
        concat!(
            $line!($($argument,)* "0"), "\n", $line!($($argument,)* "1"), "\n",
            $line!($($argument,)* "2"), "\n", $line!($($argument,)* "3"), "\n",
            $line!($($argument,)* "4"), "\n", $line!($($argument,)* "5"), "\n",
            $line!($($argument,)* "6"), "\n", $line!($($argument,)* "7")
        )
    };
}
/// One loop as a function of the type `Loop`.
macro_rules! looped {
    ($name:ident, $mov:literal, $r:literal, $w:literal, $constant:expr, $end:literal, [$($line:expr),*]) => {
        /// # Safety
        /// As `Loop`; the processor must have these instructions.
        unsafe fn $name(a: *mut u8, b: *mut u8, c: *mut u8, bytes: usize) -> usize {
            let end: *mut u8;
            // SAFETY: the arrays that are used are valid for `bytes`, a multiple of eight registers.
            unsafe {
                asm!(
                    concat!($mov, " ", $r, "8, [{constant}]"),
                    "2:",
                    $($line,)*
                    concat!("add {a}, ", $w, "*8"),
                    concat!("add {b}, ", $w, "*8"),
                    concat!("add {c}, ", $w, "*8"),
                    concat!("sub {n}, ", $w, "*8"),
                    "jnz 2b",
                    $end,
                    a = inout(reg) a => end, b = inout(reg) b => _, c = inout(reg) c => _,
                    n = inout(reg) bytes => _,
                    constant = in(reg) &raw const $constant,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _,
                    out("xmm5") _, out("xmm6") _, out("xmm7") _, out("xmm8") _,
                    options(nostack)
                );
            }
            end as usize - a as usize
        }
    };
}

/// All loops of one vector width.
macro_rules! width {
    ($module:ident, $mov:literal, $nt:literal, $r:literal, $w:literal, $arithmetic:ident, $end:literal) => {
        mod $module {
            use super::*;
            looped!(read, $mov, $r, $w, ONES, $end, [eight!(load, $mov, $r, $w, "a")]);
            looped!(write, $mov, $r, $w, ONES, $end, [eight!(store_constant, $mov, $r, $w, "b")]);
            looped!(zero, $mov, $r, $w, ZEROS, $end, [eight!(store_constant, $mov, $r, $w, "b")]);
            looped!(
                read_write,
                $mov,
                $r,
                $w,
                ONES,
                $end,
                [eight!(load, $mov, $r, $w, "b"), eight!(store_constant, $mov, $r, $w, "b")]
            );
            looped!(
                copy,
                $mov,
                $r,
                $w,
                ONES,
                $end,
                [eight!(load, $mov, $r, $w, "a"), eight!(store, $mov, $r, $w, "b")]
            );
            looped!(write_nt, $mov, $r, $w, ONES, "sfence", [eight!(store_constant, $nt, $r, $w, "b")]);
            looped!(zero_nt, $mov, $r, $w, ZEROS, "sfence", [eight!(store_constant, $nt, $r, $w, "b")]);
            looped!(
                copy_nt,
                $mov,
                $r,
                $w,
                ONES,
                "sfence",
                [eight!(load, $mov, $r, $w, "a"), eight!(store, $nt, $r, $w, "b")]
            );
            looped!(
                scale,
                $mov,
                $r,
                $w,
                SCALAR,
                $end,
                [
                    eight!(load, $mov, $r, $w, "a"),
                    eight!(with_constant, $arithmetic, "mulpd", $r),
                    eight!(store, $mov, $r, $w, "b")
                ]
            );
            looped!(
                add,
                $mov,
                $r,
                $w,
                SCALAR,
                $end,
                [
                    eight!(load, $mov, $r, $w, "a"),
                    eight!(with_memory, $arithmetic, "addpd", $r, $w, "b"),
                    eight!(store, $mov, $r, $w, "c")
                ]
            );
            looped!(
                triad,
                $mov,
                $r,
                $w,
                SCALAR,
                $end,
                [
                    eight!(load, $mov, $r, $w, "b"),
                    eight!(with_constant, $arithmetic, "mulpd", $r),
                    eight!(with_memory, $arithmetic, "addpd", $r, $w, "a"),
                    eight!(store, $mov, $r, $w, "c")
                ]
            );

            pub(super) fn kernels(bits: u32) -> Vec<Kernel> {
                use By::{NonTemporal, Vector};
                let kernel = |work, by, run| Kernel { work, by, bits, run };
                vec![
                    kernel(Work::Read, Vector, read),
                    kernel(Work::Write, Vector, write),
                    kernel(Work::Write, NonTemporal, write_nt),
                    kernel(Work::ReadWrite, Vector, read_write),
                    kernel(Work::Copy, Vector, copy),
                    kernel(Work::Copy, NonTemporal, copy_nt),
                    kernel(Work::Zero, Vector, zero),
                    kernel(Work::Zero, NonTemporal, zero_nt),
                    kernel(Work::StreamCopy, Vector, copy),
                    kernel(Work::Scale, Vector, scale),
                    kernel(Work::Add, Vector, add),
                    kernel(Work::Triad, Vector, triad),
                ]
            }
        }
    };
}

width!(sse2, "movapd", "movntpd", "xmm", "16", sse_arithmetic, "");
width!(avx, "vmovapd", "vmovntpd", "ymm", "32", avx_arithmetic, "vzeroupper");
width!(avx512, "vmovapd", "vmovntpd", "zmm", "64", avx_arithmetic, "vzeroupper");

macro_rules! scalar {
    ($name:ident, $constant:literal, [$($line:expr),*]) => {
        /// # Safety
        /// As `Loop`.
        unsafe fn $name(a: *mut u8, b: *mut u8, _c: *mut u8, bytes: usize) -> usize {
            let end: *mut u8;
            // SAFETY: the arrays that are used are valid for `bytes`, a multiple of 64.
            unsafe {
                asm!(
                    "2:",
                    $($line,)*
                    "add {a}, 64", "add {b}, 64", "sub {n}, 64", "jnz 2b",
                    a = inout(reg) a => end, b = inout(reg) b => _,
                    n = inout(reg) bytes => _,
                    out("r8") _, in("r9") $constant,
                    options(nostack)
                );
            }
            end as usize - a as usize
        }
    };
}
macro_rules! scalar_load {
    ($array:literal, $i:literal) => {
        concat!("mov r8, [{", $array, "} + 8*", $i, "]")
    };
}
macro_rules! scalar_store {
    ($array:literal, $i:literal) => {
        concat!("mov [{", $array, "} + 8*", $i, "], r9")
    };
}
macro_rules! scalar_both {
    ($array:literal, $i:literal) => {
        concat!(scalar_load!($array, $i), "\n", scalar_store!($array, $i))
    };
}
macro_rules! scalar_move {
    ($i:literal) => {
        concat!("mov r8, [{a} + 8*", $i, "]\nmov [{b} + 8*", $i, "], r8")
    };
}
scalar!(scalar_read, -1i64, [eight!(scalar_load, "a")]);
scalar!(scalar_write, -1i64, [eight!(scalar_store, "b")]);
scalar!(scalar_zero, 0i64, [eight!(scalar_store, "b")]);
scalar!(scalar_read_write, -1i64, [eight!(scalar_both, "b")]);
scalar!(scalar_copy, -1i64, [eight!(scalar_move,)]);

/// # Safety
/// As `Loop`.
unsafe fn rep_copy(a: *mut u8, b: *mut u8, _c: *mut u8, bytes: usize) -> usize {
    let end: *mut u8;
    // SAFETY: both arrays are valid for `bytes`; the direction flag is clear by the calling convention.
    unsafe {
        asm!("rep movsb", inout("rcx") bytes => _, inout("rsi") a => end, inout("rdi") b => _,
            options(nostack, preserves_flags));
    }
    end as usize - a as usize
}

macro_rules! rep_store {
    ($name:ident, $byte:literal) => {
        /// # Safety
        /// As `Loop`.
        unsafe fn $name(_a: *mut u8, b: *mut u8, _c: *mut u8, bytes: usize) -> usize {
            let end: *mut u8;
            // SAFETY: the array is valid for `bytes`; the direction flag is clear by the calling convention.
            unsafe {
                asm!("rep stosb", inout("rcx") bytes => _, inout("rdi") b => end, in("al") $byte,
                    options(nostack, preserves_flags));
            }
            end as usize - b as usize
        }
    };
}
rep_store!(rep_write, 0xffu8);
rep_store!(rep_zero, 0u8);

/// Every loop this processor can run; vectors of its widest kind.
pub(super) fn kernels() -> Vec<Kernel> {
    let mut all = if std::is_x86_feature_detected!("avx512f") {
        avx512::kernels(512)
    } else if std::is_x86_feature_detected!("avx") {
        avx::kernels(256)
    } else {
        sse2::kernels(128)
    };
    let scalar = |work, run| Kernel { work, by: By::Scalar, bits: 64, run };
    let rep = |work, run| Kernel { work, by: By::Rep, bits: 0, run };
    all.extend([
        scalar(Work::Read, scalar_read),
        scalar(Work::Write, scalar_write),
        scalar(Work::ReadWrite, scalar_read_write),
        scalar(Work::Copy, scalar_copy),
        scalar(Work::Zero, scalar_zero),
        rep(Work::Copy, rep_copy),
        rep(Work::Write, rep_write),
        rep(Work::Zero, rep_zero),
    ]);
    all
}

#[cfg(test)]
mod tests {
    #[test]
    fn narrower_vectors_work_too() {
        assert!(super::sse2::kernels(128).iter().all(|kernel| kernel.prove().is_ok()));
        if std::is_x86_feature_detected!("avx") {
            assert!(super::avx::kernels(256).iter().all(|kernel| kernel.prove().is_ok()));
        }
    }
}
