//! `tlbench list`: every metric and what it means.

use std::io::{self, Write};
use std::process::ExitCode;

use record::Metric;

use crate::exit::Outcome;
use crate::select::Selection;
use report::wrapped;

/// List all metrics with their one-line definitions; with a name, its full page
#[derive(clap::Args)]
pub struct Args {
    /// Metric names or globs
    #[arg(value_name = "NAME|GLOB")]
    names: Vec<String>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Outcome {
    let sections = suite::sections();
    let all: Vec<(&str, Metric)> = sections
        .iter()
        .flat_map(|s| s.benchmarks.iter().flat_map(|b| b.metrics()).map(|m| (s.title, m)))
        .collect();
    let known: Vec<String> = all.iter().map(|(_, m)| m.name.clone()).collect();
    let selection = Selection::parse(&args.names, &known)?;
    let chosen: Vec<&(&str, Metric)> = all.iter().filter(|(_, m)| selection.selects(&m.name)).collect();
    let mut out = io::stdout().lock();
    if args.json {
        let metrics: Vec<&Metric> = chosen.iter().map(|(_, m)| m).collect();
        serde_json::to_writer_pretty(&mut out, &metrics)?;
        writeln!(out)?;
    } else if args.names.is_empty() {
        let width = known.iter().map(String::len).max().unwrap_or(0);
        let mut title = "";
        for (section, metric) in chosen {
            if title != *section {
                writeln!(out, "{}{section}", if title.is_empty() { "" } else { "\n" })?;
                title = section;
            }
            writeln!(out, "  {:width$}  {} per {}", metric.name, metric.unit, metric.per)?;
            for line in wrapped(&metric.doc, 90) {
                writeln!(out, "      {line}")?;
            }
        }
    } else {
        for (section, metric) in chosen {
            page(&mut out, section, metric)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn page(out: &mut impl Write, section: &str, metric: &Metric) -> io::Result<()> {
    writeln!(out, "{}  ({section})", metric.name)?;
    for line in wrapped(&metric.doc, 90) {
        writeln!(out, "    {line}")?;
    }
    let better = match metric.direction {
        record::Direction::Smaller => "smaller is better",
        record::Direction::Bigger => "bigger is better",
        record::Direction::None => "neither way is better",
    };
    writeln!(out, "    unit        {} per {}, {better}", metric.unit, metric.per)?;
    writeln!(out, "    estimator   {} of the samples of one invocation", metric.estimator.name())?;
    writeln!(out, "    definition  version {}", metric.definition)?;
    if metric.control {
        writeln!(out, "    control     a change of the kernel can't move it")?;
    }
    writeln!(out)
}
