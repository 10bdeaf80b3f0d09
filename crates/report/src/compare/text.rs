//! A comparison as text of at most 100 columns.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table as Grid, presets};
use serde_json::Value;
use stats::{Comparison, Flag, MoreRuns, Row, Verdict};

use super::{Gathered, sentence};
use crate::number::{readable_unit, significant};
use crate::text::wrapped;

/// Environment differences shown; the rest is counted.
const MOST_DIFFERENCES: usize = 12;

/// Prints one comparison: sentence, environment differences, rows by verdict, notes. `by_verdict` false keeps the
/// table's order and names the verdict in each row's note.
pub fn print_comparison(
    out: &mut impl Write,
    gathered: &Gathered,
    comparison: &Comparison,
    controlled: bool,
    rows: &[usize],
    by_verdict: bool,
) -> io::Result<()> {
    let name = |c: usize| gathered.table.configurations[c].name.as_str();
    writeln!(out, "{}", sentence(comparison, name(comparison.base), name(comparison.other), controlled))?;
    print_differences(out, gathered, comparison)?;
    let groups: Vec<(&str, Vec<usize>)> = if by_verdict {
        [
            Verdict::Worse,
            Verdict::Better,
            Verdict::Differs,
            Verdict::Exact,
            Verdict::Inconclusive,
            Verdict::Equivalent,
        ]
        .into_iter()
        .map(|verdict| {
            let of = rows.iter().copied().filter(|&i| comparison.rows[i].verdict == verdict).collect();
            (verdict.word(), of)
        })
        .collect()
    } else {
        vec![("all metrics", rows.to_vec())]
    };
    for (title, group) in groups.iter().filter(|(_, group)| !group.is_empty()) {
        writeln!(out, "\n{title}")?;
        print_group(out, gathered, comparison, group, !by_verdict)?;
    }
    if !comparison.notes.is_empty() || !gathered.notes.is_empty() {
        writeln!(out)?;
    }
    for note in gathered.notes.iter().chain(&comparison.notes) {
        for (i, line) in wrapped(note, 96).iter().enumerate() {
            writeln!(out, "{} {line}", if i == 0 { "-" } else { " " })?;
        }
    }
    Ok(())
}

fn print_differences(out: &mut impl Write, gathered: &Gathered, comparison: &Comparison) -> io::Result<()> {
    let (a, b) = (&gathered.environments[comparison.base], &gathered.environments[comparison.other]);
    let differences = environment::diff(a, b);
    if differences.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nenvironments differ in")?;
    for difference in differences.iter().take(MOST_DIFFERENCES) {
        let line = format!("  {}: {} -> {}", difference.field, short(&difference.a), short(&difference.b));
        writeln!(out, "{}", cut(&line, 100))?;
    }
    if differences.len() > MOST_DIFFERENCES {
        writeln!(out, "  and {} more fields (`tlbench env --diff`)", differences.len() - MOST_DIFFERENCES)?;
    }
    Ok(())
}

fn short(value: &Value) -> String {
    match value {
        Value::String(text) => cut(text, 36),
        Value::Null => "absent".into(),
        other => cut(&other.to_string(), 36),
    }
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width - 3).chain("...".chars()).collect()
}

fn print_group(
    out: &mut impl Write,
    gathered: &Gathered,
    comparison: &Comparison,
    rows: &[usize],
    name_verdict: bool,
) -> io::Result<()> {
    let mut grid = Grid::new();
    grid.load_style(presets::NOTHING);
    grid.set_header(["metric", "base", "other", "unit", "change", "95 %", "p", "n", ""]);
    let mut below: Vec<Vec<String>> = Vec::new();
    for &i in rows {
        let row = &comparison.rows[i];
        let note = if name_verdict { format!("{}; {}", row.verdict.word(), note(row)) } else { note(row) };
        let note = note.trim_end_matches("; ").to_owned();
        let largest = row.base.value.into_iter().chain(row.other.value).fold(0.0, f64::max);
        let (factor, unit) = readable_unit(largest, &gathered.units[i].0.0);
        let fits = row.metric.chars().count() + note.chars().count() <= 46;
        grid.add_row([
            row.metric.clone(),
            row.base.value.map_or("-".into(), |v| significant(v * factor, None)),
            row.other.value.map_or("-".into(), |v| significant(v * factor, None)),
            unit.to_owned(),
            row.change_pct().map_or(String::new(), |c| format!("{c:+.1} %")),
            row.ci95.map_or(String::new(), |ci| {
                format!("[{:+.1}, {:+.1}]", 100.0 * (ci.lo - 1.0), 100.0 * (ci.hi - 1.0))
            }),
            row.p_adjusted.map_or(String::new(), p_value),
            format!("{}+{}", row.base.n, row.other.n),
            if fits { note.clone() } else { String::new() },
        ]);
        below.push(if fits { Vec::new() } else { wrapped(&note, 92) });
    }
    for column in [1, 2, 4, 5, 6, 7] {
        if let Some(column) = grid.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for column in grid.column_iter_mut() {
        column.set_padding((0, 1));
    }
    for (i, line) in grid.lines().enumerate() {
        writeln!(out, "  {}", line.trim_end())?;
        for note in i.checked_sub(1).and_then(|row| below.get(row)).into_iter().flatten() {
            writeln!(out, "      {note}")?;
        }
    }
    Ok(())
}

/// What stands behind a row: its equivalence, its reason, how many more, its flags.
fn note(row: &Row) -> String {
    let mut parts = Vec::new();
    match row.verdict {
        Verdict::Equivalent if row.has(Flag::RealButSmall) => {
            let change = row.change_pct().unwrap_or(0.0).abs();
            parts.push(format!("{} by {change:.2} %, inside the margin", row.way().word()));
        }
        Verdict::Equivalent => {
            if let Some(tightest) = row.tightest_pct {
                parts.push(format!("within +-{tightest} %"));
            }
        }
        Verdict::Exact => parts.push(match row.exact {
            Some(exact) if exact.base == exact.other => "same".into(),
            Some(exact) => format!("{:+}", exact.other - exact.base),
            None => String::new(),
        }),
        Verdict::Inconclusive => {
            let more = match row.more_runs {
                MoreRuns::About(n) => format!("needs about {n} more"),
                MoreRuns::TooMany => "needs over 200: fix the noise first".into(),
                // The reason says it.
                MoreRuns::FindTheCause | MoreRuns::None => String::new(),
            };
            match &row.reason {
                Some(reason) if reason.contains("more") || more.is_empty() => parts.push(reason.clone()),
                Some(reason) => parts.push(format!("{reason}; {more}")),
                None => parts.push(more),
            }
        }
        // The sentence above the table says it for all rows.
        _ => parts.extend(row.reason.clone().filter(|reason| reason != "uncontrolled order")),
    }
    if let Some(pct) = row.survives_boot_sd_pct.filter(|pct| pct.is_finite()) {
        parts.push(format!("holds to {} % boot SD", significant(pct, None)));
    }
    let shown =
        |flag: &&Flag| !matches!(flag, Flag::RealButSmall | Flag::OneBoot | Flag::OneBuild | Flag::OneRun);
    let flags: Vec<&str> = row.flags.iter().filter(shown).map(|flag| flag.word()).collect();
    if !flags.is_empty() {
        parts.push(flags.join(" "));
    }
    if row.control {
        parts.push("control".into());
    }
    parts.retain(|part| !part.is_empty());
    parts.join("; ")
}

fn p_value(p: f64) -> String {
    if p < 0.001 { "<.001".into() } else { format!("{p:.3}").trim_start_matches('0').to_owned() }
}
