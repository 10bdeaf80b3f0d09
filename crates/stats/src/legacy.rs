//! Tables of other tools: few runs, rounded cells, unknown order.
//!
//! Printed numbers become intervals and are worked on at their mid-points; the variance of each configuration is at
//! least that of its rounding; the spread is pooled over **all** configurations of the file; and where a side shows
//! no spread, half its rounding step is added to the interval and taken off the test.

use crate::contrast::{Contrast, Scale, Unit};
use crate::counts::visible_quantum;
use crate::table::{Cell, Measured, Observation};
use crate::trimmed::mean_and_variance;

/// One configuration of one metric, reduced.
#[derive(Clone, Debug)]
pub struct Group {
    /// Logs of the mid-points.
    pub logs: Vec<f64>,
    /// Mean of the logs.
    pub mean: f64,
    /// Sample variance of the logs.
    pub variance: f64,
    /// Mean width of the printed intervals relative to their mid-points; 0 when unrounded.
    pub step: f64,
    /// Means of the logs of the printed intervals' lower and upper ends; both are `mean` when unrounded.
    pub ends: (f64, f64),
}

impl Group {
    /// Reduces a cell; values that have no logarithm are left out. `None` when nothing is left.
    pub fn of(cell: &Cell, quantum: Option<f64>) -> Option<Group> {
        let usable: Vec<(f64, f64)> = cell.observations.iter().filter_map(|o| ends(o, quantum)).collect();
        if usable.is_empty() {
            return None;
        }
        let midpoint = |&(lo, hi): &(f64, f64)| (lo + hi) / 2.0;
        let average =
            |of: fn(&(f64, f64)) -> f64| mean_and_variance(&usable.iter().map(of).collect::<Vec<_>>()).0;
        let logs: Vec<f64> = usable.iter().map(|end| midpoint(end).ln()).collect();
        let mut step = average(|(lo, hi)| 2.0 * (hi - lo) / (lo + hi));
        let (mean, variance) = mean_and_variance(&logs);
        if step == 0.0 && logs.len() > 1 && variance == 0.0 {
            let value = midpoint(&usable[0]);
            step = visible_quantum(&[value]) / value;
        }
        // an interval that reaches zero has no lower log; its mid-point stands in
        let low = average(|(lo, hi)| if *lo > 0.0 { lo.ln() } else { ((lo + hi) / 2.0).ln() });
        let ends = (low, average(|(_, hi)| hi.ln()));
        Some(Group { logs, mean, variance, step, ends })
    }

    /// How far the printed intervals of two groups are apart, as a log ratio: 0 when they overlap or touch.
    pub fn gap(&self, other: &Group) -> f64 {
        let gap = (self.ends.0 - other.ends.1).max(other.ends.0 - self.ends.1);
        // ends that are one and the same number may differ in the last bits of their logs
        if gap > 1e-9 { gap } else { 0.0 }
    }

    /// Number of runs.
    pub fn n(&self) -> usize {
        self.logs.len()
    }

    /// Variance, at least that of a uniform rounding error.
    pub fn floored_variance(&self) -> f64 {
        self.variance.max(self.step * self.step / 12.0)
    }

    /// Half the rounding step where the spread shows less than that, else nothing.
    pub fn widening(&self) -> f64 {
        let half = self.step / 2.0;
        if self.variance.sqrt() < half { half } else { 0.0 }
    }
}

/// The interval in which a usable observation lay.
fn ends(observation: &Observation, quantum: Option<f64>) -> Option<(f64, f64)> {
    let (lo, hi) = match (observation.printed, quantum) {
        (Some(printed), _) => printed,
        (None, Some(q)) => (observation.value - q / 2.0, observation.value + q / 2.0),
        (None, None) => (observation.value, observation.value),
    };
    let mid = (lo + hi) / 2.0;
    let usable =
        observation.value.is_finite() && observation.value > 0.0 && mid.is_finite() && mid > 0.0 && hi >= lo;
    usable.then_some((lo, hi))
}

/// Spread pooled over all configurations of the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pooled {
    /// Variance of the logs within configurations, rounding floor included.
    pub variance: f64,
    /// Degrees of freedom: runs minus configurations, over those with at least two runs.
    pub df: f64,
}

/// Pools the groups' floored variances, weighted by their degrees of freedom. `None` when no group has two runs.
pub fn pool<'a>(groups: impl IntoIterator<Item = &'a Group>, floored: bool) -> Option<Pooled> {
    let (mut sum, mut df) = (0.0, 0.0);
    for group in groups.into_iter().filter(|group| group.n() > 1) {
        let own = group.n() as f64 - 1.0;
        sum += own * if floored { group.floored_variance() } else { group.variance };
        df += own;
    }
    (df > 0.0).then(|| Pooled { variance: sum / df, df })
}

