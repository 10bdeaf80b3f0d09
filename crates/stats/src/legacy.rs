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
        let step = average(|(lo, hi)| 2.0 * (hi - lo) / (lo + hi));
        let (mean, variance) = mean_and_variance(&logs);
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

/// All configurations' groups of a metric. Where a configuration's values are all the same and nothing is known of
/// their rounding, the last decimal place that any value of the metric uses stands in for it.
pub fn groups(metric: &Measured) -> Vec<Option<Group>> {
    let mut groups: Vec<Option<Group>> =
        metric.cells.iter().map(|cell| Group::of(cell, metric.quantum)).collect();
    let unknown = |group: &Group| group.n() > 1 && group.variance == 0.0 && group.step == 0.0;
    if groups.iter().flatten().any(unknown) {
        let all = metric.cells.iter().flat_map(|cell| &cell.observations).map(|o| o.value);
        let last_place = visible_quantum(&all.filter(|v| v.is_finite()).collect::<Vec<_>>());
        for group in groups.iter_mut().flatten().filter(|group| unknown(group)) {
            group.step = last_place / group.mean.exp();
        }
    }
    groups
}

/// Contrast of `b` against `a` with the spread pooled over all groups, floored by rounding (`pooled`) and as it was
/// seen.
pub fn contrast(a: &Group, b: &Group, pooled: Pooled, seen: Pooled) -> Contrast {
    let (na, nb) = (a.n() as f64, b.n() as f64);
    Contrast {
        effect: b.mean - a.mean,
        se: (pooled.variance * (1.0 / na + 1.0 / nb)).sqrt(),
        df: pooled.df,
        widening: a.widening() + b.widening(),
        scale: Scale::Log,
        n: a.n().min(b.n()),
        unit: Unit::Runs,
        floored: pooled.variance > seen.variance,
    }
}

/// The same contrast as if nothing had been rounded: what the numbers would say with more digits.
pub fn unrounded(contrast: &Contrast, pooled: Pooled, seen: Pooled) -> Contrast {
    let shrink = if pooled.variance > 0.0 { (seen.variance / pooled.variance).sqrt() } else { 0.0 };
    Contrast { se: contrast.se * shrink, widening: 0.0, ..*contrast }
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

    fn printed(values: &[(f64, f64, f64)]) -> Cell {
        let observations = values.iter().map(|&(v, lo, hi)| Observation::printed(v, lo, hi)).collect();
        Cell { observations, summary: None }
    }

    fn reduce(cells: Vec<Cell>) -> (Vec<Option<Group>>, Pooled, Pooled) {
        let groups = groups(&Measured::new("m", Direction::Smaller, cells));
        let pools = [true, false].map(|floored| pool(groups.iter().flatten(), floored).unwrap());
        (groups, pools[0], pools[1])
    }

    /// Identical whole microseconds: 18.0 is 17.5 to 18.5, so the row is equal only to ±5.6 %.
    #[test]
    fn identical_rounded_cells_are_equal_only_to_their_rounding() {
        let (groups, pooled, seen) = reduce(vec![printed(&[(18.0, 17.5, 18.5); 3]); 2]);
        let (a, b) = (groups[0].as_ref().unwrap(), groups[1].as_ref().unwrap());
        let contrast = contrast(a, b, pooled, seen);
        let q: f64 = 1.0 / 18.0;
        assert_eq!((contrast.effect, contrast.df, contrast.p(), a.gap(b)), (0.0, 4.0, 1.0, 0.0));
        assert!((contrast.widening - q).abs() < 1e-12 && contrast.floored);
        assert!((contrast.se - (q * q / 12.0 * 2.0 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(unrounded(&contrast, pooled, seen).se, 0.0);
    }

    #[test]
    fn the_pool_takes_every_configuration_of_the_file() {
        let quiet = Cell::of(&[100.0, 101.0, 99.0]);
        let (groups, pooled, seen) = reduce(vec![quiet.clone(), quiet, Cell::of(&[50.0, 100.0, 75.0])]);
        let mean = groups.iter().flatten().map(|g| g.variance).sum::<f64>() / 3.0;
        assert!((pooled.variance - mean).abs() < 1e-15);
        assert_eq!((pooled.df, pooled), (6.0, seen));
    }

    /// 11 per second against 10 per second, printed as 90.9K and 100.0K: the counts' intervals touch.
    #[test]
    fn touching_intervals_have_no_gap() {
        let per_second = |n: f64| printed(&[(1e6 / n, 1e6 / (n + 0.5), 1e6 / (n - 0.5)); 2]);
        let (groups, ..) = reduce(vec![per_second(11.0), per_second(10.0), per_second(8.0)]);
        let gap = |a: usize, b: usize| groups[a].as_ref().unwrap().gap(groups[b].as_ref().unwrap());
        assert_eq!(gap(0, 1), 0.0);
        assert!((gap(0, 2) - (10.5f64 / 8.5).ln()).abs() < 1e-12 && gap(0, 2) == gap(2, 0));
    }

    #[test]
    fn unusable_values_are_left_out() {
        let cells = vec![Cell::of(&[0.0, -1.0, f64::NAN]), Cell::of(&[1.0])];
        let groups = groups(&Measured::new("m", Direction::Smaller, cells));
        assert!(groups[0].is_none() && groups[1].as_ref().unwrap().n() == 1);
        assert!(pool(groups.iter().flatten(), true).is_none());
    }

    #[test]
    fn smallest_rank_p_values() {
        for (n, p) in [(2, 1.0 / 3.0), (3, 0.1), (4, 2.0 / 70.0), (5, 2.0 / 252.0)] {
            assert!((smallest_rank_p(n, n) - p).abs() < 1e-9);
        }
        assert!((smallest_rank_p(1, 2) - 2.0 / 3.0).abs() < 1e-9);
    }
}
