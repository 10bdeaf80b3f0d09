//! One operation as a chain and as eight chains, and the proof that both compute it.

use harness::prelude::*;

use super::{LATENCY_OPERATIONS, THROUGHPUT_OPERATIONS};

/// An operation of a type. Results are bit patterns.
#[derive(Clone, Copy)]
pub(crate) struct Chains {
    /// `i32`, `i64`, `f32` or `f64`.
    pub(crate) kind: &'static str,
    /// `add`, `mul`, `div`, `mod`, `fma` or `bit`.
    pub(crate) operation: &'static str,
    /// Rounds of sixteen dependent operations.
    pub(crate) latency: fn(u64) -> u64,
    /// Rounds of eight operations on each of eight registers.
    pub(crate) throughput: fn(u64) -> u64,
    /// What that many dependent operations give.
    pub(crate) expected: fn(u64) -> u64,
    /// Whether this processor has the instruction; the error is why not.
    pub(crate) available: fn() -> Result<(), &'static str>,
}

impl Chains {
    /// The latency's metric.
    pub(crate) fn name(&self) -> String {
        format!("ops.{}.{}", self.kind, self.operation)
    }

    /// Runs a few rounds and compares.
    pub(crate) fn prove(&self) -> Result<(), Stop> {
        const ROUNDS: u64 = 3;
        let right = (self.latency)(ROUNDS) == (self.expected)(ROUNDS * LATENCY_OPERATIONS)
            && (self.throughput)(ROUNDS) == (self.expected)(ROUNDS * THROUGHPUT_OPERATIONS / 8);
        check(right, "a chain does not compute its operation")
    }
}

/// The bit pattern of a number.
pub(super) trait Bits {
    fn bits(self) -> u64;
}

impl Bits for i32 {
    fn bits(self) -> u64 {
        u64::from(self as u32)
    }
}

impl Bits for i64 {
    fn bits(self) -> u64 {
        self as u64
    }
}

impl Bits for f32 {
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
}

impl Bits for f64 {
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

/// Every instruction set has it.
pub(super) fn always() -> Result<(), &'static str> {
    Ok(())
}

/// The common value of eight registers, or its complement when one differs.
pub(super) fn common<T: Bits + Copy>(registers: [T; 8]) -> u64 {
    let first = registers[0].bits();
    if registers.iter().all(|register| register.bits() == first) { first } else { !first }
}

/// Builds the [`Chains`] of one instruction. `$instruction!("x0")` is its text for a register called `x0`;
/// `$again!()` ends a loop counted down in `n`.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! chains_of {
    ($kind:literal, $operation:literal, $type:ty, $class:ident, $instruction:ident, $start:expr, $step:expr,
     $available:expr, [$($operand:tt)*]) => {
        Chains {
            kind: $kind,
            operation: $operation,
            latency: |rounds| {
                let mut x: $type = $start;
                // SAFETY: only the named registers and the flags are changed; no memory is touched.
                unsafe {
                    core::arch::asm!(
                        "2:", ".rept 16", $instruction!("x0"), ".endr", again!(),
                        x0 = inout($class) x,
                        n = inout(reg) rounds => _,
                        $($operand)*
                        options(nomem, nostack)
                    );
                }
                x.bits()
            },
            throughput: |rounds| {
                let mut x: [$type; 8] = [$start; 8];
                // SAFETY: only the named registers and the flags are changed; no memory is touched.
                unsafe {
                    core::arch::asm!(
                        "2:", ".rept 8",
                        $instruction!("x0"), $instruction!("x1"), $instruction!("x2"), $instruction!("x3"),
                        $instruction!("x4"), $instruction!("x5"), $instruction!("x6"), $instruction!("x7"),
                        ".endr", again!(),
                        x0 = inout($class) x[0], x1 = inout($class) x[1],
                        x2 = inout($class) x[2], x3 = inout($class) x[3],
                        x4 = inout($class) x[4], x5 = inout($class) x[5],
                        x6 = inout($class) x[6], x7 = inout($class) x[7],
                        n = inout(reg) rounds => _,
                        $($operand)*
                        options(nomem, nostack)
                    );
                }
                common(x)
            },
            expected: |operations| {
                let step: fn($type) -> $type = $step;
                (0..operations).fold($start, |x: $type, _| step(x)).bits()
            },
            available: $available,
        }
    };
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) use chains_of;

/// Operands of the chains: dividend, additive and multiplicative constants, and starting values.
pub(super) mod operand {
    pub(in crate::ops) const I32: i32 = 0x0123_4567;
    pub(in crate::ops) const I64: i64 = 0x0123_4567_89ab_cdef;
    /// Quotients of these dividends by about their root are about their root again: the chain does not run dry.
    pub(in crate::ops) const DIVIDEND_I32: i32 = i32::MAX;
    pub(in crate::ops) const DIVIDEND_I64: i64 = i64::MAX;
    pub(in crate::ops) const ROOT_I32: i32 = 46_341;
    pub(in crate::ops) const ROOT_I64: i64 = 3_037_000_500;
    /// Keep the divisors of a mod chain large.
    pub(in crate::ops) const LARGE_I32: i32 = 0x1_0000;
    pub(in crate::ops) const LARGE_I64: i64 = 0x4000_0000;
    pub(in crate::ops) const ADDEND_F32: f32 = 0.001;
    pub(in crate::ops) const ADDEND_F64: f64 = 0.001;
    /// A factor so near to 1 that a chain of a hundred thousand stays in range.
    pub(in crate::ops) const FACTOR_F32: f32 = 1.000_000_1;
    pub(in crate::ops) const FACTOR_F64: f64 = 1.000_000_000_1;
    pub(in crate::ops) const MASK_F32: f32 = f32::from_bits(0x0012_3456);
    pub(in crate::ops) const MASK_F64: f64 = f64::from_bits(0x0001_2345_6789_abcd);
}

#[cfg(test)]
mod tests {
    use super::super::chains;

    #[test]
    fn every_chain_computes_its_operation() {
        let all = chains();
        for kind in ["i32", "i64", "f32", "f64"] {
            assert_eq!(all.iter().filter(|chains| chains.kind == kind).count(), 5, "{kind}");
        }
        for chains in all.iter().filter(|chains| (chains.available)().is_ok()) {
            assert!(chains.prove().is_ok(), "{}", chains.name());
            assert_ne!((chains.expected)(47), (chains.expected)(48), "{} stands still", chains.name());
        }
    }

    /// The known cost that shows no compiler has folded a chain: add 1 cycle, mul 3, on every x86-64 since 2006.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_multiplication_takes_as_long_as_three_additions() {
        let clock = harness::Clock::calibrate(None);
        let find =
            |operation| chains().into_iter().find(|c| c.kind == "i64" && c.operation == operation).unwrap();
        let shortest = |run: fn(u64) -> u64| {
            let once = |_| {
                let start = clock.stamp();
                std::hint::black_box(run(200));
                clock.ns(clock.stamp() - start)
            };
            (0..2000).map(once).fold(f64::MAX, f64::min)
        };
        let ratio = shortest(find("mul").latency) / shortest(find("add").latency);
        assert!((2.5..3.5).contains(&ratio), "a multiplication takes {ratio} additions");
    }
}
