//! The comparison: all rows of all pairs, and what they amount to.

use crate::decide;
use crate::evidence::{Draft, Evidence};
use crate::reduced::Reduced;
use crate::row::{self, Borrowed, Pair, Row};
use crate::sittings::TauSource;
use crate::student;
use crate::table::{Layout, Options, Table};
use crate::trimmed::{self, Location};
use crate::verdict::{Flag, Verdict};
use crate::{holm, judge, notes};

/// How many rows got which word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Better.
    pub better: usize,
    /// Worse.
    pub worse: usize,
    /// Equivalent, real but small included.
    pub equivalent: usize,
    /// Inconclusive.
    pub inconclusive: usize,
    /// Exact counts, same or not.
    pub exact: usize,
    /// Different in a metric without a known direction.
    pub differs: usize,
}

/// One pair of configurations, compared over the whole table.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Base's index in the table.
    pub base: usize,
    /// Other's index in the table.
    pub other: usize,
    /// One row per metric, in the table's order.
    pub rows: Vec<Row>,
    /// Words counted over all rows.
    pub counts: Counts,
    /// False when a control moved or the caller says so.
    pub comparable: bool,
    /// What must be said beside the table.
    pub notes: Vec<String>,
    /// Geometric mean of the costs other/base over metrics with a direction that are no controls (bandwidths
    /// inverted), as a log ratio over blocks; blocks only.
    pub mean_cost: Option<Location>,
    /// Exit code of this pair alone (0, 1, 3 or 4).
    pub exit_code: u8,
}

/// All pairs asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// One per pair, in the order asked for.
    pub comparisons: Vec<Comparison>,
    /// True when the order of runs was drawn.
    pub controlled_order: bool,
    /// False when any pair is not comparable.
    pub comparable: bool,
    /// Exit code: 4 before 1 before 3 before 0.
    pub exit_code: u8,
}

/// Compares `pairs` of (base, other) configurations of a table.
///
/// ```
/// use stats::{Cell, Configuration, Direction, Layout, Measured, Observation, Options, Plan, Table};
///
/// let cell = |values: [f64; 4]| Cell {
///     observations: (1..).zip(values).map(|(block, v)| Observation::in_block(v, block, 0)).collect(),
///     summary: None,
/// };
/// let fork = vec![cell([100.0, 101.0, 99.0, 100.5]), cell([110.1, 111.0, 109.2, 110.6])];
/// let table = Table {
///     configurations: vec![Configuration::named("A"), Configuration::named("B")],
///     metrics: vec![Measured::new("proc.fork", Direction::Smaller, fork)],
///     layout: Layout::Blocks(Plan::fixed()),
/// };
/// let report = stats::compare(&table, &[(0, 1)], &Options::default());
/// let comparison = &report.comparisons[0];
/// assert!(comparison.rows[0].words().starts_with("worse: +10.09 % ["));
/// assert_eq!(report.exit_code, 1);
/// for step in stats::explain(&table, comparison, 0) {
///     println!("{step}");
/// }
/// ```
///
/// # Panics
/// When a pair names a configuration that is not in the table, or a metric does not have one cell per configuration.
pub fn compare(table: &Table, pairs: &[(usize, usize)], options: &Options) -> Report {
    let reduced = Reduced::all(table);
    let drafts = decide::decide(&reduced, table, pairs, options);
    let joint: usize = drafts.iter().map(|pair| family_of(pair)).sum();
    let comparisons: Vec<Comparison> = pairs
        .iter()
        .zip(&drafts)
        .map(|(&(base, other), drafts)| {
            let family = if decide::only_summaries(table) { joint } else { family_of(drafts) };
            let pair = Pair { table, base, other, options, alpha: decide::alpha(table), family };
            comparison(&pair, &reduced, drafts)
        })
        .collect();
    // Not even a pair, and there is a reason.
    let nothing_left = comparisons.is_empty() && !options.not_comparable.is_empty();
    let worst = |code: u8| [0, 3, 1, 4].iter().position(|&c| c == code);
    Report {
        controlled_order: table.layout.controlled(),
        comparable: comparisons.iter().all(|c| c.comparable) && !nothing_left,
        exit_code: comparisons
            .iter()
            .map(|c| c.exit_code)
            .max_by_key(|&code| worst(code))
            .unwrap_or(if nothing_left { 4 } else { 0 }),
        comparisons,
    }
}

