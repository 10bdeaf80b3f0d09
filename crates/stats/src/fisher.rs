//! Fisher's exact test of a two-by-two table.

use statrs::function::factorial::ln_binomial;

use crate::{Share, student};

/// Two-sided p value that two shares are of one size: the sum over all tables with the same margins that are no
/// likelier than the one seen. 1 when either whole is empty or a count exceeds its whole.
pub fn two_sided_p(a: Share, b: Share) -> f64 {
    if a.total == 0 || b.total == 0 || a.count > a.total || b.count > b.total {
        return 1.0;
    }
    let (Some(hits), Some(all)) = (a.count.checked_add(b.count), a.total.checked_add(b.total)) else {
        return 1.0;
    };
    let first = hits.saturating_sub(b.total);
    let last = hits.min(a.total);
    if last - first > LARGE {
        return normal_p(a, b);
    }
    let ln_whole = ln_binomial(all, hits);
    let ln_chance = |x: u64| ln_binomial(a.total, x) + ln_binomial(b.total, hits - x) - ln_whole;
    // relative tolerance for tables that are equally likely but differ in the last bits, as R does
    let bar = ln_chance(a.count) + 1e-7;
    let p: f64 = (first..=last).map(ln_chance).filter(|&chance| chance <= bar).map(f64::exp).sum();
    p.min(1.0)
}

/// Tables beyond which the sum is replaced by its normal limit, so that absurd counts cost no time.
const LARGE: u64 = 100_000;

fn normal_p(a: Share, b: Share) -> f64 {
    let pooled = (a.count as f64 + b.count as f64) / (a.total as f64 + b.total as f64);
    let variance = pooled * (1.0 - pooled) * (1.0 / a.total as f64 + 1.0 / b.total as f64);
    if variance <= 0.0 {
        return 1.0;
    }
    student::two_sided_p((a.fraction() - b.fraction()) / variance.sqrt(), f64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(count: u64, total: u64) -> Share {
        Share { count, total }
    }

    /// Fisher's tea taster (3 of 4 against 1 of 4): 0.4857; all right: 2 of 70 tables.
    #[test]
    fn tea_taster() {
        assert!((two_sided_p(share(3, 4), share(1, 4)) - 0.485_714_285_7).abs() < 1e-9);
        assert!((two_sided_p(share(4, 4), share(0, 4)) - 2.0 / 70.0).abs() < 1e-12);
    }

    /// R: fisher.test(matrix(c(1, 9, 11, 3), 2))$p.value = 0.002759456
    #[test]
    fn an_unbalanced_table() {
        assert!((two_sided_p(share(1, 12), share(9, 12)) - 0.002_759_456).abs() < 1e-8);
    }

    #[test]
    fn no_information_is_no_finding() {
        assert_eq!(two_sided_p(share(0, 0), share(3, 4)), 1.0);
        assert_eq!(two_sided_p(share(0, 10), share(0, 12)), 1.0);
        assert_eq!(two_sided_p(share(5, 3), share(1, 2)), 1.0);
        assert!(two_sided_p(share(3000, 100_000), share(2900, 100_000)) > 0.1);
    }

    #[test]
    fn huge_counts_take_the_normal_limit() {
        let exact = two_sided_p(share(50_000, 200_000), share(50_900, 200_000));
        let limit = two_sided_p(share(500_000, 2_000_000), share(502_846, 2_000_000));
        assert!((exact / limit - 1.0).abs() < 0.05, "{exact} {limit}");
        assert_eq!(two_sided_p(share(u64::MAX, u64::MAX), share(1, 2)), 1.0);
    }
}
