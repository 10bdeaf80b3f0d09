//! The clock: what a time stamp costs, how finely it resolves, and which one is used.

use serde::{Deserialize, Serialize};

/// Which counter is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockKind {
    /// The invariant time stamp counter, fenced; only where the kernel itself uses it as its clock source.
    Tsc,
    /// `clock_gettime(CLOCK_MONOTONIC_RAW)`.
    MonotonicRaw,
}

/// A calibrated clock. `cost_ns` and `resolution_ns` are measured, not assumed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Clock {
    /// Which counter is read.
    pub kind: ClockKind,
    /// Nanoseconds per tick of [`Clock::stamp`].
    pub ns_per_tick: f64,
    /// Cost of one stamp, ns: the smallest difference between two adjacent stamps, which every timed interval contains.
    pub cost_ns: f64,
    /// Smallest non-zero step seen between stamps, ns.
    pub resolution_ns: f64,
    /// True when each stamp enters the kernel (hpet, xen, acpi_pm clock sources): samples must be longer.
    pub stamp_is_system_call: bool,
}

/// A stamp dearer than this is taken to be a system call; vDSO and TSC reads cost 10-60 ns.
const SYSTEM_CALL_STAMP_NS: f64 = 120.0;

impl Clock {
    /// Chooses and calibrates the clock of this machine (about 12 ms). `clock_source` is the kernel's current clock
    /// source (`/sys/devices/system/clocksource/clocksource0/current_clocksource`), when readable.
    pub fn calibrate(clock_source: Option<&str>) -> Self {
        let kind = if tsc_is_invariant() && clock_source.is_some_and(|s| s.trim() == "tsc") {
            ClockKind::Tsc
        } else {
            ClockKind::MonotonicRaw
        };
        let ns_per_tick = match kind {
            ClockKind::Tsc => tsc_ns_per_tick(),
            ClockKind::MonotonicRaw => 1.0,
        };
        let mut clock =
            Clock { kind, ns_per_tick, cost_ns: 0.0, resolution_ns: 0.0, stamp_is_system_call: false };
        let mut cost = u64::MAX;
        let mut resolution = u64::MAX;
        for _ in 0..2000 {
            let a = clock.stamp();
            let b = clock.stamp();
            let step = b.saturating_sub(a);
            cost = cost.min(step);
            let mut c = clock.stamp();
            while c == b {
                c = clock.stamp();
            }
            resolution = resolution.min(c.saturating_sub(b).max(1)).min(step.max(1));
        }
        clock.cost_ns = cost as f64 * ns_per_tick;
        clock.resolution_ns = smallest_step(&clock).unwrap_or(resolution) as f64 * ns_per_tick;
        clock.stamp_is_system_call = clock.cost_ns > SYSTEM_CALL_STAMP_NS;
        clock
    }

    /// The current tick count. Loads and stores before it are done, later ones have not begun.
    #[inline(always)]
    pub fn stamp(&self) -> u64 {
        match self.kind {
            #[cfg(target_arch = "x86_64")]
            ClockKind::Tsc => {
                // SAFETY: lfence and rdtsc have no memory operands and exist on every x86-64.
                unsafe {
                    core::arch::x86_64::_mm_lfence();
                    let ticks = core::arch::x86_64::_rdtsc();
                    core::arch::x86_64::_mm_lfence();
                    ticks
                }
            }
            #[cfg(not(target_arch = "x86_64"))]
            ClockKind::Tsc => monotonic_raw_ns(),
            ClockKind::MonotonicRaw => monotonic_raw_ns(),
        }
    }

    /// Ticks to nanoseconds.
    #[inline]
    pub fn ns(&self, ticks: u64) -> f64 {
        ticks as f64 * self.ns_per_tick
    }

    /// How long one sample must last so that the clock's cost is at most a thousandth of it; within 0.1-1 ms unless
    /// the stamp is dearer than 1 µs.
    pub fn sample_ns(&self) -> f64 {
        (self.cost_ns * 1000.0).max(self.resolution_ns * 1000.0).max(200_000.0)
    }

    /// The kind's name for a screen.
    pub fn name(&self) -> &'static str {
        match self.kind {
            ClockKind::Tsc => "tsc",
            ClockKind::MonotonicRaw => "CLOCK_MONOTONIC_RAW",
        }
    }
}

/// `CLOCK_MONOTONIC_RAW` in nanoseconds.
#[inline]
pub fn monotonic_raw_ns() -> u64 {
    let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: ts is a valid timespec for the call to fill.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &mut ts) };
    ts.tv_sec as u64 * 1_000_000_000 + ts.tv_nsec as u64
}

