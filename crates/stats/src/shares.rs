//! Shares of samples (in the tail, set aside) compared between two configurations.
//!
//! Fisher's test on all samples pooled takes the samples of one process for independent ones, which they are not. So
//! a difference is a finding only when the invocations agree too: their shares, on the arcsine scale, are compared by
//! a t test whose variance is never below the binomial one. The larger of the two p values counts.

use crate::table::Share;
use crate::{fisher, student, trimmed};

/// Smallest difference of two shares that is worth a flag: one point.
pub const SMALLEST_DIFFERENCE: f64 = 0.01;

/// Two shares compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareTest {
    /// Base's, all invocations pooled.
    pub base: Share,
    /// Other's.
    pub other: Share,
    /// The larger of Fisher's p value on the pooled samples and the invocations' p value.
    pub p: f64,
    /// The same, adjusted over the table (filled in by the comparison).
    pub p_adjusted: f64,
}

impl ShareTest {
    /// A finding: adjusted p below 0.01 and at least one point apart.
    pub fn differs(&self) -> bool {
        self.p_adjusted < 0.01 && (self.base.fraction() - self.other.fraction()).abs() >= SMALLEST_DIFFERENCE
    }
}

/// Compares the shares of two sets of invocations; `None` when either side has none.
pub fn compare(base: &[Share], other: &[Share]) -> Option<ShareTest> {
    let (pooled_base, pooled_other) = (pool(base), pool(other));
    if pooled_base.total == 0 || pooled_other.total == 0 {
        return None;
    }
    let p = fisher::two_sided_p(pooled_base, pooled_other).max(invocation_p(base, other));
    Some(ShareTest { base: pooled_base, other: pooled_other, p, p_adjusted: p })
}

/// Sum of shares.
pub fn pool(shares: &[Share]) -> Share {
    shares.iter().fold(Share::default(), |sum, share| Share {
        count: sum.count.saturating_add(share.count),
        total: sum.total.saturating_add(share.total),
    })
}

/// t test on arcsine-square-root shares, whose variance is 1/(4 n) when samples are independent.
fn invocation_p(base: &[Share], other: &[Share]) -> f64 {
    let angles = |shares: &[Share]| -> Vec<f64> {
        shares.iter().filter(|s| s.total > 0).map(|s| s.fraction().min(1.0).sqrt().asin()).collect()
    };
    let (a, b) = (angles(base), angles(other));
    let (na, nb) = (a.len() as f64, b.len() as f64);
    let df = na + nb - 2.0;
    if df <= 0.0 || a.is_empty() || b.is_empty() {
        return 1.0;
    }
    let ((mean_a, var_a), (mean_b, var_b)) = (trimmed::mean_and_variance(&a), trimmed::mean_and_variance(&b));
    let pooled = (var_a * (na - 1.0) + var_b * (nb - 1.0)) / df;
    let samples = (pool(base).total as f64 + pool(other).total as f64) / (na + nb);
    let variance = pooled.max(1.0 / (4.0 * samples)) * (1.0 / na + 1.0 / nb);
    student::two_sided_p((mean_a - mean_b) / variance.sqrt(), df)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(counts: &[u64], total: u64) -> Vec<Share> {
        counts.iter().map(|&count| Share { count, total }).collect()
    }

    #[test]
    fn a_tail_in_every_invocation_is_found() {
        let test = compare(&shares(&[0; 10], 100), &shares(&[4, 5, 6, 5, 4, 6, 5, 5, 4, 6], 100)).unwrap();
        assert!(test.p < 1e-6 && test.differs());
    }

    /// 60 slow samples, all in one of ten processes: Fisher on pooled samples is certain, the processes are not.
    #[test]
    fn one_bad_process_is_not_a_tail() {
        let bad = shares(&[0, 0, 0, 60, 0, 0, 0, 0, 0, 0], 100);
        let test = compare(&shares(&[0; 10], 100), &bad).unwrap();
        assert!(fisher::two_sided_p(test.base, test.other) < 1e-10);
        assert!(!test.differs(), "p = {}", test.p);
    }

    #[test]
    fn less_than_a_point_is_no_flag() {
        let test = compare(&shares(&[10; 10], 10_000), &shares(&[80; 10], 10_000)).unwrap();
        assert!(test.p < 1e-9 && !test.differs());
        assert!(compare(&[], &shares(&[1], 10)).is_none());
        assert_eq!(compare(&shares(&[0], 50), &shares(&[30], 50)).unwrap().p, 1.0);
    }
}
