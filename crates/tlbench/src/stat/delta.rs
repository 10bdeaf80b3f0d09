//! The delta table of kernel mails: counts of each command and what changed, per run or per iteration.

use std::io::{self, Write};

use stats::{Comparison, Verdict};

use super::summary::Summary;

/// Prints the table of `others` against `base`; values are divided by `per`.
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
        writeln!(out, "\n base:  {}\n other: {name}", base.0)?;
        for before in base.1 {
            let (Some(before), Some(after)) =
                (shown(base.1, &before.metric), shown(summaries, &before.metric))
            else {
                continue;
            };
            let change = after.mean() - before.mean();
            let error = before.standard_error().zip(after.standard_error()).map(|(a, b)| a.hypot(b));
            let row = comparisons.get(i).and_then(|c| c.rows.iter().find(|row| row.metric == before.metric));
            let name = before.metric.strip_prefix("perf/").unwrap_or(&before.metric);
            let error_shown = error.map_or(String::new(), |error| format!("+- {}", number(error / per)));
            writeln!(
                out,
                "{}",
                format!(
                    " {:>13} {:>13} {:>12} {:<11} {} {} {}",
                    number(before.mean() / per),
                    number(after.mean() / per),
                    signed(change / per),
                    error_shown,
                    name,
                    if before.unit == "count" { "" } else { &before.unit },
                    row.map_or("", |row| word(&row.verdict)),
                )
                .trim_end()
            )?;
        }
    }
    Ok(())
}

/// Prints the means of a single command per iteration.
pub fn print_alone(out: &mut impl Write, summaries: &[Summary], per: f64) -> io::Result<()> {
    writeln!(out, "\nmeans per iteration ({per} per run); +- is the standard error")?;
    for summary in summaries.iter().filter(|summary| !summary.values.is_empty()) {
        let name = summary.metric.strip_prefix("perf/").unwrap_or(&summary.metric);
        let error =
            summary.standard_error().map_or(String::new(), |error| format!("+- {}", number(error / per)));
        let unit = if summary.unit == "count" { "" } else { &summary.unit };
        writeln!(
            out,
            "{}",
            format!(" {:>13} {error:<11} {name} {unit}", number(summary.mean() / per)).trim_end()
        )?;
    }
    Ok(())
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
