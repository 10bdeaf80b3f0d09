//! What must be said below a table.

use crate::row::{Pair, Row};
use crate::sittings::TauSource;
use crate::table::Layout;
use crate::verdict::Flag;
use crate::{blocks, judge, legacy, maxt};

/// What the way of taking the numbers means for this pair.
pub(crate) fn of_layout(pair: &Pair<'_>, rows: &[Row]) -> Vec<String> {
    let name = |c: usize| &pair.table.configurations[c].name;
    let (base, other) = (name(pair.base), name(pair.other));
    let mut notes = Vec::new();
    if pair.options.exact && rows.iter().all(|row| row.p_exact.is_none()) {
        notes.push(format!(
            "the exact test needs {} blocks or more: decided by t and Holm",
            maxt::FEWEST_BLOCKS
        ));
    }
    match &pair.table.layout {
        Layout::Blocks(plan) => {
            let measured = blocks::numbers(pair.table).len() as u32;
            if let Some(&last) = plan.looks.iter().max().filter(|&&last| measured > last) {
                notes.push(format!("{measured} blocks measured, the plan ends at {last}: the rest is not used"));
            }
        }
        Layout::Sequential => notes.push(format!(
            "uncontrolled order: all of {base} and all of {other} ran one after the other, so a drift and an effect are the same data"
        )),
        Layout::Sittings => {
            notes.push(format!("uncontrolled order: stored records, not interleaved; {}", tau_note(rows)));
            let assumed = rows.iter().any(|row| matches!(row.tau, Some(TauSource::Default(_))));
            notes.extend(judge::busy(pair).filter(|_| assumed));
        }
        Layout::Unknown => {
            notes.push("uncontrolled order: order of runs unknown, boots unknown".to_owned());
            let n = |side: fn(&Row) -> usize| rows.iter().map(side).max().unwrap_or(0);
            let (na, nb) = (n(|r| r.base.n), n(|r| r.other.n));
            if na > 0 && nb > 0 {
                let p = legacy::smallest_rank_p(na, nb);
                notes.push(format!("smallest p a rank test could reach with {na} + {nb} runs: {p:.2}"));
            }
        }
    }
    if pair.table.configurations[pair.base].one_boot || pair.table.configurations[pair.other].one_boot {
        notes.push("these runs differ or agree; kernel, boot and build cannot be told apart".to_owned());
    }
    notes
}

fn tau_note(rows: &[Row]) -> String {
    let mut defaults: Vec<f64> = Vec::new();
    let (mut history, mut seen) = (0, 0);
    for row in rows {
        match row.tau {
            Some(TauSource::Default(sd)) => defaults.push(100.0 * sd),
            Some(TauSource::History(_)) => history += 1,
            Some(TauSource::Seen) => seen += 1,
            None => {}
        }
    }
    defaults.sort_by(f64::total_cmp);
    defaults.dedup();
    let mut parts = Vec::new();
    if !defaults.is_empty() {
        let list: Vec<String> = defaults.iter().map(|pct| format!("{pct} %")).collect();
        parts.push(format!("between sittings an assumed deviation of {} (no history)", list.join(" or ")));
    }
    if history > 0 {
        parts.push(format!("between-sitting deviation from history for {history} metrics"));
    }
    if seen > 0 {
        parts.push(format!("between-sitting deviation seen in the records for {seen} metrics"));
    }
    if parts.is_empty() { "no row with an error".to_owned() } else { parts.join("; ") }
}

/// Findings of single rows that no flag word covers.
pub(crate) fn of_rows(rows: &[Row]) -> Vec<String> {
    let mut notes = Vec::new();
    for row in rows {
        let name = &row.metric;
        if row.broken_exact {
            let why = if row.has(Flag::ScaledCounter) { "scaled up" } else { "repetitions differ" };
            notes.push(format!("{name}: declared exact, but {why}; compared as an estimate"));
        }
        if let Some(test) = row.set_aside.filter(|test| test.differs()) {
            let (a, b) = (100.0 * test.base.fraction(), 100.0 * test.other.fraction());
            notes.push(format!("{name}: shares of set-aside samples differ ({a:.1} % against {b:.1} %)"));
        }
        if let Some(modes) = row.modes.filter(|modes| modes.p_shares_adjusted < 0.01) {
            let (a, b) = (modes.base_high, modes.other_high);
            notes.push(format!(
                "{name}: the two modes are visited differently often ({}/{} against {}/{} in the upper one)",
                a.count, a.total, b.count, b.total
            ));
        }
    }
    notes
}
