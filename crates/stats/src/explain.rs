//! How one verdict came about, step by step, with its numbers.

use crate::compare::Comparison;
use crate::contrast::{Contrast, Scale};
use crate::row::{Row, plain};
use crate::sittings::TauSource;
use crate::table::{Layout, Measured, Table};
use crate::verdict::Verdict;
use crate::{blocks, decide, legacy, trimmed};

/// Explains row `metric` (its index) of a comparison made from `table`: one line per step, in order.
///
/// # Panics
/// When the comparison is not one of this table or the index is out of range.
pub fn explain(table: &Table, comparison: &Comparison, metric: usize) -> Vec<String> {
    let row = &comparison.rows[metric];
    let mut steps = vec![inputs(table, comparison, row)];
    steps.extend(how_taken(table, comparison, metric));
    if let Some(exact) = row.exact {
        let change = exact.other.saturating_sub(exact.base);
        steps.push(format!(
            "declared exact and every repetition agrees: {} against {}, {change:+}",
            exact.base, exact.other
        ));
    }
    if row.broken_exact {
        steps.push("declared exact, but repetitions differ: taken as an estimate".to_owned());
    }
    if let Some(contrast) = &row.contrast {
        steps.extend(effect(contrast));
        steps.push(significance(table, comparison, row));
        steps.push(equivalence(table, row, contrast));
    }
    if let Some(noise) = row.borrowed {
        steps.push(format!(
            "one run on a side has no error of its own; the noise {} is {}, and the difference beyond rounding is {:.1} times that",
            noise.source, pct(noise.sd), noise.times
        ));
    }
    steps.extend(findings(row));
    steps.push(conclusion(row));
    steps
}

fn pct(log: f64) -> String {
    format!("{:.3} %", 100.0 * log)
}

fn inputs(table: &Table, comparison: &Comparison, row: &Row) -> String {
    let side = |c: usize, side: &crate::Side| {
        let name = &table.configurations[c].name;
        match (side.value, side.spread_pct) {
            (Some(value), Some(spread)) => {
                format!("{name}: {value:.6} (n = {}, spread {spread:.2} %)", side.n)
            }
            (Some(value), None) => format!("{name}: {value:.6} (n = {})", side.n),
            _ => format!("{name}: not measured"),
        }
    };
    format!("{}: {}; {}", row.metric, side(comparison.base, &row.base), side(comparison.other, &row.other))
}

fn how_taken(table: &Table, comparison: &Comparison, metric: usize) -> Vec<String> {
    let measured = &table.metrics[metric];
    let row = &comparison.rows[metric];
    let (base, other) = (comparison.base, comparison.other);
    if measured.cells[base].summary.is_some() || measured.cells[other].summary.is_some() {
        return vec!["only summaries are known: Welch's test from means and standard errors, each error taken at the top of its printed range".to_owned()];
    }
    match &table.layout {
        Layout::Blocks(_) => block_steps(measured, base, other, row),
        Layout::Sittings => vec![match row.tau {
            Some(TauSource::Seen) => {
                "stored records: one number per sitting, spread taken between sittings".to_owned()
            }
            Some(TauSource::History(tau)) => format!(
                "stored records: between-sitting deviation {} from {} sittings of history added per side",
                pct(tau.sd),
                tau.sittings
            ),
            Some(TauSource::Default(sd)) => format!(
                "stored records: no history, an assumed between-sitting deviation of {} added per side",
                pct(sd)
            ),
            None => "stored records: too little for an error".to_owned(),
        }],
        Layout::Sequential | Layout::Unknown => legacy_steps(table, metric),
    }
}

fn block_steps(measured: &Measured, base: usize, other: usize, row: &Row) -> Vec<String> {
    let look = row
        .look
        .map(|look| format!("; decided at the look after {look} blocks, on those alone"))
        .unwrap_or_default();
    let n = row.contrast.map_or(0, |contrast| contrast.n);
    let logs = |c: usize| blocks::logs_by_block(&measured.cells[c]);
    let differences: Vec<(u32, f64)> =
        blocks::differences(&logs(base), &logs(other), u32::MAX).into_iter().take(n).collect();
    let list: Vec<String> =
        differences.iter().map(|(b, d)| format!("{b}: {:+.2} %", 100.0 * d.exp_m1())).collect();
    let logs: Vec<f64> = differences.iter().map(|(_, d)| *d).collect();
    let cut = trimmed::tenth(&logs).map_or(0, |location| location.cut);
    vec![
        format!("log ratio other/base in each of {n} blocks{look}: {}", list.join(", ")),
        format!("10 % trimmed mean with Yuen's standard error: {cut} cut at each end"),
    ]
}

