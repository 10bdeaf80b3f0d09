//! `tlbench sim`: what a stream of references costs on any address-translation hardware.

mod check;
mod configurations;
mod curve;
mod explain;
mod json;
mod pinning;
mod screen;

use std::io::{self, Write};

use anyhow::Context;
use mmu::explain::Symbols;
use mmu::machine::{Machine, builtin_names, builtin_source};
use mmu::sim::{Options, Simulation};

use crate::cmd::trace::Source;
use crate::exit::Outcome;

/// Simulate TLBs over a trace: which references miss, why, and what it costs
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,
    /// Machine: a name (see --machines), a TOML or JSON file, the JSON of `tlbench tlb`, or `this` to measure this
    /// machine now; repeat to compare machines
    #[arg(long, short, value_name = "NAME|FILE", default_value = "ppc405gp")]
    machine: Vec<String>,
    /// Simulate every combination: entries=62,63,64 ways=2,4,full policy=fifo,lru,opt seed=1..5 page=4K,64K
    /// map=4k,large-on-demand pin=0,1,2; TLB.FIELD for one TLB, A..B..STEP for ranges
    #[arg(long, value_name = "FIELD=VALUES")]
    vary: Vec<String>,
    /// Pin so many large kernel pages; short for --vary pin=…
    #[arg(long, value_name = "N,…")]
    pin: Option<String>,
    /// Kernel mapping: 4k, large-on-demand, pin=N, bat, thp, joined by +; or a TOML or JSON file with `[[map]]` ranges
    #[arg(long, value_name = "PRESET|FILE")]
    map: Option<String>,
    /// Simulate the last level alone, as if every reference reached it
    #[arg(long)]
    last_level: bool,
    /// Configuration that others are compared with; the first one without
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// Seeds per configuration with random replacement; mean and spread are shown
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,
    /// Show the pages that miss most, who evicted whom, and what each invalidation cost
    #[arg(long)]
    explain: bool,
    /// Symbol table (nm or System.map) to name pages with
    #[arg(long, value_name = "FILE", requires = "explain")]
    symbols: Option<String>,
    /// Plot misses over `entries` (all policies, LRU in one pass), `page` size or `pin`ned entries
    #[arg(long, value_name = "entries|page|pin", value_parser = ["entries", "page", "pin"])]
    curve: Option<String>,
    /// Write the plot as SVG
    #[arg(long, value_name = "FILE", requires = "curve")]
    svg: Option<String>,
    /// Say when pinning pays, and where the answer flips
    #[arg(long)]
    break_even: bool,
    /// Show whether the order of configurations survives costs of half and half again as much
    #[arg(long)]
    sensitivity: bool,
    /// Instead of a trace: the cost curve of `tlbench tlb --json` (a file, or `this` to measure now) beside the one
    /// simulated with the geometry it found
    #[arg(long, value_name = "FILE|this")]
    check: Option<String>,
    /// Different pages a trace may touch
    #[arg(long, value_name = "N", default_value_t = 1 << 24)]
    max_pages: usize,
    /// Lookups that policy opt may keep in memory (8 bytes each)
    #[arg(long, value_name = "N", default_value_t = 1 << 26)]
    max_future: usize,
    /// List the machines that come with the program
    #[arg(long)]
    machines: bool,
    /// Print a machine's file, with the source of every number
    #[arg(long, value_name = "NAME")]
    show_machine: Option<String>,
    /// Print JSON: one object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Outcome {
    let mut out = io::stdout().lock();
    if args.machines {
        builtin_names().try_for_each(|name| writeln!(out, "{name}"))?;
        return Ok(std::process::ExitCode::SUCCESS);
    }
    if let Some(name) = &args.show_machine {
        let text = builtin_source(name).with_context(|| format!("{name}: not among --machines"))?;
        write!(out, "{text}")?;
        return Ok(std::process::ExitCode::SUCCESS);
    }
    if let Some(probe) = &args.check {
        let text = configurations::probe(probe)?;
        let machine = Machine::from_text(&text, "the TLB probe's output")?;
        let points = check::check(&text, &machine)?;
        if args.json {
            writeln!(out, "{:#}", check::json(&points))?;
        } else {
            check::print(&mut out, &machine, &points)?;
        }
        return Ok(std::process::ExitCode::SUCCESS);
    }
    let symbols = args.symbols.as_deref().map(Symbols::load).transpose()?;
    let entries = configurations::entries(args)?;
    let mut curve = args.curve.as_deref().map(|over| curve::Curve::new(over, args)).transpose()?;
    let mut flips = if args.break_even { pinning::Flips::new(args)? } else { None };
    let options = Options {
        explain: args.explain,
        conflicts: true,
        page_limit: args.max_pages,
        opt_limit: args.max_future,
    };
    let mut simulation = Simulation::new(configurations::machines(&entries), options)?;
    let mut stream = args.source.open()?;
    let mut chunk = Vec::new();
    loop {
        let more = stream.next(&mut chunk)?;
        simulation.feed(&chunk)?;
        if let Some(curve) = &mut curve {
            curve.feed(&chunk)?;
        }
        if let Some(flips) = &mut flips {
            flips.feed(&chunk)?;
        }
        if !more {
            break;
        }
    }
    let facts = stream.finish()?;
    let results = configurations::results(&entries, simulation.finish()?);
    let base = configurations::baseline(&results, args.baseline.as_deref())?;
    let plot = curve.map(curve::Curve::finish).transpose()?;
    if let (Some(path), Some(plot)) = (&args.svg, &plot) {
        std::fs::write(path, plot.svg()).with_context(|| path.clone())?;
    }
    let flips = flips.map(pinning::Flips::finish).transpose()?;
    if args.json {
        let document = json::document(&results, base, &facts, args, plot.as_ref(), flips.as_ref());
        serde_json::to_writer_pretty(&mut out, &document)?;
        writeln!(out)?;
        return Ok(facts.exit());
    }
    screen::tables(&mut out, &results, base, &facts)?;
    if args.break_even {
        pinning::print(&mut out, &results, base, flips.as_ref())?;
    }
    if args.sensitivity {
        screen::sensitivity(&mut out, &results, base, &facts)?;
    }
    if args.explain {
        explain::print(&mut out, &results, symbols.as_ref())?;
    }
    if let Some(plot) = plot {
        writeln!(out)?;
        plot.text(98, 20).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    Ok(facts.exit())
}
