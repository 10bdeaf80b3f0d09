//! When to look, when to stop, how many more, how many inside.

use crate::compare::Comparison;
use crate::contrast::Contrast;
use crate::row::MoreRuns;
use crate::table::Plan;
use crate::{student, trimmed};

/// Runs beyond which more of them is bad advice.
const TOO_MANY: f64 = 200.0;
/// Power asked for.
const POWER: f64 = 0.9;

impl Plan {
    /// The first look after `blocks` blocks, or `None` when the plan is spent.
    pub fn next_look(&self, blocks: u32) -> Option<u32> {
        self.looks.iter().copied().filter(|&look| look > blocks).min()
    }
}

/// Standard errors of a difference that the corrected test and 90 % power need together: z(1 - α/2m) + z(0.9).
fn standard_errors_needed(family: usize, alpha: f64) -> f64 {
    student::z_upper(alpha / 2.0 / family.max(1) as f64) + student::z_upper(1.0 - POWER)
}

/// Units (blocks, runs of each side) that show a change of `target` (a log ratio) when one unit's difference has
/// standard deviation `unit_sd`: ((z(1 - α/2m) + z(0.9)) · sd / target)² + 2.
pub fn units_needed(unit_sd: f64, target: f64, family: usize, alpha: f64) -> f64 {
    let errors = standard_errors_needed(family, alpha) * unit_sd / target;
    errors * errors + 2.0
}

/// How many more units an undecided row needs. Where the margin's own number is already there, the change sits
/// between zero and the margin, and the nearer question (not zero, or inside) sets the number.
pub fn more_runs(contrast: &Contrast, margin: f64, family: usize, alpha: f64) -> MoreRuns {
    if !contrast.unit_sd().is_finite() {
        return MoreRuns::TooMany;
    }
    let limit = margin.ln_1p();
    let nearer = contrast.effect.abs().max(limit - contrast.effect.abs());
    let enough = |target| units_needed(contrast.unit_sd(), target, family, alpha).ceil();
    let have = contrast.n as f64;
    let needed = [limit, nearer.min(limit)].map(enough).into_iter().find(|&n| n > have).unwrap_or(have + 1.0);
    more(needed, have)
}

pub(crate) fn more(needed: f64, have: f64) -> MoreRuns {
    if needed.is_nan() || needed > TOO_MANY {
        return MoreRuns::TooMany;
    }
    MoreRuns::About((needed - have).max(1.0) as u32)
}

/// Smallest change, per cent, that this contrast could have shown: (t(1 - α/2m) + t(0.9)) standard errors.
pub fn smallest_change_pct(contrast: &Contrast, family: usize, alpha: f64) -> f64 {
    let upper = alpha / 2.0 / family.max(1) as f64;
    let errors = student::t_upper(upper, contrast.df) + student::t_upper(1.0 - POWER, contrast.df);
    100.0 * (errors * contrast.se + contrast.widening).exp_m1()
}

/// For each metric of the table, whether every one of the comparisons has decided it at a look of the plan (or can
/// never decide it by more blocks: an exact count, two modes). `ab` stops measuring those, and the suite when all are.
pub fn decided(comparisons: &[Comparison]) -> Vec<bool> {
    let metrics = comparisons.iter().map(|c| c.rows.len()).max().unwrap_or(0);
    let row_decided = |c: &Comparison, m: usize| c.rows.get(m).is_some_and(|row| row.decided);
    (0..metrics).map(|m| comparisons.iter().all(|c| row_decided(c, m))).collect()
}

/// `run --target`: stop when the 95 % half-width of the value is at most `half_width` (0.01 = 1 %), from `fewest`
/// invocations on. Stopping on width alone keeps the interval's cover (94.2 % measured); stopping when it is decisive
/// does not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WidthTarget {
    /// Half-width wanted, as a fraction.
    pub half_width: f64,
    /// Invocations below which it never stops.
    pub fewest: usize,
}

impl WidthTarget {
    /// A target of `half_width` from eight invocations on.
    pub fn of(half_width: f64) -> Self {
        WidthTarget { half_width, fewest: 8 }
    }

    /// True when the values are known well enough.
    pub fn reached(&self, invocations: &[f64]) -> bool {
        let logs: Vec<f64> =
            invocations.iter().filter(|v| v.is_finite() && **v > 0.0).map(|v| v.ln()).collect();
        logs.len() >= self.fewest
            && trimmed::tenth(&logs).is_some_and(|location| {
                let (lo, hi) = location.interval(0.95);
                (hi - lo) / 2.0 <= self.half_width.ln_1p()
            })
    }
}

/// Best number of inner repetitions per outer one (Kalibera and Jones 2013): sqrt(c_outer/c_inner · s²_inner/s²_outer).
///
/// Costs are of one more repetition at each level (any unit of time); variances are those that arise at each level.
/// At least 1; `None` when a cost or variance is not a number above zero (an inner variance of 0 gives 1).
pub fn best_inner_count(
    cost_outer: f64,
    cost_inner: f64,
    variance_outer: f64,
    variance_inner: f64,
) -> Option<u32> {
    let usable = |x: f64| x.is_finite() && x > 0.0;
    let inner_usable = variance_inner.is_finite() && variance_inner >= 0.0;
    if !usable(cost_outer) || !usable(cost_inner) || !usable(variance_outer) || !inner_usable {
        return None;
    }
    let best = (cost_outer / cost_inner * (variance_inner / variance_outer)).sqrt();
    Some(best.round().clamp(1.0, f64::from(u32::MAX)) as u32)
}

