//! The loops in aarch64 instructions: 128-bit Advanced SIMD pairs (scalable vectors are not used).

use core::arch::asm;

use super::kernel::{By, Kernel, Work};

/// One loop as a function of the type `Loop`; `$pattern` is the 64-bit constant in x9 and in both halves of v16.
macro_rules! looped {
    ($name:ident, $pattern:expr, [$($line:literal),*]) => {
        /// # Safety
        /// As `Loop`.
        unsafe fn $name(a: *mut u8, b: *mut u8, c: *mut u8, bytes: usize) -> usize {
            let end: *mut u8;
            // SAFETY: the arrays that are used are valid for `bytes`, a multiple of 64.
            unsafe {
                asm!(
                    "dup v16.2d, x9",
                    "2:",
                    $($line,)*
                    "add {a}, {a}, #64", "add {b}, {b}, #64", "add {c}, {c}, #64",
                    "subs {n}, {n}, #64", "b.ne 2b",
                    a = inout(reg) a => end, b = inout(reg) b => _, c = inout(reg) c => _,
                    n = inout(reg) bytes => _,
                    in("x9") $pattern,
                    out("x10") _, out("x11") _,
                    out("v0") _, out("v1") _, out("v2") _, out("v3") _,
                    out("v4") _, out("v5") _, out("v6") _, out("v7") _, out("v16") _,
                    options(nostack)
                );
            }
            end as usize - a as usize
        }
    };
}

const ONES: u64 = u64::MAX;
const ZEROS: u64 = 0;
const SCALAR: u64 = 3.0f64.to_bits();

