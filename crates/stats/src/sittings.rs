//! Two stored records without common blocks: the unit is the sitting.
//!
//! Between sittings (boots, days) there is a variance that the samples of one sitting don't contain. With three or
//! more sittings a side it is seen and used; with fewer it is added from history or from a stated default.

use std::collections::BTreeMap;

use crate::contrast::{Contrast, Scale, Unit};
use crate::legacy::{self, Group, Pooled};
use crate::table::{Cell, Measured, Options, Tau};
use crate::trimmed::mean_and_variance;

/// Sittings a side from which their own spread is used.
const ENOUGH_SITTINGS: usize = 3;

/// Where the between-sitting deviation of a row came from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TauSource {
    /// Seen in the table itself: three or more sittings on each side.
    Seen,
    /// This machine's history.
    History(Tau),
    /// Assumed: the default for metrics or for controls.
    Default(f64),
}

/// A metric's configurations, reduced to sittings.
pub struct Sittings {
    sides: Vec<Option<Side>>,
    /// Spread of invocations within sittings, pooled over all configurations.
    within: Option<Pooled>,
    /// Spread between sittings of one configuration, pooled over all of them.
    between: Option<Pooled>,
}

/// One configuration's sittings.
struct Side {
    /// One mean log per sitting; the step is known only where nothing moved.
    means: Group,
    within_squares: f64,
    within_df: f64,
    /// Variance of the mean of sitting means per unit of variance within: the sum of 1/n over S sittings, over S².
    weight: f64,
}

impl Sittings {
    /// Reduces a metric; `groups` are its configurations' invocations taken together.
    pub fn of(metric: &Measured, groups: &[Option<Group>]) -> Self {
        let step = |group: &Option<Group>| group.as_ref().map_or(0.0, |group| group.step);
        let sides: Vec<Option<Side>> =
            metric.cells.iter().zip(groups).map(|(cell, group)| Side::of(cell, step(group))).collect();
        let df: f64 = sides.iter().flatten().map(|side| side.within_df).sum();
        let squares: f64 = sides.iter().flatten().map(|side| side.within_squares).sum();
        Sittings {
            within: (df > 0.0).then(|| Pooled { variance: squares / df, df }),
            between: legacy::pool(sides.iter().flatten().map(|side| &side.means), true),
            sides,
        }
    }

    /// Contrast over sittings and where its between-sitting deviation came from; `None` when a side is missing or no
    /// error can be had.
    pub fn contrast(
        &self,
        metric: &Measured,
        base: usize,
        other: usize,
        options: &Options,
    ) -> Option<(Contrast, TauSource)> {
        let (a, b) = (self.sides[base].as_ref()?, self.sides[other].as_ref()?);
        let (sa, sb) = (a.means.n(), b.means.n());
        if sa.min(sb) >= ENOUGH_SITTINGS {
            let between = self.between?;
            let contrast = legacy::contrast(&a.means, &b.means, between, between);
            return Some((Contrast { unit: Unit::Sittings, ..contrast }, TauSource::Seen));
        }
        let (source, tau, tau_df) = between_sitting_deviation(metric, options);
        let pooled = self.within?;
        let within = pooled.variance * (a.weight + b.weight);
        let between = tau * tau * (1.0 / sa as f64 + 1.0 / sb as f64);
        let contrast = Contrast {
            effect: b.means.mean - a.means.mean,
            se: (within + between).sqrt(),
            df: combined_df(within, pooled.df, between, tau_df),
            widening: 0.0,
            scale: Scale::Log,
            n: sa.min(sb),
            unit: Unit::Sittings,
            floored: false,
        };
        Some((contrast, source))
    }
}

impl Side {
    /// Observations without a sitting count as one; `None` without usable ones.
    fn of(cell: &Cell, step: f64) -> Option<Side> {
        let mut sittings: BTreeMap<Option<u32>, Vec<f64>> = BTreeMap::new();
        for observation in cell.observations.iter().filter(|o| o.value.is_finite() && o.value > 0.0) {
            sittings.entry(observation.sitting).or_default().push(observation.value.ln());
        }
        if sittings.is_empty() {
            return None;
        }
        let (mut logs, mut within_squares, mut within_df, mut weight) = (Vec::new(), 0.0, 0.0, 0.0);
        for own in sittings.values() {
            let (mean, variance) = mean_and_variance(own);
            let n = own.len() as f64;
            logs.push(mean);
            within_squares += variance * (n - 1.0);
            within_df += n - 1.0;
            weight += 1.0 / n;
        }
        let (mean, variance) = mean_and_variance(&logs);
        weight /= (logs.len() * logs.len()) as f64;
        // sittings aren't printed numbers; the digits matter only where nothing moved at all
        let step = if variance == 0.0 { step } else { 0.0 };
        let means = Group { logs, mean, variance, step, ends: (mean, mean) };
        Some(Side { means, within_squares, within_df, weight })
    }
}

