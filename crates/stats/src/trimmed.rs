//! The 10 % trimmed mean and its standard error (Yuen 1974; Wilcox, *Robust Estimation*, 4.3).

use crate::student;

/// A location with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Location {
    /// Trimmed mean.
    pub mean: f64,
    /// Its standard error, from the winsorised variance.
    pub se: f64,
    /// Degrees of freedom: values left after trimming, minus one.
    pub df: f64,
    /// Values given.
    pub n: usize,
    /// Values cut at each end.
    pub cut: usize,
}

impl Location {
    /// Interval of the location at confidence `level` (0.95); infinite with fewer than two values left.
    pub fn interval(&self, level: f64) -> (f64, f64) {
        let half = student::t_upper((1.0 - level) / 2.0, self.df) * self.se;
        if half.is_nan() { (f64::NEG_INFINITY, f64::INFINITY) } else { (self.mean - half, self.mean + half) }
    }
}

/// Trimmed mean of `values` with a tenth of them cut at each end; below ten values the plain mean and its plain
/// standard error. `None` without values; the error is infinite for a single one.
pub fn tenth(values: &[f64]) -> Option<Location> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let cut = n / 10;
    let kept = n - 2 * cut;
    let body = &sorted[cut..n - cut];
    let mean = body.iter().sum::<f64>() / kept as f64;
    let (low, high) = (body[0], body[kept - 1]);
    let winsorised_mean = (body.iter().sum::<f64>() + cut as f64 * (low + high)) / n as f64;
    let square = |x: f64| (x - winsorised_mean) * (x - winsorised_mean);
    let sum_of_squares =
        body.iter().map(|&x| square(x)).sum::<f64>() + cut as f64 * (square(low) + square(high));
    let df = kept as f64 - 1.0;
    let se = if kept < 2 { f64::INFINITY } else { (sum_of_squares / (kept as f64 * df)).sqrt() };
    Some(Location { mean, se, df, n, cut })
}

/// Plain mean and sample variance (n - 1); the variance is exactly 0 for equal values or fewer than two.
pub fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    if values.is_empty() {
        return (f64::NAN, 0.0);
    }
    if values.iter().all(|&x| x == values[0]) {
        // exactly: the last bits of a sum would make a spread where there is none
        return (values[0], 0.0);
    }
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    (mean, variance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_sets_are_the_plain_mean() {
        let location = tenth(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!((location.mean, location.cut, location.df), (2.5, 0, 3.0));
        assert!((location.se - (5.0f64 / 3.0 / 4.0).sqrt()).abs() < 1e-12);
        let (lo, hi) = location.interval(0.95);
        assert!((hi - 2.5 - 3.182_446 * location.se).abs() < 1e-5 && (lo + hi - 5.0).abs() < 1e-12);
    }

    /// Worked by hand: 1..=9 and 100, one cut at each end, winsorised set 2 2 3 4 5 6 7 8 9 9.
    #[test]
    fn one_outlier_in_ten_is_cut_and_winsorised() {
        let location = tenth(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 100.0]).unwrap();
        assert_eq!((location.mean, location.cut, location.df), (5.5, 1, 7.0));
        assert!((location.se - (66.5f64 / (8.0 * 7.0)).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn one_value_or_none() {
        assert!(tenth(&[]).is_none());
        let one = tenth(&[3.0]).unwrap();
        assert!(one.se.is_infinite());
        assert_eq!(one.interval(0.95), (f64::NEG_INFINITY, f64::INFINITY));
        assert_eq!(mean_and_variance(&[2.0]), (2.0, 0.0));
    }
}
