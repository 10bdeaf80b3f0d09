//! The noise floor of a machine: what comparing a state with itself says, and what a real change must reach to show.

use crate::compare::Comparison;
use crate::table::{Cell, Configuration, Layout, Measured, Observation, Plan, Table};
use crate::verdict::Verdict;
use crate::{blocks, student, trimmed};

/// Minutes for which the smallest visible change is given.
pub const MINUTES: [f64; 3] = [5.0, 10.0, 30.0];

/// A state compared with itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AaCheck {
    /// Metrics compared.
    pub metrics: usize,
    /// Those that got a better or worse (or differs) although nothing differs.
    pub false_alarms: Vec<String>,
    /// More than one of them: verdicts taken in this environment can't be trusted.
    pub rejected: bool,
}

/// Reads a comparison of two arms that are the same build and the same state.
pub fn aa_check(comparison: &Comparison) -> AaCheck {
    let alarm = |v: Verdict| matches!(v, Verdict::Better | Verdict::Worse | Verdict::Differs);
    let false_alarms: Vec<String> =
        comparison.rows.iter().filter(|row| alarm(row.verdict)).map(|row| row.metric.clone()).collect();
    let metrics = comparison.rows.iter().filter(|row| row.ratio.is_some()).count();
    AaCheck { metrics, rejected: false_alarms.len() > 1, false_alarms }
}

/// One configuration of a block table split into its odd and even blocks, which can be compared like two arms
/// (configuration 0 against 1) when there was no third arm. The plan is a fixed one at 5 %: there was one look.
pub fn odd_even(table: &Table, configuration: usize) -> Table {
    let numbers = blocks::numbers(table);
    let split = |metric: &Measured| {
        let mut halves = vec![Cell::default(), Cell::default()];
        for observation in &metric.cells[configuration].observations {
            if let Some(place) = observation.block.and_then(|block| numbers.binary_search(&block).ok()) {
                let pair = (place / 2) as u32 + 1;
                halves[place % 2].observations.push(Observation { block: Some(pair), ..*observation });
            }
        }
        Measured { cells: halves, ..metric.clone() }
    };
    let name = &table.configurations[configuration].name;
    Table {
        configurations: ["odd", "even"]
            .map(|half| Configuration::named(format!("{name} ({half} blocks)")))
            .to_vec(),
        metrics: table.metrics.iter().map(split).collect(),
        layout: Layout::Blocks(Plan::fixed()),
    }
}

/// What one metric can show here in a given time.
#[derive(Clone, Debug, PartialEq)]
pub struct SmallestChange {
    /// Metric's name.
    pub metric: String,
    /// Standard deviation of one block's log ratio, per cent; `None` with fewer than two blocks.
    pub block_sd_pct: Option<f64>,
    /// Smallest change, per cent, that shows with 90 % power after 5, 10 and 30 minutes, corrected over the table;
    /// `None` when the time is too short for three blocks.
    pub pct: [Option<f64>; 3],
}

/// Smallest change each metric of an A/A table can show on this machine, from the spread of `base` against `other`
/// in its blocks and the time one block of all metrics takes (`seconds_per_block`, both arms together).
pub fn smallest_changes(
    table: &Table,
    base: usize,
    other: usize,
    seconds_per_block: f64,
) -> Vec<SmallestChange> {
    let family = table.metrics.len();
    let alpha = Plan::fixed().alpha;
    table
        .metrics
        .iter()
        .map(|metric| {
            let logs = |c: usize| blocks::logs_by_block(&metric.cells[c]);
            let differences: Vec<f64> = blocks::differences(&logs(base), &logs(other), u32::MAX)
                .into_iter()
                .map(|(_, d)| d)
                .collect();
            let sd = trimmed::tenth(&differences).filter(|l| l.n >= 2).map(|l| l.se * (l.n as f64).sqrt());
            let in_minutes = |minutes: f64| {
                let blocks = (minutes * 60.0 / seconds_per_block).floor();
                smallest_change_pct(sd?, blocks, family, alpha)
            };
            SmallestChange {
                metric: metric.name.clone(),
                block_sd_pct: sd.map(|sd| 100.0 * sd),
                pct: MINUTES.map(in_minutes),
            }
        })
        .collect()
}

/// (t(1 - α/2m) + t(0.9)) · sd / √blocks, as a per cent change; `None` below three blocks.
fn smallest_change_pct(sd: f64, blocks: f64, family: usize, alpha: f64) -> Option<f64> {
    if !blocks.is_finite() || blocks < 3.0 {
        return None;
    }
    let df = blocks - 1.0;
    let errors = student::t_upper(alpha / 2.0 / family.max(1) as f64, df) + student::t_upper(0.1, df);
    Some(100.0 * (errors * sd / blocks.sqrt()).exp_m1()).filter(|pct| pct.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Noise, Scenario};
    use crate::{Options, compare};

    #[test]
    fn more_time_shows_smaller_changes() {
        let table = Scenario::quiet_aa(5, 10, 3).table();
        let changes = smallest_changes(&table, 0, 1, 30.0);
        assert_eq!(changes.len(), 5);
        for change in &changes {
            let [five, ten, thirty] = change.pct.map(Option::unwrap);
            assert!(five > ten && ten > thirty && thirty > 0.0, "{change:?}");
        }
        let slow = smallest_changes(&table, 0, 1, 200.0);
        assert_eq!(slow[0].pct[0], None, "one block in five minutes shows nothing");
        assert!(slow[0].pct[2].is_some());
    }

    #[test]
    fn odd_and_even_blocks_of_one_state_agree() {
        let table = Scenario { noise: Noise::Typical, ..Scenario::quiet_aa(40, 20, 11) }.table();
        let halves = odd_even(&table, 0);
        assert_eq!(blocks::numbers(&halves).len(), 10);
        let report = compare(&halves, &[(0, 1)], &Options::default());
        let check = aa_check(&report.comparisons[0]);
        assert_eq!((check.metrics, check.rejected), (40, false), "{:?}", check.false_alarms);
    }

    #[test]
    fn a_moving_machine_is_rejected() {
        let scenario = Scenario { effects: vec![0.1; 3], ..Scenario::quiet_aa(20, 12, 5) };
        let report = compare(&scenario.table(), &[(0, 1)], &Options::default());
        let check = aa_check(&report.comparisons[0]);
        assert!(check.rejected && check.false_alarms.len() >= 2);
    }
}
