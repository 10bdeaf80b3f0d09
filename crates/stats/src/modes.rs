//! Two modes: values that fall into two groups, whichever configuration they come from.

use crate::legacy::Group;
use crate::table::Share;
use crate::trimmed::mean_and_variance;
use crate::{fisher, student};

/// Distance of the modes in within-mode standard deviations from which they count as two.
const SEPARATION: f64 = 7.0;
/// Gap between the modes, in largest gaps inside them.
const GAP: f64 = 2.0;
/// Smallest distance of the modes, as a difference of logs (3 %).
const DISTANCE: f64 = 0.03;
/// Members each mode needs.
const MEMBERS: usize = 2;

/// Two modes of one metric, and how two configurations share them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// Location of the lower mode, in the metric's unit.
    pub low: f64,
    /// Location of the upper mode, in the metric's unit.
    pub high: f64,
    /// Base's invocations in the upper mode.
    pub base_high: Share,
    /// Other's invocations in the upper mode.
    pub other_high: Share,
    /// Fisher's p value that both visit the upper mode equally often.
    pub p_shares: f64,
    /// The same, adjusted over the table's two-mode rows (filled in by the comparison).
    pub p_shares_adjusted: f64,
    /// Ratio other/base within the same mode with its 95 % interval; `None` when no mode has members of both.
    pub within: Option<(f64, f64, f64)>,
}

/// Log at which the values of all configurations together split into two modes, or `None`.
pub fn threshold(groups: &[Option<Group>]) -> Option<f64> {
    let step = groups.iter().flatten().map(|group| group.step).fold(0.0, f64::max);
    let groups: Vec<&[f64]> = groups.iter().flatten().map(|group| group.logs.as_slice()).collect();
    let mut all: Vec<f64> = groups.iter().copied().flatten().copied().collect();
    all.sort_by(f64::total_cmp);
    let n = all.len();
    if n < 2 * MEMBERS {
        return None;
    }
    let cut = best_cut(&all)?;
    let ((low, low_variance), (high, high_variance)) =
        (mean_and_variance(&all[..cut]), mean_and_variance(&all[cut..]));
    let squares = low_variance * (cut - 1) as f64 + high_variance * (n - cut - 1) as f64;
    let within_sd = (squares / (n - 2) as f64).sqrt().max(step / 12.0_f64.sqrt());
    let gap = all[cut] - all[cut - 1];
    let inner = all
        .windows(2)
        .enumerate()
        .filter(|(i, _)| i + 1 != cut)
        .map(|(_, w)| w[1] - w[0])
        .fold(step, f64::max);
    let threshold = (all[cut] + all[cut - 1]) / 2.0;
    let mixed = groups.iter().any(|group| {
        let above = group.iter().filter(|&&x| x > threshold).count();
        above > 0 && above < group.len()
    });
    let two = high - low >= SEPARATION * within_sd && gap >= GAP * inner && high - low >= DISTANCE && mixed;
    two.then_some(threshold)
}

/// Size of the lower part of the split with the smallest sum of squares within, each part with enough members.
fn best_cut(sorted: &[f64]) -> Option<usize> {
    let n = sorted.len();
    let total: f64 = sorted.iter().sum();
    let mut below = 0.0;
    let mut best: Option<(f64, usize)> = None;
    for (cut, value) in sorted.iter().enumerate() {
        // largest sum of squares between the parts is smallest within
        if cut >= MEMBERS && n - cut >= MEMBERS {
            let (a, b) = (cut as f64, (n - cut) as f64);
            let distance = below / a - (total - below) / b;
            let between = a * b * distance * distance;
            if best.is_none_or(|(most, _)| between > most) {
                best = Some((between, cut));
            }
        }
        below += value;
    }
    best.map(|(_, cut)| cut)
}

/// How two configurations share the modes below and above `threshold`; `None` when they are in one of them only.
pub fn share(base: &Group, other: &Group, threshold: f64) -> Option<Modes> {
    let pair = [&base.logs, &other.logs];
    let share = |logs: &[f64]| Share {
        count: logs.iter().filter(|&&x| x > threshold).count() as u64,
        total: logs.len() as u64,
    };
    let (base_high, other_high) = (share(pair[0]), share(pair[1]));
    let members = base_high.count + other_high.count;
    if members == 0 || members == base_high.total + other_high.total {
        return None;
    }
    let all: Vec<f64> = pair.into_iter().flatten().copied().collect();
    let (low, high): (Vec<f64>, Vec<f64>) = all.iter().partition(|&&x| x <= threshold);
    let p_shares = fisher::two_sided_p(base_high, other_high);
    Some(Modes {
        low: mean_and_variance(&low).0.exp(),
        high: mean_and_variance(&high).0.exp(),
        base_high,
        other_high,
        p_shares,
        p_shares_adjusted: p_shares,
        within: within_mode_ratio(pair[0], pair[1], threshold),
    })
}

