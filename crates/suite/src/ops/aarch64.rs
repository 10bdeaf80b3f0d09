//! The chains in aarch64 instructions.

use super::chain::operand::*;
use super::chain::{Bits, Chains, always, chains_of, common};

macro_rules! again {
    () => {
        "subs {n}, {n}, #1\nb.ne 2b"
    };
}

macro_rules! add_i32 {
    ($x:literal) => {
        concat!("add {", $x, ":w}, {", $x, ":w}, {y:w}")
    };
}

macro_rules! mul_i32 {
    ($x:literal) => {
        concat!("mul {", $x, ":w}, {", $x, ":w}, {y:w}")
    };
}

macro_rules! bit_i32 {
    ($x:literal) => {
        concat!("eor {", $x, ":w}, {", $x, ":w}, {y:w}")
    };
}

macro_rules! div_i32 {
    ($x:literal) => {
        concat!("sdiv {", $x, ":w}, {k:w}, {", $x, ":w}")
    };
}

macro_rules! mod_i32 {
    ($x:literal) => {
        concat!(
            "sdiv {t:w}, {k:w}, {",
            $x,
            ":w}\nmsub {",
            $x,
            ":w}, {t:w}, {",
            $x,
            ":w}, {k:w}\norr {",
            $x,
            ":w}, {",
            $x,
            ":w}, #0x10000"
        )
    };
}

macro_rules! add_i64 {
    ($x:literal) => {
        concat!("add {", $x, ":x}, {", $x, ":x}, {y:x}")
    };
}

macro_rules! mul_i64 {
    ($x:literal) => {
        concat!("mul {", $x, ":x}, {", $x, ":x}, {y:x}")
    };
}

macro_rules! bit_i64 {
    ($x:literal) => {
        concat!("eor {", $x, ":x}, {", $x, ":x}, {y:x}")
    };
}

macro_rules! div_i64 {
    ($x:literal) => {
        concat!("sdiv {", $x, ":x}, {k:x}, {", $x, ":x}")
    };
}

macro_rules! mod_i64 {
    ($x:literal) => {
        concat!(
            "sdiv {t:x}, {k:x}, {",
            $x,
            ":x}\nmsub {",
            $x,
            ":x}, {t:x}, {",
            $x,
            ":x}, {k:x}\norr {",
            $x,
            ":x}, {",
            $x,
            ":x}, #0x40000000"
        )
    };
}

macro_rules! add_f32 {
    ($x:literal) => {
        concat!("fadd {", $x, ":s}, {", $x, ":s}, {y:s}")
    };
}

macro_rules! mul_f32 {
    ($x:literal) => {
        concat!("fmul {", $x, ":s}, {", $x, ":s}, {y:s}")
    };
}

macro_rules! div_f32 {
    ($x:literal) => {
        concat!("fdiv {", $x, ":s}, {", $x, ":s}, {y:s}")
    };
}

macro_rules! fma_f32 {
    ($x:literal) => {
        concat!("fmadd {", $x, ":s}, {", $x, ":s}, {y:s}, {z:s}")
    };
}

macro_rules! bit_f32 {
    ($x:literal) => {
        concat!("eor {", $x, ":v}.8b, {", $x, ":v}.8b, {y:v}.8b")
    };
}

macro_rules! add_f64 {
    ($x:literal) => {
        concat!("fadd {", $x, ":d}, {", $x, ":d}, {y:d}")
    };
}

macro_rules! mul_f64 {
    ($x:literal) => {
        concat!("fmul {", $x, ":d}, {", $x, ":d}, {y:d}")
    };
}

macro_rules! div_f64 {
    ($x:literal) => {
        concat!("fdiv {", $x, ":d}, {", $x, ":d}, {y:d}")
    };
}

macro_rules! fma_f64 {
    ($x:literal) => {
        concat!("fmadd {", $x, ":d}, {", $x, ":d}, {y:d}, {z:d}")
    };
}

macro_rules! bit_f64 {
    ($x:literal) => {
        concat!("eor {", $x, ":v}.8b, {", $x, ":v}.8b, {y:v}.8b")
    };
}

