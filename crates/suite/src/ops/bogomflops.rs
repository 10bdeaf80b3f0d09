//! `ops.f32.bogomflops`, `ops.f64.bogomflops`: kept for old tables.
//!
//! Timed: y = (1 + x)(1.5 - x) / x over an array of a thousand numbers that stays in the L1 cache, one number at a
//! time: two additions, a multiplication, a division, a load and a store. Per number (element).
//! The scalar instructions are spelled out on x86-64 and aarch64, since a compiler may otherwise do several numbers at
//! once. Proof: the results are those of plain code, bit for bit.
//! Pitfalls: LMbench writes the result back over x, whose values then depend on how long it ran; here x stays.

use harness::prelude::*;

const ELEMENTS: usize = 1000;

/// Both float types.
pub fn benchmarks() -> Vec<Benchmark> {
    vec![
        benchmark("ops.f32.bogomflops", |bench, name| {
            run(bench, name, 0.5f32, 0.001, pass_f32, |x| (1.0 + x) * (1.5 - x) / x)
        }),
        benchmark("ops.f64.bogomflops", |bench, name| {
            run(bench, name, 0.5f64, 0.001, pass_f64, |x| (1.0 + x) * (1.5 - x) / x)
        }),
    ]
}

fn benchmark(
    name: &'static str,
    run: impl Fn(&mut Bench, &'static str) -> Result<(), Stop> + Send + Sync + 'static,
) -> Benchmark {
    let doc = "y = (1+x)(1.5-x)/x over 1000 numbers in the L1 cache, one at a time.";
    Benchmark::new(name, move |bench| run(bench, name))
        .metric(time(name, "element", doc).control().floor_cycles(0.5))
        .weight(0.5)
}

fn run<T: Copy + PartialEq + std::ops::AddAssign + Default>(
    bench: &mut Bench,
    name: &str,
    first: T,
    step: T,
    pass: fn(&[T], &mut [T]),
    plain: fn(T) -> T,
) -> Result<(), Stop> {
    let mut x = Vec::with_capacity(ELEMENTS);
    let mut next = first;
    for _ in 0..ELEMENTS {
        x.push(next);
        next += step;
    }
    let mut y = vec![T::default(); ELEMENTS];
    pass(&x, &mut y);
    let right = x.iter().zip(&y).all(|(&x, &y)| plain(x) == y);
    check(right, "the results are not those of plain code")?;
    bench.measure(name, |passes, timer| {
        timer.time(|| {
            for _ in 0..passes {
                pass(&x, &mut y);
                std::hint::black_box(&mut y);
            }
        });
        timer.worked((passes * ELEMENTS as u64) as f64);
        Ok(())
    })
}

#[cfg(target_arch = "x86_64")]
macro_rules! pass {
    ($name:ident, $type:ty, $bytes:literal, $s:literal) => {
        fn $name(x: &[$type], y: &mut [$type]) {
            let elements = x.len().min(y.len());
            if elements == 0 {
                return;
            }
            // SAFETY: the loop reads and writes `elements` numbers from the start of each slice, which are that long.
            unsafe {
                core::arch::asm!(
                    "2:",
                    concat!("mov", $s, " {a}, [{x}]"),
                    "movaps {b}, {one}", concat!("add", $s, " {b}, {a}"),
                    "movaps {c}, {more}", concat!("sub", $s, " {c}, {a}"),
                    concat!("mul", $s, " {b}, {c}"),
                    concat!("div", $s, " {b}, {a}"),
                    concat!("mov", $s, " [{y}], {b}"),
                    concat!("add {x}, ", $bytes), concat!("add {y}, ", $bytes),
                    "dec {n}", "jnz 2b",
                    x = inout(reg) x.as_ptr() => _,
                    y = inout(reg) y.as_mut_ptr() => _,
                    n = inout(reg) elements => _,
                    one = in(xmm_reg) 1.0 as $type,
                    more = in(xmm_reg) 1.5 as $type,
                    a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _,
                    options(nostack)
                );
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
pass!(pass_f32, f32, "4", "ss");
#[cfg(target_arch = "x86_64")]
pass!(pass_f64, f64, "8", "sd");

#[cfg(target_arch = "aarch64")]
macro_rules! pass {
    ($name:ident, $type:ty, $bytes:literal, $s:literal) => {
        fn $name(x: &[$type], y: &mut [$type]) {
            let elements = x.len().min(y.len());
            if elements == 0 {
                return;
            }
            // SAFETY: the loop reads and writes `elements` numbers from the start of each slice, which are that long.
            unsafe {
                core::arch::asm!(
                    "2:",
                    concat!("ldr {a:", $s, "}, [{x}], #", $bytes),
                    concat!("fadd {b:", $s, "}, {one:", $s, "}, {a:", $s, "}"),
                    concat!("fsub {c:", $s, "}, {more:", $s, "}, {a:", $s, "}"),
                    concat!("fmul {b:", $s, "}, {b:", $s, "}, {c:", $s, "}"),
                    concat!("fdiv {b:", $s, "}, {b:", $s, "}, {a:", $s, "}"),
                    concat!("str {b:", $s, "}, [{y}], #", $bytes),
                    "subs {n}, {n}, #1", "b.ne 2b",
                    x = inout(reg) x.as_ptr() => _,
                    y = inout(reg) y.as_mut_ptr() => _,
                    n = inout(reg) elements => _,
                    one = in(vreg) 1.0 as $type,
                    more = in(vreg) 1.5 as $type,
                    a = out(vreg) _, b = out(vreg) _, c = out(vreg) _,
                    options(nostack)
                );
            }
        }
    };
}
#[cfg(target_arch = "aarch64")]
pass!(pass_f32, f32, "4", "s");
#[cfg(target_arch = "aarch64")]
pass!(pass_f64, f64, "8", "d");

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
macro_rules! pass {
    ($name:ident, $type:ty) => {
        fn $name(x: &[$type], y: &mut [$type]) {
            for (&x, y) in x.iter().zip(y) {
                *y = std::hint::black_box((1.0 + x) * (1.5 - x) / x);
            }
        }
    };
}
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pass!(pass_f32, f32);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pass!(pass_f64, f64);