fn family_of(drafts: &[Draft]) -> usize {
    drafts.iter().filter(|draft| draft.contrast().is_some()).count()
}

fn comparison(pair: &Pair<'_>, metrics: &[Reduced<'_>], drafts: &[Draft]) -> Comparison {
    let mut rows: Vec<Row> =
        metrics.iter().zip(drafts).map(|(metric, draft)| row::measure(pair, metric, draft)).collect();
    adjust_findings(&mut rows);
    watch(&mut rows);
    lend_noise(pair, metrics, drafts, &mut rows);
    for ((metric, draft), row) in metrics.iter().zip(drafts).zip(&mut rows) {
        judge::judge(pair, metric, draft, row);
    }
    survive(pair, &mut rows);
    let counts = count(&rows);
    let moved: Vec<&str> =
        rows.iter().filter(|r| r.has(Flag::ControlsMoved)).map(|r| r.metric.as_str()).collect();
    let comparable = moved.is_empty() && pair.options.not_comparable.is_empty();
    let mut said = pair.options.not_comparable.clone();
    if !moved.is_empty() {
        said.push(format!("not comparable: controls moved ({})", moved.join(", ")));
    }
    said.extend(notes::of_layout(pair, &rows));
    said.extend(notes::of_rows(&rows));
    let exit_code = exit_code(pair, &rows, comparable);
    let mean_cost = mean_cost(pair, metrics);
    Comparison {
        base: pair.base,
        other: pair.other,
        rows,
        counts,
        comparable,
        notes: said,
        mean_cost,
        exit_code,
    }
}

/// Flags are findings too: each kind is corrected over the table.
fn adjust_findings(rows: &mut [Row]) {
    fn correct<T>(
        rows: &mut [Row],
        get: fn(&mut Row) -> Option<&mut T>,
        p: fn(&T) -> f64,
        set: fn(&mut T, f64),
    ) {
        let mut found: Vec<&mut T> = rows.iter_mut().filter_map(get).collect();
        let adjusted = holm::holm(&found.iter().map(|one| p(one)).collect::<Vec<_>>());
        found.iter_mut().zip(adjusted).for_each(|(one, p)| set(one, p));
    }
    correct(rows, |r| r.drift.as_mut(), |d| d.p, |d, p| d.p_adjusted = p);
    correct(rows, |r| r.tail.as_mut(), |t| t.p, |t, p| t.p_adjusted = p);
    correct(rows, |r| r.set_aside.as_mut(), |t| t.p, |t, p| t.p_adjusted = p);
    correct(rows, |r| r.modes.as_mut(), |m| m.p_shares, |m, p| m.p_shares_adjusted = p);
}

fn watch(rows: &mut [Row]) {
    let p: Vec<f64> = rows.iter().filter_map(|row| row.p).collect();
    for (row, watched) in rows.iter_mut().filter(|row| row.p.is_some()).zip(holm::benjamini_hochberg(&p)) {
        row.p_watch = Some(watched);
    }
}

