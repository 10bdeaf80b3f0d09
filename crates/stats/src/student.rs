//! Student's t and the normal distribution: p values and quantiles.

use std::cell::RefCell;

use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};
use statrs::function::beta::beta_reg;

/// Degrees of freedom from which t and normal agree to all digits that matter.
const NORMAL_FROM: f64 = 1e6;

/// Two-sided p value of `t` with `df` degrees of freedom; 1 for t = 0, 0 for an infinite t, 1 when undefined.
pub fn two_sided_p(t: f64, df: f64) -> f64 {
    let t = t.abs();
    if t.is_nan() || df.is_nan() || df <= 0.0 {
        return 1.0;
    }
    if t.is_infinite() {
        return 0.0;
    }
    if df >= NORMAL_FROM {
        return 2.0 * upper_normal(t);
    }
    beta_reg(df / 2.0, 0.5, (df / (df + t * t)).clamp(0.0, 1.0))
}

/// One-sided upper p value of `t`: the chance of a larger one.
pub fn upper_p(t: f64, df: f64) -> f64 {
    let half = two_sided_p(t, df) / 2.0;
    if t >= 0.0 { half } else { 1.0 - half }
}

/// The t that is exceeded with probability `upper` (0 < upper < 0.5); infinite without degrees of freedom.
pub fn t_upper(upper: f64, df: f64) -> f64 {
    if df.is_nan() || df <= 0.0 || upper <= 0.0 {
        return f64::INFINITY;
    }
    let upper = upper.min(0.5);
    if df >= NORMAL_FROM {
        return z_upper(upper);
    }
    let key = (upper.to_bits(), df.to_bits());
    let slot = (key.0 ^ key.1.rotate_left(17)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
    LATEST.with_borrow_mut(|latest| {
        let entry = &mut latest[slot as usize];
        if entry.0 != key {
            *entry = (key, computed_t_upper(upper, df));
        }
        entry.1
    })
}

/// A quantile by the bits of its arguments.
type Remembered = ((u64, u64), f64);

thread_local! {
    /// The latest quantiles: the rows of a table ask for the same few, and each takes many incomplete beta functions.
    static LATEST: RefCell<[Remembered; 256]> = const { RefCell::new([((0, 0), 0.0); 256]) };
}

/// The library's quantile stops short in far tails with few degrees of freedom (at 1 and 1e-12 it is off by three powers
/// of ten), so it is polished by Newton's method on the logarithms of p and t.
fn computed_t_upper(upper: f64, df: f64) -> f64 {
    let Ok(student) = StudentsT::new(0.0, 1.0, df) else { return f64::INFINITY };
    let mut t = -student.inverse_cdf(upper);
    for _ in 0..50 {
        let tail = two_sided_p(t, df) / 2.0;
        let step = (tail / upper).ln() * tail / (t * student.pdf(t));
        if !step.is_finite() || t <= 0.0 {
            break;
        }
        t *= step.clamp(-3.0, 3.0).exp();
        if step.abs() < 1e-12 {
            break;
        }
    }
    t
}

/// The z that is exceeded with probability `upper`.
pub fn z_upper(upper: f64) -> f64 {
    if upper <= 0.0 {
        return f64::INFINITY;
    }
    -Normal::standard().inverse_cdf(upper.min(0.5))
}

fn upper_normal(z: f64) -> f64 {
    Normal::standard().sf(z)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tabulated values (any printed t table; NIST/SEMATECH e-Handbook 1.3.6.7.2).
    #[test]
    fn quantiles_match_the_tables() {
        for (upper, df, expected) in [
            (0.025, 1.0, 12.706),
            (0.025, 2.0, 4.303),
            (0.025, 6.0, 2.447),
            (0.05, 6.0, 1.943),
            (0.05, 10.0, 1.812),
            (0.025, 30.0, 2.042),
            (0.005, 9.0, 3.250),
            (0.001, 100.0, 3.174),
        ] {
            let t = t_upper(upper, df);
            assert!((t - expected).abs() < 6e-4, "{upper} {df}: {t}");
            assert!((two_sided_p(t, df) - 2.0 * upper).abs() < 1e-9);
        }
        assert!((z_upper(0.025) - 1.959_964).abs() < 1e-5);
        assert!((t_upper(0.025, 1e9) - z_upper(0.025)).abs() < 1e-9);
    }

    #[test]
    fn far_tails_keep_their_digits() {
        // with 2 degrees of freedom the tail is closed: p = 1 - t / sqrt(2 + t²)
        let t: f64 = 1e4;
        let exact = 1.0 - t / (2.0 + t * t).sqrt();
        assert!((two_sided_p(t, 2.0) / exact - 1.0).abs() < 1e-6);
        assert!(two_sided_p(1000.0, 12.0) < 1e-20);
        let far = t_upper(0.05 / 2.0 / 60.0 / 100.0, 7.0);
        assert!((two_sided_p(far, 7.0) / (0.05 / 6000.0) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn quantile_and_p_value_are_inverse_everywhere() {
        for df in [1.0, 1.3, 2.7, 9.0, 47.3, 1e3, 1e5, 9.9e5, 1e7] {
            for upper in [1e-12, 1e-6, 1e-3, 0.025, 0.1, 0.4] {
                let p = two_sided_p(t_upper(upper, df), df) / 2.0;
                assert!((p / upper - 1.0).abs() < 1e-5, "{df} {upper}: {p}");
            }
        }
    }

    #[test]
    fn undefined_input_never_becomes_a_finding() {
        assert_eq!(two_sided_p(f64::NAN, 5.0), 1.0);
        assert_eq!(two_sided_p(3.0, 0.0), 1.0);
        assert_eq!(two_sided_p(f64::INFINITY, 5.0), 0.0);
        assert_eq!(t_upper(0.025, 0.0), f64::INFINITY);
        assert!((upper_p(-2.0, 8.0) + upper_p(2.0, 8.0) - 1.0).abs() < 1e-12);
    }
}