fn legacy_steps(table: &Table, metric: usize) -> Vec<String> {
    let groups = legacy::groups(&table.metrics[metric]);
    let mut steps = vec!["unblocked runs: logs of the mid-points of the printed intervals, spread pooled over all configurations".to_owned()];
    for (configuration, group) in table.configurations.iter().zip(&groups) {
        let Some(group) = group else { continue };
        steps.push(format!(
            "{}: mean log {:.6}, n = {}, SD {}, rounding step {} (its variance floor {})",
            configuration.name,
            group.mean,
            group.n(),
            pct(group.variance.sqrt()),
            pct(group.step),
            pct(group.step / 12.0_f64.sqrt())
        ));
    }
    if let Some(pooled) = legacy::pool(groups.iter().flatten(), true) {
        steps.push(format!(
            "pooled SD {} with {} degrees of freedom",
            pct(pooled.variance.sqrt()),
            pooled.df
        ));
    }
    steps
}

fn effect(contrast: &Contrast) -> Vec<String> {
    let scale = match contrast.scale {
        Scale::Log => "log ratio",
        Scale::Linear => "relative difference",
    };
    let mut steps = vec![format!(
        "{scale} {:+.6}, standard error {:.6}, {:.2} degrees of freedom",
        contrast.effect, contrast.se, contrast.df
    )];
    if contrast.widening > 0.0 {
        steps.push(format!(
            "rounding alone could explain {}: taken off the test, added to the interval",
            pct(contrast.widening)
        ));
    }
    if contrast.floored {
        steps.push("the spread seen is below what the numbers resolve; the resolution's is used".to_owned());
    }
    let ci = contrast.interval(0.95);
    steps.push(format!("ratio {:.4}, 95 % interval [{:.4}, {:.4}]", contrast.ratio(), ci.lo, ci.hi));
    steps
}

fn significance(table: &Table, comparison: &Comparison, row: &Row) -> String {
    let family = comparison.rows.iter().filter(|row| row.contrast.is_some()).count();
    let method = match &table.layout {
        Layout::Blocks(plan) if !plan.looks.is_empty() => "Bonferroni per look",
        _ if decide::only_summaries(table) => "Holm over all rows of all pairs",
        _ => "Holm",
    };
    let t = row.contrast.map_or(0.0, |contrast| contrast.t());
    let mut text = format!("t = {t:.3}, p = {:.3e}", row.p.unwrap_or(1.0));
    if let Some(adjusted) = row.p_adjusted {
        text += &format!(
            "; adjusted {adjusted:.3e} ({method}, {family} rows of this pair) against {}",
            decide::alpha(table)
        );
    }
    if let Some(exact) = row.p_exact {
        text += &format!("; exact sign-flip p over the table {exact:.4}, which decides");
    }
    text
}

fn equivalence(table: &Table, row: &Row, contrast: &Contrast) -> String {
    let level = 1.0 - 2.0 * decide::alpha(table);
    let ci = contrast.interval(level);
    let tightest = row
        .tightest_pct
        .map_or("none of 0.25, 0.5, 1, 2, 5 %".to_owned(), |pct| format!("±{} %", plain(pct)));
    format!(
        "{:.0} % interval [{:.4}, {:.4}] against a margin of ±{} %; tightest margin that holds: {tightest}",
        100.0 * level,
        ci.lo,
        ci.hi,
        plain(row.margin_pct)
    )
}

fn findings(row: &Row) -> Vec<String> {
    let mut steps = Vec::new();
    if let Some(modes) = &row.modes {
        let (a, b) = (modes.base_high, modes.other_high);
        let within = modes.within.map_or("no mode holds both sides".to_owned(), |(ratio, lo, hi)| {
            format!("ratio within the same mode {ratio:.4} [{lo:.4}, {hi:.4}]")
        });
        steps.push(format!(
            "two modes at {:.4} and {:.4}: {} of {} and {} of {} in the upper one (Fisher p = {:.3}, adjusted {:.3}); {within}",
            modes.low, modes.high, a.count, a.total, b.count, b.total, modes.p_shares, modes.p_shares_adjusted
        ));
    }
    if let Some(drift) = row.drift {
        let lag = row
            .lag1
            .map(|lag| format!("; lag-1 correlation of the differences {lag:+.2}"))
            .unwrap_or_default();
        steps.push(format!(
            "drift over the run {:+.2} % (adjusted p = {:.3}), cancelled by the blocks{lag}",
            drift.change_pct, drift.p_adjusted
        ));
    }
    for (what, test) in
        [("above twice their invocation's median", row.tail), ("set aside by cause", row.set_aside)]
    {
        if let Some(test) = test {
            steps.push(format!(
                "samples {what}: {} of {} against {} of {} (adjusted p = {:.3})",
                test.base.count, test.base.total, test.other.count, test.other.total, test.p_adjusted
            ));
        }
    }
    steps
}

fn conclusion(row: &Row) -> String {
    let mut text = format!("verdict: {}", row.words());
    if let Some(smallest) = row.smallest_change_pct.filter(|_| row.verdict == Verdict::Inconclusive) {
        text += &format!("; the smallest change this could have shown is {smallest:.2} %");
    }
    if let Some(sd) = row.survives_boot_sd_pct {
        text += &format!("; survives a between-boot deviation of up to {sd:.2} %");
    }
    if !row.flags.is_empty() {
        let flags: Vec<&str> = row.flags.iter().map(|flag| flag.word()).collect();
        text += &format!("; flags: {}", flags.join(", "));
    }
    text
}