/// Difference of the two sides inside each mode, weighted by what each mode can tell, with a pooled error.
fn within_mode_ratio(base: &[f64], other: &[f64], threshold: f64) -> Option<(f64, f64, f64)> {
    let (mut weights, mut effect, mut squares, mut df) = (0.0, 0.0, 0.0, 0.0);
    for upper in [false, true] {
        let pick = |logs: &[f64]| -> Vec<f64> {
            logs.iter().copied().filter(|&x| (x > threshold) == upper).collect()
        };
        let (a, b) = (pick(base), pick(other));
        if a.is_empty() || b.is_empty() {
            continue;
        }
        let ((mean_a, var_a), (mean_b, var_b)) = (mean_and_variance(&a), mean_and_variance(&b));
        let (na, nb) = (a.len() as f64, b.len() as f64);
        let weight = na * nb / (na + nb);
        weights += weight;
        effect += weight * (mean_b - mean_a);
        squares += var_a * (na - 1.0) + var_b * (nb - 1.0);
        df += na + nb - 2.0;
    }
    if weights == 0.0 {
        return None;
    }
    let effect = effect / weights;
    let half =
        if df > 0.0 { student::t_upper(0.025, df) * (squares / df / weights).sqrt() } else { f64::INFINITY };
    Some((effect.exp(), (effect - half).exp(), (effect + half).exp()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::legacy;
    use crate::table::{Cell, Direction, Measured, Observation};

    fn find(cells: &[Cell], base: usize, other: usize) -> Option<Modes> {
        let groups = legacy::groups(&Measured::new("m", Direction::Smaller, cells.to_vec()));
        share(groups[base].as_ref()?, groups[other].as_ref()?, threshold(&groups)?)
    }

    /// TCP bandwidth of the 2002 table, none / one / two pins: ~30 and ~62 MB/s in two of the three kernels.
    fn tcp_2002() -> Vec<Cell> {
        vec![Cell::of(&[29.3, 59.9, 29.4]), Cell::of(&[31.5, 30.8, 31.6]), Cell::of(&[32.0, 62.7, 64.6])]
    }

    #[test]
    fn the_2002_tcp_row_has_two_modes() {
        let modes = find(&tcp_2002(), 0, 2).unwrap();
        assert!((modes.low - 30.2).abs() < 0.5 && (modes.high - 62.4).abs() < 0.5, "{modes:?}");
        assert_eq!((modes.base_high.count, modes.other_high.count), (1, 2));
        assert!(modes.p_shares > 0.5);
        assert!(find(&tcp_2002(), 0, 1).is_some());
    }

    #[test]
    fn a_plain_difference_is_not_two_modes() {
        let cells = [Cell::of(&[100.0, 101.0, 99.5, 100.2]), Cell::of(&[200.0, 201.0, 199.0, 202.0])];
        assert!(find(&cells, 0, 1).is_none(), "no configuration has members in both");
        let noisy = [Cell::of(&[100.0, 104.0, 108.0, 112.0]), Cell::of(&[101.0, 105.0, 109.0, 111.0])];
        assert!(find(&noisy, 0, 1).is_none());
    }

    #[test]
    fn two_printed_neighbours_are_not_two_modes() {
        let cell = |values: &[f64]| Cell {
            observations: values.iter().map(|&v| Observation::printed(v, v - 0.5, v + 0.5)).collect(),
            summary: None,
        };
        assert!(find(&[cell(&[18.0, 19.0, 18.0, 19.0]), cell(&[19.0, 18.0, 18.0, 19.0])], 0, 1).is_none());
    }

    #[test]
    fn the_ratio_within_a_mode_ignores_the_shares() {
        let base = Cell::of(&[30.0, 30.1, 29.9, 30.0, 60.0, 60.2]);
        let other = Cell::of(&[33.0, 33.1, 66.0, 66.2, 65.9, 66.1]);
        let modes = find(&[base, other], 0, 1).unwrap();
        let (ratio, lo, hi) = modes.within.unwrap();
        assert!((ratio - 1.1).abs() < 0.003 && lo > 1.09 && hi < 1.11, "{ratio} {lo} {hi}");
    }
}