/// All configurations' groups of a metric.
pub fn groups(metric: &Measured) -> Vec<Option<Group>> {
    metric.cells.iter().map(|cell| Group::of(cell, metric.quantum)).collect()
}

/// Contrast of `other` against `base` with the spread pooled over all groups; `None` when a side is missing or no
/// group has two runs.
pub fn contrast(groups: &[Option<Group>], base: usize, other: usize) -> Option<Contrast> {
    let (a, b) = (groups[base].as_ref()?, groups[other].as_ref()?);
    let pooled = pool(groups.iter().flatten(), true)?;
    let (na, nb) = (a.n() as f64, b.n() as f64);
    let seen = pool(groups.iter().flatten(), false).map_or(0.0, |raw| raw.variance);
    Some(Contrast {
        effect: b.mean - a.mean,
        se: (pooled.variance * (1.0 / na + 1.0 / nb)).sqrt(),
        df: pooled.df,
        widening: a.widening() + b.widening(),
        scale: Scale::Log,
        n: a.n().min(b.n()),
        unit: Unit::Runs,
        floored: pooled.variance > seen,
    })
}

/// The same contrast as if nothing had been rounded: what the numbers would say with more digits.
pub fn unrounded(groups: &[Option<Group>], contrast: &Contrast) -> Option<Contrast> {
    let floored = pool(groups.iter().flatten(), true)?;
    let raw = pool(groups.iter().flatten(), false)?;
    let shrink = if floored.variance > 0.0 { (raw.variance / floored.variance).sqrt() } else { 0.0 };
    Some(Contrast { se: contrast.se * shrink, widening: 0.0, ..*contrast })
}

/// Smallest two-sided p value that any rank or permutation test can reach with `na` and `nb` runs.
pub fn smallest_rank_p(na: usize, nb: usize) -> f64 {
    let ways = statrs::function::factorial::ln_binomial((na + nb) as u64, na as u64).exp();
    (2.0 / ways).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Direction;

    fn cell(values: &[(f64, f64, f64)]) -> Cell {
        let observations = values.iter().map(|&(v, lo, hi)| Observation::printed(v, lo, hi)).collect();
        Cell { observations, summary: None }
    }

    /// Identical whole microseconds: 18.0 is 17.5 to 18.5, so the row is equal only to ±5.6 %.
    #[test]
    fn identical_rounded_cells_are_equal_only_to_their_rounding() {
        let metric = Measured::new("pf", Direction::Smaller, vec![cell(&[(18.0, 17.5, 18.5); 3]); 2]);
        let groups = groups(&metric);
        let contrast = contrast(&groups, 0, 1).unwrap();
        let q: f64 = 1.0 / 18.0;
        assert_eq!((contrast.effect, contrast.df, contrast.p()), (0.0, 4.0, 1.0));
        assert!((contrast.widening - q).abs() < 1e-12);
        assert!((contrast.se - (q * q / 12.0 * 2.0 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(unrounded(&groups, &contrast).unwrap().se, 0.0);
    }

    #[test]
    fn the_pool_takes_every_configuration_of_the_file() {
        let metric = Measured::new(
            "m",
            Direction::Smaller,
            vec![
                Cell::of(&[100.0, 101.0, 99.0]),
                Cell::of(&[100.0, 101.0, 99.0]),
                Cell::of(&[50.0, 100.0, 75.0]),
            ],
        );
        let groups = groups(&metric);
        let pooled = pool(groups.iter().flatten(), true).unwrap();
        assert_eq!(pooled.df, 6.0);
        let mean = groups.iter().flatten().map(|g| g.variance).sum::<f64>() / 3.0;
        assert!((pooled.variance - mean).abs() < 1e-15);
        assert_eq!(contrast(&groups, 0, 1).unwrap().df, 6.0);
    }

    #[test]
    fn unusable_values_are_left_out() {
        let metric =
            Measured::new("m", Direction::Smaller, vec![Cell::of(&[0.0, -1.0, f64::NAN]), Cell::of(&[1.0])]);
        let groups = groups(&metric);
        assert!(groups[0].is_none() && groups[1].as_ref().unwrap().n() == 1);
        assert!(contrast(&groups, 0, 1).is_none());
    }

    #[test]
    fn smallest_rank_p_values() {
        for (n, p) in [(2, 1.0 / 3.0), (3, 0.1), (4, 2.0 / 70.0), (5, 2.0 / 252.0)] {
            assert!((smallest_rank_p(n, n) - p).abs() < 1e-9);
        }
        assert!((smallest_rank_p(1, 2) - 2.0 / 3.0).abs() < 1e-9);
    }
}