/// Every operation of every type.
pub(crate) fn chains() -> Vec<Chains> {
    let mut all = integer();
    all.extend(floating());
    all
}

fn integer() -> Vec<Chains> {
    vec![
        chains_of!("i32", "add", i32, reg, add_i32, I32, |x| x.wrapping_add(I32), always, [y = in(reg) I32,]),
        chains_of!("i32", "mul", i32, reg, mul_i32, I32, |x| x.wrapping_mul(I32), always, [y = in(reg) I32,]),
        chains_of!("i32", "div", i32, reg, div_i32, ROOT_I32, |x| DIVIDEND_I32 / x, always, [k = in(reg) DIVIDEND_I32, ]),
        chains_of!("i32", "mod", i32, reg, mod_i32, ROOT_I32, |x| (DIVIDEND_I32 % x) | LARGE_I32, always, [k = in(reg) DIVIDEND_I32, t = out(reg) _,]),
        chains_of!("i32", "bit", i32, reg, bit_i32, I32, |x| x ^ I32, always, [y = in(reg) I32,]),
        chains_of!("i64", "add", i64, reg, add_i64, I64, |x| x.wrapping_add(I64), always, [y = in(reg) I64,]),
        chains_of!("i64", "mul", i64, reg, mul_i64, I64, |x| x.wrapping_mul(I64), always, [y = in(reg) I64,]),
        chains_of!("i64", "div", i64, reg, div_i64, ROOT_I64, |x| DIVIDEND_I64 / x, always, [k = in(reg) DIVIDEND_I64, ]),
        chains_of!("i64", "mod", i64, reg, mod_i64, ROOT_I64, |x| (DIVIDEND_I64 % x) | LARGE_I64, always, [k = in(reg) DIVIDEND_I64, t = out(reg) _,]),
        chains_of!("i64", "bit", i64, reg, bit_i64, I64, |x| x ^ I64, always, [y = in(reg) I64,]),
    ]
}

fn floating() -> Vec<Chains> {
    vec![
        chains_of!("f32", "add", f32, vreg, add_f32, 1.0, |x| x + ADDEND_F32, always, [y = in(vreg) ADDEND_F32,]),
        chains_of!("f32", "mul", f32, vreg, mul_f32, 1.0, |x| x * FACTOR_F32, always, [y = in(vreg) FACTOR_F32,]),
        chains_of!("f32", "div", f32, vreg, div_f32, 1.0, |x| x / FACTOR_F32, always, [y = in(vreg) FACTOR_F32,]),
        chains_of!("f32", "fma", f32, vreg, fma_f32, 1.0, |x| x.mul_add(FACTOR_F32, ADDEND_F32), always, [y = in(vreg) FACTOR_F32, z = in(vreg) ADDEND_F32,]),
        chains_of!("f32", "bit", f32, vreg, bit_f32, 1.0, |x| f32::from_bits(x.to_bits() ^ MASK_F32.to_bits()), always, [y = in(vreg) MASK_F32,]),
        chains_of!("f64", "add", f64, vreg, add_f64, 1.0, |x| x + ADDEND_F64, always, [y = in(vreg) ADDEND_F64,]),
        chains_of!("f64", "mul", f64, vreg, mul_f64, 1.0, |x| x * FACTOR_F64, always, [y = in(vreg) FACTOR_F64,]),
        chains_of!("f64", "div", f64, vreg, div_f64, 1.0, |x| x / FACTOR_F64, always, [y = in(vreg) FACTOR_F64,]),
        chains_of!("f64", "fma", f64, vreg, fma_f64, 1.0, |x| x.mul_add(FACTOR_F64, ADDEND_F64), always, [y = in(vreg) FACTOR_F64, z = in(vreg) ADDEND_F64,]),
        chains_of!("f64", "bit", f64, vreg, bit_f64, 1.0, |x| f64::from_bits(x.to_bits() ^ MASK_F64.to_bits()), always, [y = in(vreg) MASK_F64,]),
    ]
}