/// Source, deviation and, where it was estimated, its degrees of freedom.
fn between_sitting_deviation(metric: &Measured, options: &Options) -> (TauSource, f64, Option<f64>) {
    let assumed = if metric.control { options.default_control_tau } else { options.default_tau };
    match metric.tau.filter(|tau| tau.sittings >= 2 && tau.sd.is_finite()) {
        Some(tau) => (TauSource::History(tau), tau.sd, Some(f64::from(tau.sittings) - 1.0)),
        None => (TauSource::Default(assumed), assumed, None),
    }
}

/// Satterthwaite's degrees of freedom of a sum of two variances; an assumed between-sitting variance leaves the
/// invocations' (cautious: it is treated as no better known than they are).
fn combined_df(within: f64, within_df: f64, between: f64, between_df: Option<f64>) -> f64 {
    match between_df {
        None => within_df,
        Some(between_df) => {
            let total = within + between;
            let spread = within * within / within_df + between * between / between_df;
            if spread > 0.0 { total * total / spread } else { within_df }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Direction, Observation};

    fn cell(sittings: &[&[f64]]) -> Cell {
        let observations = sittings
            .iter()
            .enumerate()
            .flat_map(|(s, values)| values.iter().map(move |&v| (s, v)))
            .map(|(s, value)| Observation { sitting: Some(s as u32), ..Observation::of(value) })
            .collect();
        Cell { observations, summary: None }
    }

    fn contrast(metric: &Measured) -> Option<(Contrast, TauSource)> {
        Sittings::of(metric, &legacy::groups(metric)).contrast(metric, 0, 1, &Options::default())
    }

    fn metric(base: &[&[f64]], other: &[&[f64]]) -> Measured {
        Measured::new("m", Direction::Smaller, vec![cell(base), cell(other)])
    }

    #[test]
    fn one_sitting_each_carries_the_default_between_sitting_variance() {
        let metric = metric(&[&[100.0, 100.1, 99.9, 100.0]], &[&[101.0, 101.1, 100.9, 101.0]]);
        let (contrast, source) = contrast(&metric).unwrap();
        assert_eq!(source, TauSource::Default(0.01));
        assert!(contrast.se > 0.01 * 2.0f64.sqrt() && contrast.se < 0.0142);
        assert!(contrast.p() > 0.3, "1 % between two sittings is no finding");
        let control = Measured { control: true, ..metric };
        let (control, source) = super::tests::contrast(&control).unwrap();
        assert_eq!(source, TauSource::Default(0.003));
        assert!(control.se < 0.0045);
    }

    #[test]
    fn three_sittings_a_side_use_their_own_spread() {
        let metric = metric(
            &[&[100.0, 100.2], &[103.0, 103.2], &[97.0, 97.2]],
            &[&[100.0, 100.2], &[103.0, 103.2], &[97.0, 97.2]],
        );
        let (contrast, source) = contrast(&metric).unwrap();
        assert_eq!(source, TauSource::Seen);
        assert_eq!((contrast.n, contrast.df, contrast.effect), (3, 4.0, 0.0));
        assert!((contrast.se - 0.03 * (2.0f64 / 3.0).sqrt()).abs() < 5e-4);
    }

    #[test]
    fn history_brings_its_own_degrees_of_freedom() {
        let mut metric = metric(&[&[100.0, 100.1, 99.9]], &[&[105.0, 105.1, 104.9]]);
        metric.tau = Some(Tau { sd: 0.02, sittings: 4 });
        let (contrast, source) = contrast(&metric).unwrap();
        assert!(matches!(source, TauSource::History(_)));
        assert!((contrast.df - 3.0).abs() < 0.1, "the four sittings' three dominate: {}", contrast.df);
    }
}
