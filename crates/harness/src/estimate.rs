//! From the samples of one invocation to its one declared number.

use record::Estimator;
use stats::estimate;

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
}
