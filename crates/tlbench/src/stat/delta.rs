//! The delta table of kernel mails: counts of each command and what changed, per run or per iteration.

use std::io::{self, Write};

use stats::{Comparison, Verdict};

use super::summary::Summary;

/// Prints the table of `others` against `base`; values are divided by `per`, except peak memory, which no iteration has.
pub fn print(
    out: &mut impl Write,
    base: (&str, &[Summary]),
    others: &[(&str, Vec<Summary>)],
    comparisons: &[Comparison],
    per: f64,
) -> io::Result<()> {
    let each = if per == 1.0 { "per run".into() } else { format!("per iteration ({per} per run)") };
    writeln!(out, "means {each}; +- is the standard error of the difference")?;
    let shown = |summaries: &[Summary], metric: &str| {
        summaries.iter().find(|s| s.metric == metric).filter(|s| !s.values.is_empty()).cloned()
    };
    for (i, (name, summaries)) in others.iter().enumerate() {
        if !base
            .1
            .iter()
            .any(|before| shown(base.1, &before.metric).and(shown(summaries, &before.metric)).is_some())
        {
            continue;
        }
        writeln!(out, "\n base:  {}\n other: {name}", base.0)?;
        writeln!(out, " {:>13} {:>13} {:>12} {:<12} {:<22} verdict", "base", "other", "change", "", "of")?;
        for before in base.1 {
            let (Some(before), Some(after)) =
                (shown(base.1, &before.metric), shown(summaries, &before.metric))
            else {
                continue;
            };
            if before.mean() == 0.0 && after.mean() == 0.0 {
                continue;
            }
            let per = divisor(&before, per);
            let change = after.mean() - before.mean();
            let error = before.standard_error().zip(after.standard_error()).map(|(a, b)| a.hypot(b));
            let row = comparisons.get(i).and_then(|c| c.rows.iter().find(|row| row.metric == before.metric));
            let line = format!(
                " {:>13} {:>13} {:>12} {:<12} {:<22} {}",
                number(before.mean() / per),
                number(after.mean() / per),
                signed(change / per),
                error.map_or(String::new(), |error| format!("+- {}", number(error / per))),
                named(&before),
                row.map_or("", |row| word(&row.verdict)),
            );
            writeln!(out, "{}", line.trim_end())?;
        }
    }
    Ok(())
}

/// Prints the means of a single command per iteration.
pub fn print_alone(out: &mut impl Write, summaries: &[Summary], per: f64) -> io::Result<()> {
    writeln!(out, "\nmeans per iteration ({per} per run); +- is the standard error")?;
    for summary in summaries.iter().filter(|summary| !summary.values.is_empty()) {
        let per = divisor(summary, per);
        let error =
            summary.standard_error().map_or(String::new(), |error| format!("+- {}", number(error / per)));
        writeln!(out, " {:>13} {error:<12} {}", number(summary.mean() / per), named(summary))?;
    }
    Ok(())
}

/// What a value is divided by: a peak is of the run, however many iterations it has.
fn divisor(summary: &Summary, per: f64) -> f64 {
    if summary.metric == "stat/max_rss" { 1.0 } else { per }
}

/// `page-faults`, `stat/wall, ms`.
fn named(summary: &Summary) -> String {
    let name = summary.metric.strip_prefix("perf/").unwrap_or(&summary.metric);
    if summary.unit == "count" { name.to_owned() } else { format!("{name}, {}", summary.unit) }
}

fn word(verdict: &Verdict) -> &'static str {
    verdict.word()
}

fn signed(value: f64) -> String {
    if value == 0.0 { "0".into() } else { format!("{}{}", if value > 0.0 { "+" } else { "" }, number(value)) }
}

/// Counts in whole numbers, small values with four digits.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if size >= 1000.0 => format!("{value:.0}"),
        size => {
            let places = (3 - size.log10().floor() as i32).clamp(0, 9) as usize;
            let text = format!("{value:.places$}");
            if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                text
            }
        }
    }
}
