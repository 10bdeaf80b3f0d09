//! Change over time: the slope of the block means, and the correlation of neighbouring differences.

use crate::student;

/// A straight line through block means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Change over the whole run, per cent.
    pub change_pct: f64,
    /// Two-sided p value of no slope.
    pub p: f64,
    /// The same, adjusted over the table (filled in by the comparison).
    pub p_adjusted: f64,
}

impl Drift {
    /// A finding: adjusted p below 0.01. Blocks cancel it, so it is reported and decides nothing.
    pub fn found(&self) -> bool {
        self.p_adjusted < 0.01
    }
}

/// Least-squares slope of mean logs over block numbers; `None` with fewer than four blocks or no spread.
pub fn slope(block_means: &[(u32, f64)]) -> Option<Drift> {
    let n = block_means.len() as f64;
    if block_means.len() < 4 {
        return None;
    }
    let mean_x = block_means.iter().map(|(x, _)| f64::from(*x)).sum::<f64>() / n;
    let mean_y = block_means.iter().map(|(_, y)| y).sum::<f64>() / n;
    let (mut sxx, mut sxy, mut syy) = (0.0, 0.0, 0.0);
    for &(x, y) in block_means {
        let (dx, dy) = (f64::from(x) - mean_x, y - mean_y);
        sxx += dx * dx;
        sxy += dx * dy;
        syy += dy * dy;
    }
    if sxx == 0.0 || syy == 0.0 {
        return None;
    }
    let slope = sxy / sxx;
    let residual = (syy - slope * sxy).max(0.0);
    let se = (residual / (n - 2.0) / sxx).sqrt();
    let p = student::two_sided_p(slope / se, n - 2.0);
    let span =
        f64::from(block_means.iter().map(|(x, _)| *x).max()? - block_means.iter().map(|(x, _)| *x).min()?);
    Some(Drift { change_pct: 100.0 * (slope * span).exp_m1(), p, p_adjusted: p })
}

/// Lag-1 autocorrelation of a series; `None` with fewer than four values or no spread.
pub fn lag1(series: &[f64]) -> Option<f64> {
    if series.len() < 4 {
        return None;
    }
    let mean = series.iter().sum::<f64>() / series.len() as f64;
    let variance: f64 = series.iter().map(|x| (x - mean) * (x - mean)).sum();
    let product: f64 = series.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    (variance > 0.0).then(|| product / variance)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NIST e-Handbook style check by hand: y = 1, 3, 2, 5, 4 over x = 1..5 has slope 0.8, se 0.3464, t 2.309 (3 df).
    #[test]
    fn slope_and_its_p_value() {
        let drift = slope(&[(1, 1.0), (2, 3.0), (3, 2.0), (4, 5.0), (5, 4.0)]).unwrap();
        assert!((drift.change_pct - 100.0 * (3.2f64.exp() - 1.0)).abs() < 1e-6);
        assert!((drift.p - 0.104).abs() < 1e-3, "{}", drift.p);
        assert!(slope(&[(1, 1.0), (2, 1.0), (3, 1.0), (4, 1.0)]).is_none());
        assert!(slope(&[(1, 1.0), (2, 2.0), (3, 1.0)]).is_none());
    }

    #[test]
    fn alternating_and_trending_series() {
        assert!(lag1(&[1.0, -1.0, 1.0, -1.0, 1.0, -1.0]).unwrap() < -0.8);
        assert!(lag1(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap() > 0.4);
        assert!(lag1(&[2.0; 5]).is_none());
    }
}