/// Lends rows with a single run the noise that is known: of the history, of the controls' own movement, of the other
/// rows' spread; never less than the row's own.
fn lend_noise(pair: &Pair<'_>, metrics: &[Reduced<'_>], drafts: &[Draft], rows: &mut [Row]) {
    let rms = |squares: &[f64]| (squares.iter().sum::<f64>() / squares.len() as f64).sqrt();
    let controls: Vec<f64> = rows
        .iter()
        .filter(|r| r.control)
        .filter_map(|r| r.ratio.filter(|x| *x > 0.0))
        .map(|r| r.ln().powi(2))
        .collect();
    let own_sd = |metric: &Reduced<'_>| metric.pooled.map(|pooled| pooled.variance.sqrt());
    let spreads: Vec<f64> = metrics.iter().filter_map(|metric| metric.pooled).map(|p| p.variance).collect();
    let shared = if controls.is_empty() {
        (!spreads.is_empty()).then(|| (rms(&spreads), "of the other rows"))
    } else {
        Some((rms(&controls), "of the controls"))
    };
    for ((metric, draft), row) in metrics.iter().zip(drafts).zip(rows) {
        let Evidence::OneRun(effect) = draft.evidence else { continue };
        let history = metric.metric.tau.map(|tau| (tau.sd, "of its history"));
        let own = own_sd(metric).map(|sd| (sd, "of its own runs"));
        let largest = [history.or(shared), own].into_iter().flatten().filter(|(sd, _)| *sd > 0.0);
        row.borrowed = largest.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(sd, source)| {
            let gap = metric.pair(pair.base, pair.other).map_or(effect.abs(), |(a, b)| a.gap(b));
            Borrowed { sd, source, times: gap / sd }
        });
    }
}

/// Fills in `survives_boot_sd_pct` of significant rows where boot and kernel can't be told apart.
///
/// Holm rejects, at a given boot deviation, the same rows in whatever order its steps are taken; so each step can take
/// the row that lives longest at its multiplier, and a row survives up to the smallest deviation met on its way.
fn survive(pair: &Pair<'_>, rows: &mut [Row]) {
    let configurations = &pair.table.configurations;
    if !configurations[pair.base].one_boot && !configurations[pair.other].one_boot {
        return;
    }
    let sequential = matches!(&pair.table.layout, Layout::Blocks(plan) if !plan.looks.is_empty());
    let mut left: Vec<usize> = (0..rows.len()).filter(|&i| rows[i].contrast.is_some()).collect();
    let family = pair.family;
    let mut survives = f64::INFINITY;
    for step in 0..left.len() {
        let multiplier = if sequential { family } else { family - step };
        let alive = |i: usize| boot_variance_survived(&rows[i], pair.alpha / multiplier as f64);
        let Some((place, variance)) = left
            .iter()
            .map(|&i| alive(i))
            .enumerate()
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .filter(|(_, v)| *v > 0.0)
        else {
            break;
        };
        survives = survives.min(variance.sqrt());
        rows[left.swap_remove(place)].survives_boot_sd_pct = Some(100.0 * survives);
    }
    for row in rows.iter_mut().filter(|row| row.verdict == Verdict::Inconclusive) {
        row.survives_boot_sd_pct = None;
    }
}

/// Variance per side that can be added before the row's own p value reaches `level`; negative when it has already.
fn boot_variance_survived(row: &Row, level: f64) -> f64 {
    let Some(contrast) = &row.contrast else { return -1.0 };
    let beyond_rounding = contrast.effect.abs() - contrast.widening;
    if beyond_rounding <= 0.0 {
        return -1.0;
    }
    let se = beyond_rounding / student::t_upper(level / 2.0, contrast.df);
    (se * se - contrast.se * contrast.se) / 2.0
}

fn count(rows: &[Row]) -> Counts {
    let of = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    Counts {
        better: of(Verdict::Better),
        worse: of(Verdict::Worse),
        equivalent: of(Verdict::Equivalent),
        inconclusive: of(Verdict::Inconclusive),
        exact: of(Verdict::Exact),
        differs: of(Verdict::Differs),
    }
}