/// The greatest common step of 4000 consecutive differences, in ticks.
fn smallest_step(clock: &Clock) -> Option<u64> {
    let mut step = 0u64;
    let mut last = clock.stamp();
    for _ in 0..4000 {
        let now = clock.stamp();
        step = greatest_common_divisor(now.saturating_sub(last), step);
        last = now;
    }
    (step > 0).then_some(step)
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// CPUID 0x80000007 EDX bit 8 (AMD APM vol. 3 appendix E, Intel SDM vol. 2A CPUID): the TSC rate never changes.
#[cfg(target_arch = "x86_64")]
fn tsc_is_invariant() -> bool {
    use core::arch::x86_64::__cpuid;
    __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn tsc_is_invariant() -> bool {
    false
}

/// Ticks of the TSC against `CLOCK_MONOTONIC_RAW` over 10 ms; each end is the tightest of several brackets.
fn tsc_ns_per_tick() -> f64 {
    let tsc = Clock {
        kind: ClockKind::Tsc,
        ns_per_tick: 1.0,
        cost_ns: 0.0,
        resolution_ns: 0.0,
        stamp_is_system_call: false,
    };
    let bracket = || {
        (0..40)
            .map(|_| {
                let before = tsc.stamp();
                let ns = monotonic_raw_ns();
                let after = tsc.stamp();
                (after - before, before + (after - before) / 2, ns)
            })
            .min_by_key(|b| b.0)
            .map_or((0, 0), |b| (b.1, b.2))
    };
    let start = bracket();
    while monotonic_raw_ns() - start.1 < 10_000_000 {
        core::hint::spin_loop();
    }
    let end = bracket();
    (end.1 - start.1) as f64 / (end.0 - start.0) as f64
}

/// One core clock cycle in ns, from a chain of dependent 64-bit multiplications; the shortest of 60 chains.
///
/// A multiplication takes 3 cycles on x86-64 cores since 2006 (uops.info, Intel and AMD optimisation manuals). On
/// aarch64 it takes 3-5 (Arm optimisation guides) and 5 is assumed: the figure only bounds what is impossible, so it
/// must not be too long. Elsewhere a tenth of a nanosecond is assumed.
pub fn cycle_ns(clock: &Clock) -> f64 {
    const ROUNDS: u64 = 2_500;
    let mut shortest = f64::MAX;
    for _ in 0..60 {
        let start = clock.stamp();
        multiply_chain(ROUNDS);
        shortest = shortest.min(clock.ns(clock.stamp() - start));
    }
    match MULTIPLY_CYCLES {
        Some(latency) => shortest / (ROUNDS * 8) as f64 / latency,
        None => 0.1,
    }
}

#[cfg(target_arch = "x86_64")]
const MULTIPLY_CYCLES: Option<f64> = Some(3.0);
#[cfg(target_arch = "aarch64")]
const MULTIPLY_CYCLES: Option<f64> = Some(5.0);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const MULTIPLY_CYCLES: Option<f64> = None;

/// Eight dependent multiplications a round.
#[cfg(target_arch = "x86_64")]
fn multiply_chain(rounds: u64) {
    // SAFETY: only the named registers and the flags are changed.
    unsafe {
        core::arch::asm!(
            "2:",
            "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}",
            "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}",
            "dec {n}",
            "jnz 2b",
            x = inout(reg) 0x9E37_79B9_7F4A_7C15u64 => _,
            n = inout(reg) rounds => _,
            options(nomem, nostack),
        );
    }
}

/// Eight dependent multiplications a round.
#[cfg(target_arch = "aarch64")]
fn multiply_chain(rounds: u64) {
    // SAFETY: only the named registers and the flags are changed.
    unsafe {
        core::arch::asm!(
            "2:",
            "mul {x}, {x}, {x}", "mul {x}, {x}, {x}", "mul {x}, {x}, {x}", "mul {x}, {x}, {x}",
            "mul {x}, {x}, {x}", "mul {x}, {x}, {x}", "mul {x}, {x}, {x}", "mul {x}, {x}, {x}",
            "subs {n}, {n}, #1",
            "b.ne 2b",
            x = inout(reg) 0x9E37_79B9_7F4A_7C15u64 => _,
            n = inout(reg) rounds => _,
            options(nomem, nostack),
        );
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn multiply_chain(_rounds: u64) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_millisecond_is_a_millisecond_by_either_clock() {
        let source =
            std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource").ok();
        let clock = Clock::calibrate(source.as_deref());
        assert!(clock.cost_ns > 0.0 && clock.resolution_ns > 0.0, "{clock:?}");
        let ratios: Vec<f64> = (0..20)
            .map(|_| {
                let (raw, ticks) = (monotonic_raw_ns(), clock.stamp());
                while monotonic_raw_ns() - raw < 1_000_000 {}
                let (raw_end, ticks_end) = (monotonic_raw_ns(), clock.stamp());
                clock.ns(ticks_end - ticks) / (raw_end - raw) as f64
            })
            .collect();
        let best = ratios.iter().map(|r| (r - 1.0).abs()).fold(f64::MAX, f64::min);
        assert!(best < 0.01, "the two clocks disagree: {ratios:?}");
    }

    #[test]
    fn a_dear_stamp_lengthens_the_sample() {
        let cheap = Clock {
            kind: ClockKind::MonotonicRaw,
            ns_per_tick: 1.0,
            cost_ns: 25.0,
            resolution_ns: 1.0,
            stamp_is_system_call: false,
        };
        let dear = Clock { cost_ns: 1500.0, ..cheap };
        assert_eq!(cheap.sample_ns(), 200_000.0);
        assert_eq!(dear.sample_ns(), 1_500_000.0);
    }
}
