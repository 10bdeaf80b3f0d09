//! Only a mean, its standard error and a number of runs are known (`perf stat -r`): Welch's test from those.

use crate::contrast::{Contrast, Scale, Unit};
use crate::table::{Cell, Summary};
use crate::trimmed::mean_and_variance;

/// Mean, standard error of the mean and runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanWithError {
    /// Mean.
    pub mean: f64,
    /// Standard error of the mean, at the top of its printed range.
    pub se: f64,
    /// Runs.
    pub n: u32,
}

impl MeanWithError {
    /// From a printed summary, or from the cell's own observations when it has none. `None` when nothing usable is
    /// there: a ratio needs a finite mean above zero.
    pub fn of(cell: &Cell) -> Option<MeanWithError> {
        let found = match cell.summary {
            Some(summary) => Self::printed(summary),
            None => {
                let values: Vec<f64> =
                    cell.observations.iter().map(|o| o.value).filter(|v| v.is_finite()).collect();
                let (mean, variance) = mean_and_variance(&values);
                MeanWithError { mean, se: (variance / values.len() as f64).sqrt(), n: values.len() as u32 }
            }
        };
        (found.mean.is_finite() && found.mean > 0.0 && found.se.is_finite()).then_some(found)
    }

    fn printed(summary: Summary) -> Self {
        let relative = (summary.rel_se_pct.abs() + summary.rel_se_half_digit_pct.abs()) / 100.0;
        MeanWithError { mean: summary.mean, se: summary.mean * relative, n: summary.n }
    }
}

/// Welch's contrast on the plain scale, relative to the base's mean; `None` when either side has fewer than two runs
/// or neither has an error.
pub fn contrast(base: &MeanWithError, other: &MeanWithError) -> Option<Contrast> {
    if base.n < 2 || other.n < 2 {
        return None;
    }
    let (va, vb) = (base.se * base.se, other.se * other.se);
    let variance = va + vb;
    if variance <= 0.0 {
        return None;
    }
    let df =
        variance * variance / (va * va / (f64::from(base.n) - 1.0) + vb * vb / (f64::from(other.n) - 1.0));
    Some(Contrast {
        effect: other.mean / base.mean - 1.0,
        se: variance.sqrt() / base.mean,
        df,
        widening: 0.0,
        scale: Scale::Linear,
        n: base.n.min(other.n) as usize,
        unit: Unit::Runs,
        floored: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(mean: f64, rel_se_pct: f64, n: u32) -> Cell {
        let summary = Some(Summary { mean, rel_se_pct, rel_se_half_digit_pct: 0.005, n });
        Cell { observations: Vec::new(), summary }
    }

    /// cpu-clock of the 2017 exec loop on an MPC8321, before and after (ten runs each): t = -112.134, df = 15.862,
    /// -4.747 % [-4.837, -4.657].
    #[test]
    fn a_perf_stat_pair() {
        let before = MeanWithError::of(&cell(4491.971466, 0.03, 10)).unwrap();
        let after = MeanWithError::of(&cell(4278.738845, 0.02, 10)).unwrap();
        let contrast = contrast(&before, &after).unwrap();
        assert!((contrast.t() - 112.134).abs() < 1e-2 && (contrast.df - 15.862).abs() < 1e-2);
        let ci = contrast.interval(0.95);
        assert!((ci.lo - 0.951_632_2).abs() < 1e-5 && (ci.hi - 0.953_428_3).abs() < 1e-5);
    }

    #[test]
    fn one_run_or_no_error_is_no_contrast() {
        let one = MeanWithError { mean: 5.0, se: 0.1, n: 1 };
        let exact = MeanWithError { mean: 5.0, se: 0.0, n: 10 };
        assert!(contrast(&one, &exact).is_none() && contrast(&exact, &exact).is_none());
        assert!(MeanWithError::of(&cell(0.0, 0.1, 10)).is_none());
        assert!(MeanWithError::of(&Cell::default()).is_none());
    }
}
