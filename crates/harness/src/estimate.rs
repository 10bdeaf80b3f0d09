//! From the samples of one invocation to its one declared number.

use record::{Estimator, Metric, Unit};
use stats::estimate;

/// The number that `metric` declares for `samples` (any order, finite). The trimmed mean of a bandwidth is work over the
/// trimmed mean time, not the mean of rates: time is what adds up.
pub fn number_of(metric: &Metric, samples: &[f64]) -> Option<f64> {
    if metric.unit == Unit::MB_PER_S && metric.estimator == Estimator::TrimmedMean {
        let times: Vec<f64> = samples.iter().map(|rate| rate.recip()).collect();
        return declared_number(metric.estimator, &times).map(f64::recip);
    }
    declared_number(metric.estimator, samples)
}

/// The declared number of `samples` (any order, finite). `None` when there are no samples.
pub fn declared_number(estimator: Estimator, samples: &[f64]) -> Option<f64> {
    match estimator {
        Estimator::Min => estimate::minimum(samples),
        Estimator::Max => estimate::maximum(samples),
        Estimator::P25 => estimate::p25(samples),
        Estimator::Median | Estimator::Single => estimate::median(samples),
        Estimator::P99 => estimate::quantile(samples, 0.99),
        Estimator::P999 => estimate::quantile(samples, 0.999),
        Estimator::TrimmedMean => estimate::trimmed_mean(samples),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimators_pick_what_they_say() {
        let samples: Vec<f64> = (1..=21).rev().map(f64::from).collect();
        assert_eq!(declared_number(Estimator::Min, &samples), Some(1.0));
        assert_eq!(declared_number(Estimator::P25, &samples), Some(6.0));
        assert_eq!(declared_number(Estimator::Median, &samples), Some(11.0));
        assert_eq!(declared_number(Estimator::TrimmedMean, &samples), Some(11.0));
        assert_eq!(declared_number(Estimator::Max, &samples), Some(21.0));
        assert_eq!(declared_number(Estimator::Median, &[]), None);
    }

    #[test]
    fn a_bandwidth_is_work_over_time() {
        let bandwidth = crate::bandwidth("bw.x", "byte", "A bandwidth.").metric;
        // A fast half and a half at a quarter of its speed: 2 / (1/400 + 1/100).
        assert!((number_of(&bandwidth, &[400.0, 100.0]).unwrap() - 160.0).abs() < 1e-9);
        assert_eq!(number_of(&bandwidth, &[]), None);
    }
}