/// Variance between groups and within them, from samples of several invocations (one-way analysis of variance on
/// logs): what [`best_inner_count`] needs from a pilot. The between part is never negative. `None` with fewer than two
/// groups of two usable samples.
pub fn variance_components(groups: &[Vec<f64>]) -> Option<(f64, f64)> {
    let usable = |group: &Vec<f64>| -> Vec<f64> {
        group.iter().filter(|v| v.is_finite() && **v > 0.0).map(|v| v.ln()).collect()
    };
    let groups: Vec<Vec<f64>> = groups.iter().map(usable).filter(|group| group.len() > 1).collect();
    if groups.len() < 2 {
        return None;
    }
    let per_group: Vec<(f64, f64)> = groups.iter().map(|group| trimmed::mean_and_variance(group)).collect();
    let df: f64 = groups.iter().map(|group| group.len() as f64 - 1.0).sum();
    let within =
        per_group.iter().zip(&groups).map(|((_, v), g)| v * (g.len() as f64 - 1.0)).sum::<f64>() / df;
    let means: Vec<f64> = per_group.iter().map(|(mean, _)| *mean).collect();
    let harmonic = groups.len() as f64 / groups.iter().map(|g| 1.0 / g.len() as f64).sum::<f64>();
    let between = (trimmed::mean_and_variance(&means).1 - within / harmonic).max(0.0);
    Some((between, within))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contrast::sample_contrast;

    #[test]
    fn looks_follow_the_plan() {
        let plan = Plan::looks();
        assert_eq!((plan.next_look(0), plan.next_look(8), plan.next_look(13)), (Some(8), Some(12), Some(16)));
        assert_eq!((plan.next_look(32), Plan::fixed().next_look(0)), (None, None));
    }

    /// z(1 - .05/120) = 3.3415, z(.9) = 1.2816: ((4.623 · 0.02) / ln 1.02)² + 2 = 23.8.
    #[test]
    fn units_needed_by_hand() {
        let units = units_needed(0.02, 0.02f64.ln_1p(), 60, 0.05);
        assert!((units - 23.8).abs() < 0.05, "{units}");
        assert!(units_needed(0.02, 0.02f64.ln_1p(), 1, 0.05) < units);
    }

    #[test]
    fn more_runs_are_counted_from_those_there_and_capped() {
        let contrast = |effect: f64, sd: f64| sample_contrast(effect, sd / 10f64.sqrt(), 9.0);
        assert_eq!(more_runs(&contrast(0.0, 0.02), 0.02, 60, 0.05), MoreRuns::About(14));
        assert_eq!(more_runs(&contrast(0.0, 0.2), 0.02, 60, 0.05), MoreRuns::TooMany);
        // enough for the margin, but the change sits half-way: more, not none
        let MoreRuns::About(n) = more_runs(&contrast(0.0099, 0.01), 0.02, 60, 0.05) else { panic!() };
        assert!((10..=25).contains(&n), "{n}");
        assert_eq!(more_runs(&contrast(0.0, f64::NAN), 0.02, 60, 0.05), MoreRuns::TooMany);
    }

    #[test]
    fn smallest_change_by_hand() {
        // t(.975, 9) = 2.262, t(.9, 9) = 1.383
        let change = smallest_change_pct(&sample_contrast(0.0, 0.01, 9.0), 1, 0.05);
        assert!((change - 100.0 * 0.03645f64.exp_m1()).abs() < 0.01);
    }

    #[test]
    fn width_target_waits_for_enough_values() {
        let target = WidthTarget::of(0.01);
        assert!(!target.reached(&[100.0; 7]));
        assert!(target.reached(&[100.0, 100.1, 99.9, 100.0, 100.2, 99.8, 100.0, 100.1]));
        assert!(!target.reached(&[100.0, 110.0, 90.0, 100.0, 105.0, 95.0, 100.0, 99.0]));
    }

    #[test]
    fn kalibera_jones() {
        // a process costs 100 samples and varies a fourth as much: sqrt(100 · 4) = 20
        assert_eq!(best_inner_count(100.0, 1.0, 1.0, 4.0), Some(20));
        assert_eq!(best_inner_count(1.0, 1.0, 9.0, 1.0), Some(1));
        assert_eq!(best_inner_count(1.0, 1.0, 0.0, 1.0), None);
        let groups = vec![vec![100.0, 102.0], vec![110.0, 112.0], vec![90.0, 92.0]];
        let (between, within) = variance_components(&groups).unwrap();
        assert!(between > 0.009 && within < 0.0003);
        assert!(variance_components(&groups[..1]).is_none());
    }
}
