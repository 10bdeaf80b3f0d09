//! From the samples of one invocation to its one declared number.

use record::Estimator;

/// The declared number of `samples` (any order, finite). `None` when there are no samples.
pub fn declared_number(estimator: Estimator, samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (&first, &last) = (sorted.first()?, sorted.last()?);
    Some(match estimator {
        Estimator::Min => first,
        Estimator::Max => last,
        Estimator::P25 => quantile(&sorted, 0.25),
        Estimator::Median | Estimator::Single => quantile(&sorted, 0.5),
        Estimator::P99 => quantile(&sorted, 0.99),
        Estimator::P999 => quantile(&sorted, 0.999),
        Estimator::TrimmedMean => {
            let cut = sorted.len() / 10;
            let kept = &sorted[cut..sorted.len() - cut];
            kept.iter().sum::<f64>() / kept.len() as f64
        }
    })
}

/// Linear interpolation between order statistics (Hyndman & Fan type 7).
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let at = q * (sorted.len() - 1) as f64;
    let below = at.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (at - below as f64) * (sorted[above] - sorted[below])
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
