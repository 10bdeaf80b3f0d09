//! `tlbench aa`: the noise floor of this machine.

use std::io::{self, Write};
use std::process::ExitCode;

use serde_json::{Value, json};
use stats::noise::{self, SmallestChange};

use super::ab::{How, print_code};
use crate::exit::Outcome;
use crate::state::State;
use crate::verdict::VerdictArgs;

/// Compare this machine with itself: false alarms, and the smallest change each metric can show here
#[derive(clap::Args)]
pub struct Args {
    /// Metric names or globs; without, those of the old suites' summary table; '*' is everything. What does not fit into
    /// the budget is left out
    #[arg(value_name = "NAME|GLOB")]
    names: Vec<String>,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    verdict: VerdictArgs,
}

/// Below this the spread from block to block is hardly known.
const FEWEST_BLOCKS: u32 = 6;

/// Runs the command.
pub fn run(args: &Args) -> Outcome {
    let states = vec![State::named("A"), State::named("A'")];
    let done = args.how.measure("aa", states, &args.names, &args.verdict, false)?;
    if done.blocks < FEWEST_BLOCKS {
        eprintln!(
            "tlbench: only {} blocks of {:.0} s fitted into the time; name fewer metrics or give a longer --budget",
            done.blocks, done.seconds_per_block
        );
    }
    let comparison = &done.report.comparisons[0];
    let check = noise::aa_check(comparison);
    let changes = noise::smallest_changes(&done.gathered.table, 0, 1, done.seconds_per_block);
    if args.verdict.json {
        let more = json!({
            "plan": done.record.header.plan,
            "blocks": done.blocks,
            "false_alarms": check.false_alarms,
            "metrics": check.metrics,
            "rejected": check.rejected,
            "smallest_change": changes.iter().map(change_json).collect::<Vec<_>>(),
        });
        args.verdict.print(&done.gathered, &done.report, more)?;
    } else {
        print(&mut io::stdout().lock(), &check, &changes, done.blocks, done.seconds_per_block)?;
    }
    Ok(match print_code(&done) {
        Some(code) => ExitCode::from(code),
        None if check.rejected => ExitCode::from(4),
        None => ExitCode::SUCCESS,
    })
}

fn change_json(change: &SmallestChange) -> Value {
    let [five, ten, thirty] = change.pct;
    json!({
        "metric": change.metric,
        "block_sd_pct": change.block_sd_pct,
        "pct_5min": five,
        "pct_10min": ten,
        "pct_30min": thirty,
    })
}

fn print(
    out: &mut impl Write,
    check: &noise::AaCheck,
    changes: &[SmallestChange],
    blocks: u32,
    seconds_per_block: f64,
) -> io::Result<()> {
    let alarms = if check.false_alarms.is_empty() {
        "none".to_owned()
    } else {
        format!("{} ({})", check.false_alarms.len(), check.false_alarms.join(", "))
    };
    let word = if check.rejected { "; environment rejected: verdicts here can't be trusted" } else { "" };
    writeln!(
        out,
        "A against itself, {blocks} blocks of {seconds_per_block:.1} s: false alarms among {} metrics: {alarms}{word}",
        check.metrics
    )?;
    writeln!(out, "\nsmallest change that shows here, per cent (90 % power, corrected over the table)")?;
    let width = changes.iter().map(|c| c.metric.len()).max().unwrap_or(6).max(6);
    writeln!(
        out,
        "  {:width$}  {:>9}  {:>8}  {:>8}  {:>8}",
        "metric", "block SD", "5 min", "10 min", "30 min"
    )?;
    for change in changes {
        let cell =
            |pct: Option<f64>| pct.map_or("-".to_owned(), |pct| report::significant(pct, Some(pct / 10.0)));
        let [five, ten, thirty] = change.pct.map(cell);
        writeln!(
            out,
            "  {:width$}  {:>9}  {five:>8}  {ten:>8}  {thirty:>8}",
            change.metric,
            cell(change.block_sd_pct)
        )?;
    }
    Ok(())
}
