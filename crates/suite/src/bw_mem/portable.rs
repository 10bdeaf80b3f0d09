//! The loops in plain code with volatile 64-bit accesses, for architectures without loops of their own.

use super::kernel::{By, Kernel, Work};

macro_rules! looped {
    ($name:ident, |$a:ident, $b:ident, $c:ident| $step:expr) => {
        /// # Safety
        /// As `Loop`.
        unsafe fn $name(a: *mut u8, b: *mut u8, c: *mut u8, bytes: usize) -> usize {
            for at in (0..bytes).step_by(8) {
                let ($a, $b, $c) = (
                    a.wrapping_add(at).cast::<u64>(),
                    b.wrapping_add(at).cast::<u64>(),
                    c.wrapping_add(at).cast::<u64>(),
                );
                let _ = ($a, $b, $c);
                // SAFETY: the arrays that are used are valid for `bytes`.
                unsafe { $step };
            }
            bytes
        }
    };
}

/// # Safety
/// `at` must be valid for a read.
unsafe fn number(at: *mut u64) -> f64 {
    // SAFETY: the caller's promise.
    f64::from_bits(unsafe { at.read_volatile() })
}

looped!(read, |a, b, c| a.read_volatile());
looped!(write, |a, b, c| b.write_volatile(u64::MAX));
looped!(zero, |a, b, c| b.write_volatile(0));
looped!(read_write, |a, b, c| {
    b.read_volatile();
    b.write_volatile(u64::MAX)
});
looped!(copy, |a, b, c| b.write_volatile(a.read_volatile()));
looped!(scale, |a, b, c| b.write_volatile((3.0 * number(a)).to_bits()));
looped!(add, |a, b, c| c.write_volatile((number(a) + number(b)).to_bits()));
looped!(triad, |a, b, c| c.write_volatile((number(a) + 3.0 * number(b)).to_bits()));

/// Every loop.
pub(super) fn kernels() -> Vec<Kernel> {
    let scalar = |work, run| Kernel { work, by: By::Scalar, bits: 64, run };
    let stream = |work, run| Kernel { work, by: By::Vector, bits: 64, run };
    vec![
        scalar(Work::Read, read),
        scalar(Work::Write, write),
        scalar(Work::ReadWrite, read_write),
        scalar(Work::Copy, copy),
        scalar(Work::Zero, zero),
        stream(Work::Read, read),
        stream(Work::Write, write),
        stream(Work::ReadWrite, read_write),
        stream(Work::Copy, copy),
        stream(Work::Zero, zero),
        stream(Work::StreamCopy, copy),
        stream(Work::Scale, scale),
        stream(Work::Add, add),
        stream(Work::Triad, triad),
    ]
}
