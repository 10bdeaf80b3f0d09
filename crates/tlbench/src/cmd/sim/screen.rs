//! The tables for people.

use std::io::{self, Write};

use mmu::cost::{Scale, cycles};
use mmu::sim::{CAUSES, Outcome};
use report::{grid, significant};

use super::configurations::Row;
use crate::cmd::trace::Facts;

/// Everything but the optional parts.
pub fn tables(out: &mut impl Write, rows: &[Row], base: usize, facts: &Facts) -> io::Result<()> {
    let Some(first) = rows.first() else { return Ok(()) };
    let o = &first.outcome;
    writeln!(
        out,
        "{} references, {} fetches; simulated, {}",
        o.references,
        o.instructions,
        if facts.thinned { "from a thinned trace: not exact" } else { "exact" }
    )?;
    facts.thinning_lines().iter().try_for_each(|line| writeln!(out, "{line}"))?;
    writeln!(out)?;
    let tables = |names: &[String]| {
        let mut lines = grid(
            &["configuration", "lookups", "misses", "%", "vs base", "cycles", "of time", "vs base"],
            &named(rows, names, |row| vec![main_row(row, &rows[base], facts.thinned)]),
            1,
        );
        lines.extend(["".into(), "Misses by side, owner of the page, and cause".into()]);
        lines.extend(grid(&BREAKDOWN, &named(rows, names, |row| vec![breakdown_row(row)]), 1));
        if rows.iter().any(|r| r.outcome.tlbs.len() > 1 || r.outcome.walk_refs.is_some()) {
            let header = ["configuration", "tlb", "lookups", "misses", "%", "walk references"];
            lines.extend(["".into(), "By TLB".into()]);
            lines.extend(grid(&header, &named(rows, names, tlb_rows), 2));
        }
        lines
    };
    fitting(out, rows, tables)?;
    notes(out, rows, facts.thinned)
}

const BREAKDOWN: [&str; 9] = [
    "configuration",
    "I user",
    "I kernel",
    "D user",
    "D kernel",
    "compulsory",
    "flush",
    "capacity",
    "conflict",
];

/// Columns of a screen.
const COLUMNS: usize = 100;

/// The cells of every row behind its name.
fn named(rows: &[Row], names: &[String], cells: impl Fn(&Row) -> Vec<Vec<String>>) -> Vec<Vec<String>> {
    let of_row = |(row, name): (&Row, &String)| {
        let lines = cells(row).into_iter();
        lines.map(|line| std::iter::once(name.clone()).chain(line).collect()).collect::<Vec<_>>()
    };
    rows.iter().zip(names).flat_map(of_row).collect()
}

/// Prints tables under the names of their rows, or, where that is too wide, under numbers that are explained first.
fn fitting(out: &mut impl Write, rows: &[Row], tables: impl Fn(&[String]) -> Vec<String>) -> io::Result<()> {
    let names: Vec<_> = rows.iter().map(|row| row.name.clone()).collect();
    let lines = tables(&names);
    if lines.iter().all(|line| line.chars().count() <= COLUMNS) {
        return print(out, &lines);
    }
    let numbers: Vec<_> = (1..=rows.len()).map(|n| format!("#{n}")).collect();
    let legend = numbers.iter().zip(&names).map(|(number, name)| vec![number.clone(), name.clone()]);
    print(out, &grid(&["", "configuration"], &legend.collect::<Vec<_>>(), 2))?;
    writeln!(out)?;
    print(out, &tables(&numbers))
}

fn print(out: &mut impl Write, lines: &[String]) -> io::Result<()> {
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

fn main_row(row: &Row, base: &Row, thinned: bool) -> Vec<String> {
    let lookups = row.outcome.total_lookups();
    let misses = match row.deviation() {
        None => row.walks[0].to_string(),
        Some(sd) => format!("{:.0} +- {}", row.mean(), significant(sd, None)),
    };
    let same = std::ptr::eq(row, base);
    let cost = cycles(&row.outcome, Scale::default(), thinned).ok();
    let base_cost = cycles(&base.outcome, Scale::default(), thinned).ok();
    let difference = |a: Option<f64>, b: Option<f64>| match (a, b) {
        _ if same => "base".into(),
        (Some(a), Some(b)) if b > 0.0 => format!("{:+.2} %", 100.0 * (a - b) / b),
        _ => "-".into(),
    };
    vec![
        lookups.to_string(),
        misses,
        percent(row.mean(), lookups as f64),
        difference(Some(row.mean()), Some(base.mean())),
        cost.map_or("-".into(), |c| format!("{:.0}", c.total())),
        cost.and_then(|c| c.share).map_or("-".into(), |s| format!("{:.2} %", 100.0 * s)),
        difference(cost.map(|c| c.total()), base_cost.map(|c| c.total())),
    ]
}

fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.3}", 100.0 * part / whole) } else { "-".into() }
}

