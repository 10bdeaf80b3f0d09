//! The chains in x86-64 instructions.

use super::chain::operand::*;
use super::chain::{Bits, Chains, always, chains_of, common};

macro_rules! again {
    () => {
        "dec {n}\njnz 2b"
    };
}

macro_rules! add_i32 {
    ($x:literal) => {
        concat!("add {", $x, ":e}, {y:e}")
    };
}

macro_rules! mul_i32 {
    ($x:literal) => {
        concat!("imul {", $x, ":e}, {y:e}")
    };
}

macro_rules! bit_i32 {
    ($x:literal) => {
        concat!("xor {", $x, ":e}, {y:e}")
    };
}

macro_rules! div_i32 {
    ($x:literal) => {
        concat!("mov eax, {k:e}\ncdq\nidiv {", $x, ":e}\nmov {", $x, ":e}, eax")
    };
}

macro_rules! mod_i32 {
    ($x:literal) => {
        concat!("mov eax, {k:e}\ncdq\nidiv {", $x, ":e}\nmov {", $x, ":e}, edx\nor {", $x, ":e}, 0x10000")
    };
}

macro_rules! add_i64 {
    ($x:literal) => {
        concat!("add {", $x, ":r}, {y:r}")
    };
}

macro_rules! mul_i64 {
    ($x:literal) => {
        concat!("imul {", $x, ":r}, {y:r}")
    };
}

macro_rules! bit_i64 {
    ($x:literal) => {
        concat!("xor {", $x, ":r}, {y:r}")
    };
}

macro_rules! div_i64 {
    ($x:literal) => {
        concat!("mov rax, {k:r}\ncqo\nidiv {", $x, ":r}\nmov {", $x, ":r}, rax")
    };
}

macro_rules! mod_i64 {
    ($x:literal) => {
        concat!("mov rax, {k:r}\ncqo\nidiv {", $x, ":r}\nmov {", $x, ":r}, rdx\nor {", $x, ":r}, 0x40000000")
    };
}

macro_rules! add_f32 {
    ($x:literal) => {
        concat!("addss {", $x, "}, {y}")
    };
}

macro_rules! mul_f32 {
    ($x:literal) => {
        concat!("mulss {", $x, "}, {y}")
    };
}

macro_rules! div_f32 {
    ($x:literal) => {
        concat!("divss {", $x, "}, {y}")
    };
}

macro_rules! fma_f32 {
    ($x:literal) => {
        concat!("vfmadd213ss {", $x, "}, {y}, {z}")
    };
}

macro_rules! bit_f32 {
    ($x:literal) => {
        concat!("xorps {", $x, "}, {y}")
    };
}

macro_rules! add_f64 {
    ($x:literal) => {
        concat!("addsd {", $x, "}, {y}")
    };
}

macro_rules! mul_f64 {
    ($x:literal) => {
        concat!("mulsd {", $x, "}, {y}")
    };
}

macro_rules! div_f64 {
    ($x:literal) => {
        concat!("divsd {", $x, "}, {y}")
    };
}

macro_rules! fma_f64 {
    ($x:literal) => {
        concat!("vfmadd213sd {", $x, "}, {y}, {z}")
    };
}

macro_rules! bit_f64 {
    ($x:literal) => {
        concat!("xorps {", $x, "}, {y}")
    };
}

fn has_fma() -> Result<(), &'static str> {
    if std::is_x86_feature_detected!("fma") {
        Ok(())
    } else {
        Err("this processor has no fused multiply-add")
    }
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
        chains_of!("i32", "div", i32, reg, div_i32, ROOT_I32, |x| DIVIDEND_I32 / x, always, [k = in(reg) DIVIDEND_I32, out("rax") _, out("rdx") _,]),
        chains_of!("i32", "mod", i32, reg, mod_i32, ROOT_I32, |x| (DIVIDEND_I32 % x) | LARGE_I32, always, [k = in(reg) DIVIDEND_I32, out("rax") _, out("rdx") _,]),
        chains_of!("i32", "bit", i32, reg, bit_i32, I32, |x| x ^ I32, always, [y = in(reg) I32,]),
        chains_of!("i64", "add", i64, reg, add_i64, I64, |x| x.wrapping_add(I64), always, [y = in(reg) I64,]),
        chains_of!("i64", "mul", i64, reg, mul_i64, I64, |x| x.wrapping_mul(I64), always, [y = in(reg) I64,]),
        chains_of!("i64", "div", i64, reg, div_i64, ROOT_I64, |x| DIVIDEND_I64 / x, always, [k = in(reg) DIVIDEND_I64, out("rax") _, out("rdx") _,]),
        chains_of!("i64", "mod", i64, reg, mod_i64, ROOT_I64, |x| (DIVIDEND_I64 % x) | LARGE_I64, always, [k = in(reg) DIVIDEND_I64, out("rax") _, out("rdx") _,]),
        chains_of!("i64", "bit", i64, reg, bit_i64, I64, |x| x ^ I64, always, [y = in(reg) I64,]),
    ]
}

fn floating() -> Vec<Chains> {
    vec![
        chains_of!("f32", "add", f32, xmm_reg, add_f32, 1.0, |x| x + ADDEND_F32, always, [y = in(xmm_reg) ADDEND_F32,]),
        chains_of!("f32", "mul", f32, xmm_reg, mul_f32, 1.0, |x| x * FACTOR_F32, always, [y = in(xmm_reg) FACTOR_F32,]),
        chains_of!("f32", "div", f32, xmm_reg, div_f32, 1.0, |x| x / FACTOR_F32, always, [y = in(xmm_reg) FACTOR_F32,]),
        chains_of!("f32", "fma", f32, xmm_reg, fma_f32, 1.0, |x| x.mul_add(FACTOR_F32, ADDEND_F32), has_fma, [y = in(xmm_reg) FACTOR_F32, z = in(xmm_reg) ADDEND_F32,]),
        chains_of!("f32", "bit", f32, xmm_reg, bit_f32, 1.0, |x| f32::from_bits(x.to_bits() ^ MASK_F32.to_bits()), always, [y = in(xmm_reg) MASK_F32,]),
        chains_of!("f64", "add", f64, xmm_reg, add_f64, 1.0, |x| x + ADDEND_F64, always, [y = in(xmm_reg) ADDEND_F64,]),
        chains_of!("f64", "mul", f64, xmm_reg, mul_f64, 1.0, |x| x * FACTOR_F64, always, [y = in(xmm_reg) FACTOR_F64,]),
        chains_of!("f64", "div", f64, xmm_reg, div_f64, 1.0, |x| x / FACTOR_F64, always, [y = in(xmm_reg) FACTOR_F64,]),
        chains_of!("f64", "fma", f64, xmm_reg, fma_f64, 1.0, |x| x.mul_add(FACTOR_F64, ADDEND_F64), has_fma, [y = in(xmm_reg) FACTOR_F64, z = in(xmm_reg) ADDEND_F64,]),
        chains_of!("f64", "bit", f64, xmm_reg, bit_f64, 1.0, |x| f64::from_bits(x.to_bits() ^ MASK_F64.to_bits()), always, [y = in(xmm_reg) MASK_F64,]),
    ]
}
