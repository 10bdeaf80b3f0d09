//! `tlbench import`: numbers of other tools as a record.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use record::import::{self, Options};
use record::{Line, Record};

use crate::exit::Outcome;
use crate::inputs::{Runs, parse_runs, say_skipped};

/// Convert results of other tools into a record
///
/// Reads LMbench result files and tables (also inside mails), perf stat output, hyperfine, criterion, Go and Google
/// Benchmark results and long CSV; the format is found by content. Exit codes: 0 all was read, 1 lines were skipped (each
/// is named on standard error), 2 nothing could be read.
#[derive(clap::Args)]
pub struct Args {
    /// Files; a directory is one configuration and its files are its runs; `-` is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The record to write; never overwritten; `-` is standard output
    #[arg(short, long, value_name = "RECORD")]
    output: PathBuf,
    /// Name of the configuration, when the files hold one
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
    /// Name runs of one configuration that are a state of their own: before=1, after=2-3 (can be repeated)
    #[arg(long, value_name = "NAME=RUNS", value_parser = parse_runs)]
    runs: Vec<Runs>,
}

/// Runs the command.
pub fn run(args: &Args) -> Outcome {
    let options = Options { label: args.label.clone(), runs: args.runs.clone() };
    let imported = import::read_paths(&args.files, &options)?;
    say_skipped(&imported);
    let skipped = imported.skipped.len() + imported.skipped_more;
    for note in &imported.notes {
        eprintln!("tlbench: note: {note}");
    }
    let Some(record) = imported.into_one() else {
        bail!("no number was read; no record written");
    };
    let numbers = record.invocations.len();
    let configurations = record.header.plan.configurations.len().max(1);
    write(record, &args.output)?;
    let _ = writeln!(
        io::stderr(),
        "tlbench: {numbers} numbers of {configurations} configurations in {}; {skipped} lines skipped",
        args.output.display()
    );
    Ok(if skipped > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn write(record: Record, to: &Path) -> anyhow::Result<()> {
    let refused = || format!("{}: records are never overwritten, name a new file", to.display());
    let mut lines = Vec::new();
    let header = Line::Header(Box::new(record.header));
    let warmup = record.warmup.into_iter().map(|line| Line::Warmup(Box::new(line)));
    let invocations = record.invocations.into_iter().map(|line| Line::Invocation(Box::new(line)));
    let footer = record.footer.map(Line::Footer);
    for line in [header].into_iter().chain(warmup).chain(invocations).chain(footer) {
        serde_json::to_writer(&mut lines, &line)?;
        lines.push(b'\n');
    }
    if to == Path::new("-") {
        return Ok(io::stdout().lock().write_all(&lines)?);
    }
    let mut file = std::fs::File::create_new(to).with_context(|| match to.exists() {
        true => refused(),
        false => to.display().to_string(),
    })?;
    file.write_all(&lines).with_context(|| to.display().to_string())
}
