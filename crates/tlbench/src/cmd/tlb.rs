//! `tlbench tlb`: the TLBs of this machine.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use harness::{Signals, fresh_seed};
use memory::recording::Recording;
use memory::tlb::{Chunks, Options, Report};
use serde::Deserialize;

use super::tlb_histogram::{self, Order};
use super::tlb_table;
use crate::exit::Outcome;

/// Measure the TLBs: entries, ways, miss cost, page walks, shoot-downs
#[derive(clap::Args)]
pub struct Args {
    /// Also measure the second level's ways, the page-walk table, shoot-downs and huge pages (up to a minute)
    #[arg(long)]
    full: bool,
    /// Page sizes besides the base page, e.g. `4k,2m,1g`
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = parse_size)]
    pages: Vec<u64>,
    /// Real-time priority in bursts of at most 20 ms, where allowed
    #[arg(long)]
    rt: bool,
    /// Repeat the whole probe and say how often each number came out
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// CPU to measure on (default: the last one allowed)
    #[arg(long, value_name = "CPU")]
    cpu: Option<usize>,
    /// Seed of all permutations
    #[arg(long)]
    seed: Option<u64>,
    /// Print JSON, with every raw chunk
    #[arg(long)]
    json: bool,
    /// Write the staircase as SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Analyse the chunks of a stored `--json` output again instead of measuring (`-` reads standard input)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["full", "rt", "repeat", "cpu", "pages", "histogram"])]
    replay: Option<PathBuf>,
    /// Per-access times instead: their distribution, random and linear, over 16, 128 and 512 MB
    #[arg(long)]
    histogram: bool,
    /// Sizes of the histogram, e.g. `16m,1g`
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = parse_size, requires = "histogram")]
    size: Vec<u64>,
    /// Only this order of accesses
    #[arg(long, value_enum, requires = "histogram")]
    order: Option<Order>,
    /// Write every single time of the histogram, one line each: bytes, order, access, ticks above the overhead
    #[arg(long, value_name = "FILE", requires = "histogram")]
    dump: Option<PathBuf>,
}

/// Largest file `--replay` reads.
const MOST_REPLAY_BYTES: u64 = 256 << 20;

/// Runs the command.
pub fn run(args: &Args) -> Outcome {
    if let Some(path) = &args.replay {
        let report = replay(path)?;
        show(args, &[report])?;
        return Ok(ExitCode::SUCCESS);
    }
    let signals = Signals::install().context("signal handlers")?;
    let cpus = harness::allowed_cpus().context("CPU affinity")?;
    pin(args.cpu)?;
    let seed = args.seed.unwrap_or_else(fresh_seed);
    if args.histogram {
        return tlb_histogram::run(&args.size, args.order, args.dump.as_deref(), args.json, seed, &signals);
    }
    let options = Options { full: args.full, real_time: args.rt, huge: args.pages.clone(), cpus, seed };
    let mut reports = Vec::new();
    for repetition in 0..args.repeat {
        let report = memory::tlb::measure(
            &Options { seed: seed.wrapping_add(u64::from(repetition)), ..options.clone() },
            Some(&signals),
        );
        if let Some(interrupt) = signals.interrupted() {
            eprintln!("tlbench: interrupted");
            return Ok(ExitCode::from(interrupt.exit_code()));
        }
        if args.repeat > 1 && !args.json {
            let mut err = io::stderr().lock();
            let _ =
                writeln!(err, "run {} of {}: {}", repetition + 1, args.repeat, tlb_table::one_line(&report));
        }
        reports.push(report);
    }
    show(args, &reports)?;
    Ok(ExitCode::SUCCESS)
}

/// Pins this thread to `cpu`, or to the last allowed CPU (CPU 0 serves most interrupts). Not being allowed to is no
/// error unless a CPU was named.
pub fn pin(cpu: Option<usize>) -> anyhow::Result<()> {
    let allowed = harness::allowed_cpus().context("CPU affinity")?;
    match cpu {
        Some(cpu) => harness::pin_to(&[cpu]).map_err(|e| anyhow::anyhow!("--cpu {cpu}: {e}")),
        None => {
            if let Some(reason) = allowed.last().and_then(|&last| harness::pin_to(&[last]).err()) {
                eprintln!("tlbench: not pinned: {reason}");
            }
            Ok(())
        }
    }
}

fn show(args: &Args, reports: &[Report]) -> anyhow::Result<()> {
    let Some(last) = reports.last() else { return Ok(()) };
    if let Some(path) = &args.plot {
        let picture = memory::plot::svg(&tlb_table::staircase(last));
        std::fs::write(path, picture).with_context(|| path.display().to_string())?;
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    if args.json {
        match reports {
            [one] => serde_json::to_writer(&mut out, one)?,
            many => serde_json::to_writer(&mut out, &serde_json::json!({ "runs": many }))?,
        }
        writeln!(out)?;
    } else {
        tlb_table::print(&mut out, last)?;
        if reports.len() > 1 {
            tlb_table::print_agreement(&mut out, reports)?;
        }
    }
    out.flush()?;
    Ok(())
}

/// The part of a stored report that the analysis needs.
#[derive(Deserialize)]
struct Stored {
    schema: u64,
    page_bytes: u64,
    cpu_claimed: String,
    chunks: Chunks,
}

fn replay(path: &Path) -> anyhow::Result<Report> {
    let name = path.display().to_string();
    let mut text = String::new();
    let reader: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(std::fs::File::open(path).with_context(|| name.clone())?)
    };
    reader.take(MOST_REPLAY_BYTES).read_to_string(&mut text).with_context(|| name.clone())?;
    let stored: Stored = serde_json::from_str(&text)
        .with_context(|| format!("{name}: not the output of `tlbench tlb --json`"))?;
    if stored.schema != 1 {
        anyhow::bail!(
            "{name}: schema {} is not known to this version of tlbench, which reads 1",
            stored.schema
        );
    }
    let recording = Recording {
        page_bytes: stored.page_bytes,
        own_lines: stored.chunks.own_lines,
        batches: stored.chunks.batches,
    };
    recording.check().map_err(|why| anyhow::anyhow!("{name}: {why}"))?;
    let mut report = memory::tlb::analyse(&recording, &[]);
    report.cpu_claimed = stored.cpu_claimed;
    report.notes.push(format!("replayed from {name}: only what the chunks hold, and no claims"));
    report.chunks = Chunks { own_lines: recording.own_lines, batches: recording.batches };
    Ok(report)
}

/// `4k`, `2m`, `1g` or a number of bytes.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let lower = lower.trim_end_matches('b').trim_end_matches('i');
    let (digits, shift) = match lower.as_bytes().last() {
        Some(b'k') => (&lower[..lower.len() - 1], 10),
        Some(b'm') => (&lower[..lower.len() - 1], 20),
        Some(b'g') => (&lower[..lower.len() - 1], 30),
        _ => (lower, 0),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
    match bytes {
        Some(bytes) if (4096..=1 << 40).contains(&bytes) => Ok(bytes),
        _ => Err(format!("{text}: not a size; write e.g. 4k, 2m or 1g")),
    }
}
