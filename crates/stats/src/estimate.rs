//! From samples to one number, and from the numbers of a few invocations to an interval.

use crate::trimmed;

/// Smallest value; `None` without values.
pub fn minimum(values: &[f64]) -> Option<f64> {
    values.iter().copied().min_by(f64::total_cmp)
}

/// Largest value; `None` without values.
pub fn maximum(values: &[f64]) -> Option<f64> {
    values.iter().copied().max_by(f64::total_cmp)
}

/// Quantile `q` in 0..=1 by linear interpolation between order statistics (type 7 of Hyndman and Fan 1996).
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let place = q.clamp(0.0, 1.0) * last as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    Some(sorted[below] + (place - below as f64) * (sorted[above] - sorted[below]))
}

/// 25th percentile.
pub fn p25(values: &[f64]) -> Option<f64> {
    quantile(values, 0.25)
}

/// Median.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Mean after cutting a tenth of the values at each end.
pub fn trimmed_mean(values: &[f64]) -> Option<f64> {
    trimmed::tenth(values).map(|location| location.mean)
}

/// A value with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueInterval {
    /// Geometric mean of the invocations (10 % trimmed from ten on).
    pub value: f64,
    /// 95 % interval, `None` for a single invocation; for this sitting and boot only.
    pub ci95: Option<(f64, f64)>,
    /// Invocations used.
    pub n: usize,
    /// Standard deviation of the logs, per cent; `None` for a single invocation.
    pub spread_pct: Option<f64>,
}

impl ValueInterval {
    /// Half the interval's width on the ratio scale, per cent of the value; `None` for a single invocation.
    pub fn half_width_pct(&self) -> Option<f64> {
        self.ci95.map(|(lo, hi)| 100.0 * ((hi / lo).sqrt() - 1.0))
    }
}

/// Value and interval from the invocations' numbers, on the ratio scale: a t interval of the logs, so that it never
/// reaches below zero and suits the 3 to 8 invocations of a short run. Values that are not finite or not above zero
/// are left out; `None` when nothing is left.
pub fn value_interval(invocations: &[f64]) -> Option<ValueInterval> {
    let logs: Vec<f64> = invocations.iter().filter(|v| v.is_finite() && **v > 0.0).map(|v| v.ln()).collect();
    let location = trimmed::tenth(&logs)?;
    let (_, variance) = trimmed::mean_and_variance(&logs);
    let several = logs.len() > 1;
    let (lo, hi) = location.interval(0.95);
    Some(ValueInterval {
        value: location.mean.exp(),
        ci95: several.then(|| (lo.exp(), hi.exp())),
        n: logs.len(),
        spread_pct: several.then(|| 100.0 * variance.sqrt()),
    })
}

/// How many of `samples` lie above twice their own median: the tail of one invocation.
pub fn tail(samples: &[f64]) -> crate::Share {
    let total = samples.len() as u64;
    let count =
        median(samples).map_or(0, |median| samples.iter().filter(|&&x| x > 2.0 * median).count() as u64);
    crate::Share { count, total }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R: quantile(c(1, 2, 3, 4, 10), c(.25, .5, .9)) = 2, 3, 7.6; median of 1, 2, 10 is 2 and of 1, 2, 3, 4, 100 is 3.
    #[test]
    fn quantiles_match_r() {
        let values = [10.0, 1.0, 3.0, 2.0, 4.0];
        assert_eq!(p25(&values), Some(2.0));
        assert_eq!(median(&values), Some(3.0));
        assert!((quantile(&values, 0.9).unwrap() - 7.6).abs() < 1e-12);
        assert_eq!(median(&[1.0, 2.0, 10.0]), Some(2.0));
        assert_eq!(median(&[1.0, 2.0, 3.0, 4.0, 100.0]), Some(3.0));
        assert_eq!(median(&[1.0, 2.0]), Some(1.5));
        assert_eq!((minimum(&values), maximum(&values)), (Some(1.0), Some(10.0)));
        assert_eq!((median(&[]), minimum(&[]), trimmed_mean(&[])), (None, None, None));
        assert_eq!(trimmed_mean(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1e9]), Some(5.5));
    }

    #[test]
    fn the_interval_is_on_the_ratio_scale() {
        let interval = value_interval(&[90.0, 100.0, 1e4 / 90.0]).unwrap();
        let (lo, hi) = interval.ci95.unwrap();
        assert!((interval.value - 100.0).abs() < 1e-9 && (lo * hi - 1e4).abs() < 1e-6);
        let half = 4.302_653 * (1.0f64 / 0.9).ln() / 3.0f64.sqrt();
        assert!((interval.half_width_pct().unwrap() - 100.0 * half.exp_m1()).abs() < 1e-3);
        assert!(lo > 0.0);
    }

    #[test]
    fn one_invocation_has_a_value_and_no_interval() {
        let one = value_interval(&[5.0, f64::NAN, 0.0]).unwrap();
        assert!((one.value - 5.0).abs() < 1e-12);
        assert_eq!((one.ci95, one.spread_pct, one.n, one.half_width_pct()), (None, None, 1, None));
        assert!(value_interval(&[]).is_none());
    }

    #[test]
    fn the_tail_is_beyond_twice_the_own_median() {
        assert_eq!(tail(&[1.0, 1.0, 1.1, 2.0, 2.3]), crate::Share { count: 1, total: 5 });
        assert_eq!(tail(&[]), crate::Share { count: 0, total: 0 });
    }
}
