//! The chains in plain code, each result kept opaque: correct everywhere, with whatever moves the compiler adds.

use std::hint::black_box;

use super::chain::operand::*;
use super::chain::{Bits, Chains, always, common};
use super::{LATENCY_OPERATIONS, THROUGHPUT_OPERATIONS};

macro_rules! chains_of {
    ($kind:literal, $operation:literal, $type:ty, $start:expr, $step:expr) => {
        Chains {
            kind: $kind,
            operation: $operation,
            latency: |rounds| {
                let step: fn($type) -> $type = $step;
                (0..rounds * LATENCY_OPERATIONS).fold($start, |x: $type, _| black_box(step(x))).bits()
            },
            throughput: |rounds| {
                let step: fn($type) -> $type = $step;
                let mut all: [$type; 8] = [$start; 8];
                for _ in 0..rounds * THROUGHPUT_OPERATIONS / 8 {
                    for x in &mut all {
                        *x = step(*x);
                    }
                    all = black_box(all);
                }
                common(all)
            },
            expected: |operations| {
                let step: fn($type) -> $type = $step;
                (0..operations).fold($start, |x: $type, _| step(x)).bits()
            },
            available: always,
        }
    };
}

macro_rules! integer {
    ($kind:literal, $type:ty, $operand:expr, $root:expr, $dividend:expr, $large:expr) => {
        [
            chains_of!($kind, "add", $type, $operand, |x| x.wrapping_add(black_box($operand))),
            chains_of!($kind, "mul", $type, $operand, |x| x.wrapping_mul(black_box($operand))),
            chains_of!($kind, "div", $type, $root, |x| black_box($dividend) / x),
            chains_of!($kind, "mod", $type, $root, |x| (black_box($dividend) % x) | $large),
            chains_of!($kind, "bit", $type, $operand, |x| x ^ black_box($operand)),
        ]
    };
}

macro_rules! floating {
    ($kind:literal, $type:ty, $addend:expr, $factor:expr, $mask:expr) => {
        [
            chains_of!($kind, "add", $type, 1.0, |x| x + black_box($addend)),
            chains_of!($kind, "mul", $type, 1.0, |x| x * black_box($factor)),
            chains_of!($kind, "div", $type, 1.0, |x| x / black_box($factor)),
            chains_of!($kind, "fma", $type, 1.0, |x| x.mul_add(black_box($factor), black_box($addend))),
            chains_of!($kind, "bit", $type, 1.0, |x| <$type>::from_bits(x.to_bits() ^ $mask.to_bits())),
        ]
    };
}

/// Every operation of every type.
pub(crate) fn chains() -> Vec<Chains> {
    let mut all = Vec::new();
    all.extend(integer!("i32", i32, I32, ROOT_I32, DIVIDEND_I32, LARGE_I32));
    all.extend(integer!("i64", i64, I64, ROOT_I64, DIVIDEND_I64, LARGE_I64));
    all.extend(floating!("f32", f32, ADDEND_F32, FACTOR_F32, MASK_F32));
    all.extend(floating!("f64", f64, ADDEND_F64, FACTOR_F64, MASK_F64));
    all
}
