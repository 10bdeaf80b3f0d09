//! Where the misses come from.

use std::io::{self, Write};

use mmu::explain::Symbols;
use mmu::sim::{Explanation, Outcome};
use report::grid;

use super::configurations::Row;

/// Pages and invalidations shown.
const SHOWN: usize = 10;
/// Symbols shown per page.
const NAMES: usize = 3;

/// One part per configuration.
pub fn print(out: &mut impl Write, rows: &[Row], symbols: Option<&Symbols>) -> io::Result<()> {
    for row in rows {
        let Some(explanation) = &row.outcome.explanation else { continue };
        writeln!(out, "\n{}: where its {} misses come from", row.name, row.outcome.walks.total())?;
        pages(out, explanation, &row.outcome, symbols)?;
        evictions(out, explanation)?;
        flushes(out, explanation)?;
    }
    Ok(())
}

fn pages(
    out: &mut impl Write,
    e: &Explanation,
    outcome: &Outcome,
    symbols: Option<&Symbols>,
) -> io::Result<()> {
    let total = outcome.walks.total().max(1) as f64;
    let lines: Vec<_> = e
        .pages
        .iter()
        .take(SHOWN)
        .map(|p| {
            let space = p.page.space.checked_sub(1).map_or("-".into(), |s| s.to_string());
            let mut line = vec![
                format!("{:x}", p.page.base),
                size(1 << p.page.shift),
                if p.page.kernel { "kernel" } else { "user" }.into(),
                space,
                p.misses.to_string(),
                format!("{:.1}", 100.0 * p.misses as f64 / total),
            ];
            if let Some(symbols) = symbols {
                let (names, more) = symbols.within(p.page.base, p.page.last(), NAMES);
                let more = if more > 0 { format!(" +{more}") } else { String::new() };
                line.push(names.join(" ") + &more);
            }
            line
        })
        .collect();
    let mut header = vec!["page", "size", "owner", "space", "misses", "%"];
    if symbols.is_some() {
        header.push("symbols");
    }
    grid(&header, &lines, 1).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    if e.pages.len() > SHOWN {
        let rest: u64 = e.pages[SHOWN..].iter().map(|p| p.misses).sum();
        writeln!(out, "… and {} more pages with {rest} misses", e.pages.len() - SHOWN)?;
    }
    Ok(())
}

fn evictions(out: &mut impl Write, e: &Explanation) -> io::Result<()> {
    let [[uu, uk], [ku, kk]] = e.evictions;
    writeln!(
        out,
        "evicted: user by user {uu}, user by kernel {uk}, kernel by user {ku}, kernel by kernel {kk}"
    )
}

fn flushes(out: &mut impl Write, e: &Explanation) -> io::Result<()> {
    let total: u64 = e.per_flush.iter().sum();
    if e.per_flush.is_empty() {
        return Ok(());
    }
    let mut list: Vec<_> = e.per_flush.iter().enumerate().filter(|(_, n)| **n > 0).collect();
    list.sort_by_key(|&(i, n)| (std::cmp::Reverse(*n), i));
    let worst: Vec<_> = list.iter().take(SHOWN).map(|(i, n)| format!("no. {} {n}", i + 1)).collect();
    writeln!(
        out,
        "invalidations: {} caused {total} misses, {:.1} each; worst: {}",
        e.per_flush.len(),
        total as f64 / e.per_flush.len() as f64,
        if worst.is_empty() { "none".into() } else { worst.join(", ") }
    )
}

fn size(bytes: u64) -> String {
    match bytes.trailing_zeros() {
        30.. => format!("{}G", bytes >> 30),
        20..30 => format!("{}M", bytes >> 20),
        10..20 => format!("{}K", bytes >> 10),
        _ => bytes.to_string(),
    }
}
