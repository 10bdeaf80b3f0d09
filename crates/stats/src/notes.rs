//! What must be said beside a table: the sentence above it and the notes below.

use crate::compare::Comparison;
use crate::row::{Pair, Row};
use crate::sittings::TauSource;
use crate::table::{Layout, Table};
use crate::verdict::{Flag, Verdict};
use crate::{blocks, legacy, maxt};

impl Comparison {
    /// The whole comparison in one sentence: `B is worse: fork +5.1 % [4.2, 6.0]; 3 better, 1 worse, 41 equivalent, 15
    /// undecided`. Names the largest change of each kind.
    pub fn sentence(&self, table: &Table) -> String {
        let name = |c: usize| table.configurations[c].name.as_str();
        let (base, other) = (name(self.base), name(self.other));
        let largest = |verdict: Verdict| {
            let size = |row: &&Row| row.ratio.map_or(0.0, |ratio| ratio.ln().abs());
            let rows = self.rows.iter().filter(|row| row.verdict == verdict && !row.control);
            rows.max_by(|a, b| size(a).total_cmp(&size(b))).map(named_change)
        };
        let verdict = match (largest(Verdict::Worse), largest(Verdict::Better), largest(Verdict::Differs)) {
            _ if !self.comparable => format!("{other} and {base} are not comparable"),
            (Some(worse), Some(better), _) => format!("{other} is worse ({worse}) and better ({better})"),
            (Some(worse), None, _) => format!("{other} is worse: {worse}"),
            (None, Some(better), _) => format!("{other} is better: {better}"),
            (None, None, Some(change)) => format!("{other} differs: {change}"),
            _ if self.counts.inconclusive == 0 && self.counts.equivalent > 0 => {
                format!("{other} is equivalent to {base}")
            }
            _ => format!("no difference between {other} and {base} is shown"),
        };
        let counts = self.counts;
        let mut sentence = format!(
            "{verdict}; {} better, {} worse, {} equivalent, {} undecided",
            counts.better, counts.worse, counts.equivalent, counts.inconclusive
        );
        for (n, word) in [(counts.exact, "exact"), (counts.differs, "different without a direction")] {
            if n > 0 {
                sentence += &format!(", {n} {word}");
            }
        }
        if !table.layout.controlled() {
            sentence += "; uncontrolled order";
        }
        if self.rows.iter().any(|row| row.has(Flag::OneBoot)) && counts.better + counts.worse > 0 {
            sentence += "; these runs differ; kernel, boot and build cannot be told apart";
        }
        sentence
    }
}

fn named_change(row: &Row) -> String {
    let interval =
        row.ci95.map(|ci| format!(" [{:.1}, {:.1}]", 100.0 * (ci.lo - 1.0), 100.0 * (ci.hi - 1.0)));
    format!("{} {:+.1} %{}", row.metric, row.change_pct().unwrap_or(0.0), interval.unwrap_or_default())
}

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
        Layout::Sittings => notes.push(format!("uncontrolled order: stored records, not interleaved; {}", tau_note(rows))),
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

#[cfg(test)]
mod tests {
    use crate::{Cell, Configuration, Direction, Layout, Measured, Options, Table, compare};

    fn sentence(changes: &[f64], options: &Options) -> String {
        let cell = |level: f64| Cell::of(&[level, level * 1.001, level * 0.999, level]);
        let metric = |(i, change): (usize, &f64)| {
            Measured::new(format!("m{i}"), Direction::Smaller, vec![cell(100.0), cell(100.0 * change)])
        };
        let table = Table {
            configurations: vec![
                Configuration::named("A"),
                Configuration { one_boot: true, ..Configuration::named("B") },
            ],
            metrics: changes.iter().enumerate().map(metric).collect(),
            layout: Layout::Unknown,
        };
        compare(&table, &[(0, 1)], options).comparisons[0].sentence(&table)
    }

    #[test]
    fn the_largest_change_leads() {
        let plain = Options::default();
        let worse = sentence(&[1.05, 1.10, 1.0], &plain);
        assert!(worse.starts_with("B is worse: m1 +10.0 % [9."), "{worse}");
        assert!(
            worse.contains(
                "; 0 better, 2 worse, 1 equivalent, 0 undecided; uncontrolled order; these runs differ"
            ),
            "{worse}"
        );
        assert!(sentence(&[1.05, 0.9], &plain).starts_with("B is worse (m0 +5.0 % [4."));
        assert!(sentence(&[0.9], &plain).starts_with("B is better: m0 -10.0 %"));
        assert!(sentence(&[1.0], &plain).starts_with("B is equivalent to A; 0 better"));
        assert!(sentence(&[], &plain).starts_with("no difference between B and A is shown"));
        let void = Options { not_comparable: vec!["other method".to_owned()], ..plain };
        assert!(sentence(&[1.10], &void).starts_with("B and A are not comparable; 0 better, 1 worse"));
    }
}