looped!(read, ONES, ["ldp q0, q1, [{a}]", "ldp q2, q3, [{a}, #32]"]);
looped!(write, ONES, ["stp q16, q16, [{b}]", "stp q16, q16, [{b}, #32]"]);
looped!(zero, ZEROS, ["stp q16, q16, [{b}]", "stp q16, q16, [{b}, #32]"]);
looped!(write_nt, ONES, ["stnp q16, q16, [{b}]", "stnp q16, q16, [{b}, #32]"]);
looped!(zero_nt, ZEROS, ["stnp q16, q16, [{b}]", "stnp q16, q16, [{b}, #32]"]);
looped!(
    read_write,
    ONES,
    ["ldp q0, q1, [{b}]", "ldp q2, q3, [{b}, #32]", "stp q16, q16, [{b}]", "stp q16, q16, [{b}, #32]"]
);
looped!(
    copy,
    ONES,
    ["ldp q0, q1, [{a}]", "ldp q2, q3, [{a}, #32]", "stp q0, q1, [{b}]", "stp q2, q3, [{b}, #32]"]
);
looped!(
    copy_nt,
    ONES,
    ["ldp q0, q1, [{a}]", "ldp q2, q3, [{a}, #32]", "stnp q0, q1, [{b}]", "stnp q2, q3, [{b}, #32]"]
);
looped!(
    scale,
    SCALAR,
    [
        "ldp q0, q1, [{a}]",
        "ldp q2, q3, [{a}, #32]",
        "fmul v0.2d, v0.2d, v16.2d",
        "fmul v1.2d, v1.2d, v16.2d",
        "fmul v2.2d, v2.2d, v16.2d",
        "fmul v3.2d, v3.2d, v16.2d",
        "stp q0, q1, [{b}]",
        "stp q2, q3, [{b}, #32]"
    ]
);
looped!(
    add,
    SCALAR,
    [
        "ldp q0, q1, [{a}]",
        "ldp q2, q3, [{a}, #32]",
        "ldp q4, q5, [{b}]",
        "ldp q6, q7, [{b}, #32]",
        "fadd v0.2d, v0.2d, v4.2d",
        "fadd v1.2d, v1.2d, v5.2d",
        "fadd v2.2d, v2.2d, v6.2d",
        "fadd v3.2d, v3.2d, v7.2d",
        "stp q0, q1, [{c}]",
        "stp q2, q3, [{c}, #32]"
    ]
);
looped!(
    triad,
    SCALAR,
    [
        "ldp q0, q1, [{a}]",
        "ldp q2, q3, [{a}, #32]",
        "ldp q4, q5, [{b}]",
        "ldp q6, q7, [{b}, #32]",
        "fmul v4.2d, v4.2d, v16.2d",
        "fmul v5.2d, v5.2d, v16.2d",
        "fmul v6.2d, v6.2d, v16.2d",
        "fmul v7.2d, v7.2d, v16.2d",
        "fadd v0.2d, v0.2d, v4.2d",
        "fadd v1.2d, v1.2d, v5.2d",
        "fadd v2.2d, v2.2d, v6.2d",
        "fadd v3.2d, v3.2d, v7.2d",
        "stp q0, q1, [{c}]",
        "stp q2, q3, [{c}, #32]"
    ]
);
looped!(
    scalar_read,
    ONES,
    [
        "ldp x10, x11, [{a}]",
        "ldp x10, x11, [{a}, #16]",
        "ldp x10, x11, [{a}, #32]",
        "ldp x10, x11, [{a}, #48]"
    ]
);
looped!(
    scalar_write,
    ONES,
    ["stp x9, x9, [{b}]", "stp x9, x9, [{b}, #16]", "stp x9, x9, [{b}, #32]", "stp x9, x9, [{b}, #48]"]
);
looped!(
    scalar_zero,
    ZEROS,
    ["stp x9, x9, [{b}]", "stp x9, x9, [{b}, #16]", "stp x9, x9, [{b}, #32]", "stp x9, x9, [{b}, #48]"]
);
looped!(
    scalar_read_write,
    ONES,
    [
        "ldp x10, x11, [{b}]",
        "stp x9, x9, [{b}]",
        "ldp x10, x11, [{b}, #16]",
        "stp x9, x9, [{b}, #16]",
        "ldp x10, x11, [{b}, #32]",
        "stp x9, x9, [{b}, #32]",
        "ldp x10, x11, [{b}, #48]",
        "stp x9, x9, [{b}, #48]"
    ]
);
looped!(
    scalar_copy,
    ONES,
    [
        "ldp x10, x11, [{a}]",
        "stp x10, x11, [{b}]",
        "ldp x10, x11, [{a}, #16]",
        "stp x10, x11, [{b}, #16]",
        "ldp x10, x11, [{a}, #32]",
        "stp x10, x11, [{b}, #32]",
        "ldp x10, x11, [{a}, #48]",
        "stp x10, x11, [{b}, #48]"
    ]
);

/// Every loop.
pub(super) fn kernels() -> Vec<Kernel> {
    use By::{NonTemporal, Scalar, Vector};
    let vector = |work, by, run| Kernel { work, by, bits: 128, run };
    let scalar = |work, run| Kernel { work, by: Scalar, bits: 64, run };
    vec![
        vector(Work::Read, Vector, read),
        vector(Work::Write, Vector, write),
        vector(Work::Write, NonTemporal, write_nt),
        vector(Work::ReadWrite, Vector, read_write),
        vector(Work::Copy, Vector, copy),
        vector(Work::Copy, NonTemporal, copy_nt),
        vector(Work::Zero, Vector, zero),
        vector(Work::Zero, NonTemporal, zero_nt),
        vector(Work::StreamCopy, Vector, copy),
        vector(Work::Scale, Vector, scale),
        vector(Work::Add, Vector, add),
        vector(Work::Triad, Vector, triad),
        scalar(Work::Read, scalar_read),
        scalar(Work::Write, scalar_write),
        scalar(Work::ReadWrite, scalar_read_write),
        scalar(Work::Copy, scalar_copy),
        scalar(Work::Zero, scalar_zero),
    ]
}