/// Exit code of one pair.
fn exit_code(pair: &Pair<'_>, rows: &[Row], comparable: bool) -> u8 {
    let options = pair.options;
    let assumed = rows.iter().any(|row| matches!(row.tau, Some(TauSource::Default(_))));
    let uncontrolled = match pair.table.layout {
        Layout::Blocks(_) => false,
        Layout::Sittings => assumed,
        Layout::Sequential | Layout::Unknown => true,
    };
    if !comparable || uncontrolled && !options.accept_uncontrolled {
        return 4;
    }
    let gated = || rows.iter().filter(|row| row.gated);
    if gated().any(|row| row.verdict == Verdict::Worse || row.exact_worse()) {
        return 1;
    }
    let open = gated().any(|row| matches!(row.verdict, Verdict::Inconclusive | Verdict::Differs));
    if open && !options.allow_inconclusive { 3 } else { 0 }
}

/// Mean over metrics of the cost change in each block, then the trimmed mean over blocks.
fn mean_cost(pair: &Pair<'_>, metrics: &[Reduced<'_>]) -> Option<Location> {
    use crate::table::Direction;
    if !pair.table.layout.controlled() {
        return None;
    }
    let mut sums: std::collections::BTreeMap<u32, (f64, usize)> = std::collections::BTreeMap::new();
    let mut measured = 0;
    for metric in metrics.iter().filter(|m| !m.metric.control && m.metric.direction != Direction::None) {
        let differences = metric.differences(pair.base, pair.other, u32::MAX);
        measured += usize::from(!differences.is_empty());
        let sign = if metric.metric.direction == Direction::Bigger { -1.0 } else { 1.0 };
        for (block, difference) in differences {
            let entry = sums.entry(block).or_default();
            entry.0 += sign * difference;
            entry.1 += 1;
        }
    }
    // only blocks in which every metric was measured: a mean over other metrics is another mean
    let whole: Vec<f64> =
        sums.into_values().filter(|(_, n)| *n == measured).map(|(sum, n)| sum / n as f64).collect();
    trimmed::tenth(&whole).filter(|location| location.n >= 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Cell, Configuration, Direction, Measured};

    /// Twelve rows with effects from 1 to 12 % and spreads that rise and fall, so that their order changes with the
    /// boot deviation.
    fn one_boot_table() -> Table {
        let cell =
            |level: f64, spread: f64| Cell::of(&[level, level * (1.0 + spread), level * (1.0 - spread)]);
        let metric = |i: u32| {
            let spread = [0.001, 0.004, 0.0005][i as usize % 3];
            let change = 1.0 + 0.01 * f64::from(i);
            Measured::new(
                format!("m{i}"),
                Direction::Smaller,
                vec![cell(100.0, spread), cell(100.0 * change, spread)],
            )
        };
        let boot = |name: &str| Configuration { one_boot: true, ..Configuration::named(name) };
        Table {
            configurations: vec![boot("A"), boot("B")],
            metrics: (1..=12).map(metric).collect(),
            layout: Layout::Unknown,
        }
    }

    #[test]
    fn rows_survive_exactly_up_to_the_boot_deviation_named() {
        let report = compare(&one_boot_table(), &[(0, 1)], &Options::default());
        let rows = &report.comparisons[0].rows;
        let significant_with = |boot_sd: f64, row: usize| {
            let with_boot = |row: &Row| {
                let contrast = row.contrast.unwrap();
                let se = (contrast.se * contrast.se + 2.0 * boot_sd * boot_sd).sqrt();
                crate::Contrast { se, ..contrast }.p()
            };
            holm::holm(&rows.iter().map(with_boot).collect::<Vec<_>>())[row] < 0.05
        };
        let mut checked = 0;
        for (i, row) in rows.iter().enumerate() {
            if let Some(pct) = row.survives_boot_sd_pct {
                assert!(significant_with(pct / 100.0 * 0.999, i), "{} dies before {pct}", row.metric);
                assert!(!significant_with(pct / 100.0 * 1.001, i), "{} outlives {pct}", row.metric);
                checked += 1;
            }
        }
        assert!(checked >= 9, "{checked}");
        assert!(rows[0].survives_boot_sd_pct < rows[11].survives_boot_sd_pct);
    }
}
