//! `tlbench explain`: how one verdict came about.

use std::io::{self, Write};
use std::process::ExitCode;

use crate::exit::Outcome;
use crate::select::Selection;
use crate::verdict::VerdictArgs;

/// Explain how the verdict on a metric came about, step by step, with its numbers
#[derive(clap::Args)]
pub struct Args {
    /// Metric (name or glob)
    metric: String,
    #[command(flatten)]
    from: super::compare::From,
    #[command(flatten)]
    verdict: VerdictArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Outcome {
    let (gathered, pairs) = args.from.read(&args.verdict)?;
    let known: Vec<String> = gathered.table.metrics.iter().map(|m| m.name.clone()).collect();
    let selection = Selection::parse(std::slice::from_ref(&args.metric), &known)?;
    let options = args.verdict.options(&gathered.not_comparable)?;
    let report = stats::compare(&gathered.table, &pairs, &options);
    let name = |c: usize| gathered.table.configurations[c].name.as_str();
    let mut explained = Vec::new();
    for comparison in &report.comparisons {
        for (i, row) in comparison.rows.iter().enumerate().filter(|(_, row)| selection.selects(&row.metric)) {
            explained.push((
                format!("{}: {} against {}", row.metric, name(comparison.other), name(comparison.base)),
                row.verdict.word(),
                stats::explain(&gathered.table, comparison, i),
            ));
        }
    }
    let mut out = io::stdout().lock();
    if args.verdict.json {
        let list: Vec<_> = explained
            .iter()
            .map(|(title, verdict, steps)| serde_json::json!({"title": title, "verdict": verdict, "steps": steps}))
            .collect();
        serde_json::to_writer_pretty(&mut out, &list)?;
        writeln!(out)?;
    } else {
        for (title, _, steps) in &explained {
            writeln!(out, "{title}")?;
            for (i, step) in steps.iter().enumerate() {
                writeln!(out, "  {}. {step}", i + 1)?;
            }
            writeln!(out)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
