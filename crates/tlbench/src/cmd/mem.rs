//! `tlbench mem`: the memory hierarchy of this machine.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use harness::{Signals, fresh_seed};
use memory::latency::{Options, Report};

use super::mem_table;
use super::tlb::{parse_size, pin};
use crate::exit::Outcome;

/// Measure the memory hierarchy: latency by footprint, translation's share, bandwidth, loads, cores, nodes
#[derive(clap::Args)]
pub struct Args {
    /// Largest footprint, e.g. `1g` (default: four times the last-level cache, as memory allows)
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    size: Option<u64>,
    /// Finer curves and more pairs of CPUs
    #[arg(long)]
    full: bool,
    /// CPU to measure on (default: the last one allowed)
    #[arg(long, value_name = "CPU")]
    cpu: Option<usize>,
    /// Seed of all permutations
    #[arg(long)]
    seed: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write the latency staircase as SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args) -> Outcome {
    let signals = Signals::install().context("signal handlers")?;
    let cpus = harness::allowed_cpus().context("CPU affinity")?;
    pin(args.cpu)?;
    let seed = args.seed.unwrap_or_else(fresh_seed);
    let options = Options { most: args.size, full: args.full, cpus, seed };
    let report: Report = memory::latency::measure(&options, Some(&signals));
    if let Some(interrupt) = signals.interrupted() {
        eprintln!("tlbench: interrupted");
        return Ok(ExitCode::from(interrupt.exit_code()));
    }
    if let Some(path) = &args.plot {
        let picture = memory::plot::svg(&mem_table::staircase(&report));
        std::fs::write(path, picture).with_context(|| path.display().to_string())?;
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    if args.json {
        serde_json::to_writer(&mut out, &report)?;
        writeln!(out)?;
    } else {
        mem_table::print(&mut out, &report)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
