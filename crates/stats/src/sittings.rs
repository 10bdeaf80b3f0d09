//! Two stored records without common blocks: the unit is the sitting.
//!
//! Between sittings (boots, days) there is a variance that the samples of one sitting don't contain. With three or
//! more sittings a side it is seen and used; with fewer it is added from history or from a stated default.

use std::collections::BTreeMap;

use crate::contrast::{Contrast, Scale, Unit};
use crate::legacy::{self, Group};
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

/// Usable logs of a cell by sitting; observations without one count as a single sitting.
fn logs_by_sitting(cell: &Cell) -> Vec<Vec<f64>> {
    let mut sittings: BTreeMap<Option<u32>, Vec<f64>> = BTreeMap::new();
    for observation in cell.observations.iter().filter(|o| o.value.is_finite() && o.value > 0.0) {
        sittings.entry(observation.sitting).or_default().push(observation.value.ln());
    }
    sittings.into_values().collect()
}

/// A configuration's sittings, reduced.
struct Side {
    means: Vec<f64>,
    /// Sum of squares within sittings and its degrees of freedom.
    within: f64,
    df: f64,
    /// Sum of 1/n over sittings, divided by their number squared: the variance of the mean per unit of variance.
    weight: f64,
    invocations: usize,
}

impl Side {
    fn of(cell: &Cell) -> Option<Side> {
        let sittings = logs_by_sitting(cell);
        if sittings.is_empty() {
            return None;
        }
        let s = sittings.len() as f64;
        let mut side = Side { means: Vec::new(), within: 0.0, df: 0.0, weight: 0.0, invocations: 0 };
        for logs in &sittings {
            let (mean, variance) = mean_and_variance(logs);
            let n = logs.len() as f64;
            side.means.push(mean);
            side.within += variance * (n - 1.0);
            side.df += n - 1.0;
            side.weight += 1.0 / n / (s * s);
            side.invocations += logs.len();
        }
        Some(side)
    }

    fn mean(&self) -> f64 {
        self.means.iter().sum::<f64>() / self.means.len() as f64
    }
}

/// Contrast over sittings and where its between-sitting deviation came from; `None` when a side is missing or no
/// error can be had.
pub fn contrast(
    metric: &Measured,
    base: usize,
    other: usize,
    options: &Options,
) -> Option<(Contrast, TauSource)> {
    let sides: Vec<Option<Side>> = metric.cells.iter().map(Side::of).collect();
    let (a, b) = (sides[base].as_ref()?, sides[other].as_ref()?);
    if a.means.len().min(b.means.len()) >= ENOUGH_SITTINGS {
        return over_sittings(metric, &sides, base, other).map(|contrast| (contrast, TauSource::Seen));
    }
    let assumed = if metric.control { options.default_control_tau } else { options.default_tau };
    let (source, tau, tau_df) = match metric.tau.filter(|tau| tau.sittings >= 2 && tau.sd.is_finite()) {
        Some(tau) => (TauSource::History(tau), tau.sd, Some(f64::from(tau.sittings) - 1.0)),
        None => (TauSource::Default(assumed), assumed, None),
    };
    let df: f64 = sides.iter().flatten().map(|side| side.df).sum();
    if df <= 0.0 {
        return None;
    }
    let variance = sides.iter().flatten().map(|side| side.within).sum::<f64>() / df;
    let within = variance * (a.weight + b.weight);
    let between = tau * tau * (1.0 / a.means.len() as f64 + 1.0 / b.means.len() as f64);
    let contrast = Contrast {
        effect: b.mean() - a.mean(),
        se: (within + between).sqrt(),
        df: combined_df(within, df, between, tau_df),
        widening: 0.0,
        scale: Scale::Log,
        n: a.means.len().min(b.means.len()),
        unit: Unit::Sittings,
        floored: false,
    };
    Some((contrast, source))
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

fn over_sittings(metric: &Measured, sides: &[Option<Side>], base: usize, other: usize) -> Option<Contrast> {
    let group = |(side, cell): (&Option<Side>, &Cell)| {
        let side = side.as_ref()?;
        let (mean, variance) = mean_and_variance(&side.means);
        // sittings aren't printed numbers; the digits matter only where nothing moved at all
        let step = if variance == 0.0 { Group::of(cell, metric.quantum)?.step } else { 0.0 };
        Some(Group { logs: side.means.clone(), mean, variance, step, ends: (mean, mean) })
    };
    let groups: Vec<Option<Group>> = sides.iter().zip(&metric.cells).map(group).collect();
    legacy::contrast(&groups, base, other).map(|contrast| Contrast { unit: Unit::Sittings, ..contrast })
}

/// Invocations of the smaller side: with one there is no verdict, with two only a suggestion.
pub fn smallest_side(metric: &Measured, base: usize, other: usize) -> usize {
    let count = |c: usize| Side::of(&metric.cells[c]).map_or(0, |side| side.invocations);
    count(base).min(count(other))
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

    fn metric(base: &[&[f64]], other: &[&[f64]]) -> Measured {
        Measured::new("m", Direction::Smaller, vec![cell(base), cell(other)])
    }

    #[test]
    fn one_sitting_each_carries_the_default_between_sitting_variance() {
        let metric = metric(&[&[100.0, 100.1, 99.9, 100.0]], &[&[101.0, 101.1, 100.9, 101.0]]);
        let (contrast, source) = contrast(&metric, 0, 1, &Options::default()).unwrap();
        assert_eq!(source, TauSource::Default(0.01));
        assert!(contrast.se > 0.01 * 2.0f64.sqrt() && contrast.se < 0.0142);
        assert!(contrast.p() > 0.3, "1 % between two sittings is no finding");
        let control = Measured { control: true, ..metric };
        let (control, source) = super::contrast(&control, 0, 1, &Options::default()).unwrap();
        assert_eq!(source, TauSource::Default(0.003));
        assert!(control.se < 0.0045);
    }

    #[test]
    fn three_sittings_a_side_use_their_own_spread() {
        let metric = metric(
            &[&[100.0, 100.2], &[103.0, 103.2], &[97.0, 97.2]],
            &[&[100.0, 100.2], &[103.0, 103.2], &[97.0, 97.2]],
        );
        let (contrast, source) = contrast(&metric, 0, 1, &Options::default()).unwrap();
        assert_eq!(source, TauSource::Seen);
        assert_eq!((contrast.n, contrast.df, contrast.effect), (3, 4.0, 0.0));
        assert!((contrast.se - 0.03 * (2.0f64 / 3.0).sqrt()).abs() < 5e-4);
    }

    #[test]
    fn history_brings_its_own_degrees_of_freedom() {
        let mut metric = metric(&[&[100.0, 100.1, 99.9]], &[&[105.0, 105.1, 104.9]]);
        metric.tau = Some(Tau { sd: 0.02, sittings: 4 });
        let (contrast, source) = contrast(&metric, 0, 1, &Options::default()).unwrap();
        assert!(matches!(source, TauSource::History(_)));
        assert!((contrast.df - 3.0).abs() < 0.1, "the four sittings' three dominate: {}", contrast.df);
        assert_eq!(smallest_side(&metric, 0, 1), 3);
    }
}