fn breakdown_row(row: &Row) -> Vec<String> {
    let walks = &row.outcome.walks;
    let mut cells = Vec::new();
    for side in &walks.by {
        cells.extend(side.iter().map(|owner| owner.iter().sum::<u64>().to_string()));
    }
    cells.extend(CAUSES.iter().map(|(cause, _)| walks.of_cause(*cause).to_string()));
    cells
}

fn tlb_rows(row: &Row) -> Vec<Vec<String>> {
    let references = row.outcome.walk_refs.map_or("-".into(), |n| n.to_string());
    let tlbs = &row.outcome.tlbs;
    // References belong to no TLB: they stand beside the last one.
    let beside = tlbs.len() - 1;
    let line = |(i, t): (usize, &mmu::sim::TlbOutcome)| {
        vec![
            t.name.clone(),
            t.lookups.to_string(),
            t.misses.to_string(),
            percent(t.misses as f64, t.lookups as f64),
            if i == beside { references.clone() } else { String::new() },
        ]
    };
    tlbs.iter().enumerate().map(line).collect()
}

/// Why the share of time is not known.
pub fn no_share(outcome: &Outcome) -> &'static str {
    if outcome.machine.cpi.is_none() {
        "the machine file has no cpi"
    } else {
        "the trace has no fetches, so instructions can't be counted"
    }
}

fn notes(out: &mut impl Write, rows: &[Row], thinned: bool) -> io::Result<()> {
    let mut said: Vec<String> = Vec::new();
    for row in rows {
        let note = match cycles(&row.outcome, Scale::default(), thinned) {
            Err(reason) => format!("cycles of {}: {reason}", row.outcome.machine.name),
            Ok(c) if c.share.is_none() && !thinned => format!("of time: {}", no_share(&row.outcome)),
            Ok(_) => continue,
        };
        if !said.contains(&note) {
            said.push(note);
        }
    }
    for row in rows.iter().filter(|r| r.outcome.outside > 0) {
        let n = row.outcome.outside;
        said.push(format!("{}: {n} references were translated by block ranges, outside the TLBs", row.name));
    }
    for row in rows {
        let tlbs = &row.outcome.machine.tlbs;
        for (class, what) in [(0, "fetches"), (1, "loads")] {
            let first = tlbs.iter().filter(|t| t.serves.class(class)).map(|t| t.level).min();
            if first.is_some_and(|level| level > 1) {
                let name = &row.outcome.machine.name;
                let note =
                    format!("{name}: the first level for {what} is not known; hits of theirs cost nothing");
                if !said.contains(&note) {
                    said.push(note);
                }
            }
        }
    }
    if !said.is_empty() {
        writeln!(out)?;
    }
    said.iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// Costs of a miss tried: half and half again as much.
const FACTORS: [f64; 3] = [0.5, 1.0, 1.5];
/// Cycles per instruction tried.
const CPIS: [f64; 3] = [1.0, 1.5, 2.5];

/// Whether the order against the baseline survives other costs.
pub fn sensitivity(out: &mut impl Write, rows: &[Row], base: usize, facts: &Facts) -> io::Result<()> {
    writeln!(
        out,
        "\nTranslation cycles against the base, if a miss costs half, as given, half again as much"
    )?;
    let line = |row: &Row| {
        if std::ptr::eq(row, &rows[base]) {
            return vec![];
        }
        let differences: Result<Vec<f64>, String> = FACTORS
            .iter()
            .map(|&miss| {
                let cost = |r: &Row| cycles(&r.outcome, Scale { miss, cpi: None }, facts.thinned);
                let (a, b) = (cost(row)?, cost(&rows[base])?);
                Ok(100.0 * (a.total() - b.total()) / b.total().max(1.0))
            })
            .collect();
        let mut line = Vec::new();
        match differences {
            Ok(list) => {
                line.extend(list.iter().map(|d| format!("{d:+.2} %")));
                line.push(share_range(row, facts.thinned));
                line.push(sign_word(&list).into());
            }
            // The notes below the main tables say why.
            Err(_) => line.extend(["-", "-", "-", "-", "unknown"].map(String::from)),
        }
        vec![line]
    };
    let header = ["configuration", "x 0.5", "x 1", "x 1.5", "of time, CPI 1 to 2.5", "verdict"];
    fitting(out, rows, |names| grid(&header, &named(rows, names, line), 1))
}

fn share_range(row: &Row, thinned: bool) -> String {
    let shares: Vec<f64> = CPIS
        .iter()
        .filter_map(|&cpi| cycles(&row.outcome, Scale { miss: 1.0, cpi: Some(cpi) }, thinned).ok()?.share)
        .collect();
    match (shares.first(), shares.last()) {
        (Some(a), Some(b)) => format!("{:.2} to {:.2} %", 100.0 * b, 100.0 * a),
        _ => "-".into(),
    }
}

/// What all the differences agree on.
pub fn sign_word(differences: &[f64]) -> &'static str {
    if differences.iter().all(|d| d.abs() < 0.05) {
        "same"
    } else if differences.iter().all(|&d| d < 0.0) {
        "better"
    } else if differences.iter().all(|&d| d > 0.0) {
        "worse"
    } else {
        "unknown"
    }
}
