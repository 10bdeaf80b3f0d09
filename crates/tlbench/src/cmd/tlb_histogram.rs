//! `tlbench tlb --histogram`: the distribution of single access times.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use harness::{Clock, Signals};
use memory::histogram::{self, Distribution};

use crate::exit::Outcome;

/// Order of the accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Order {
    /// A random permutation of the pages
    Random,
    /// Ascending
    Linear,
}

/// Sizes of the original program's discussion.
const SIZES: [u64; 3] = [16 << 20, 128 << 20, 512 << 20];

/// Measures and prints every size and order.
pub fn run(
    sizes: &[u64],
    order: Option<Order>,
    dump: Option<&Path>,
    json: bool,
    seed: u64,
    signals: &Signals,
) -> Outcome {
    let sizes = if sizes.is_empty() { &SIZES[..] } else { sizes };
    let source = environment::Root::host()
        .contents("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let clock = Clock::calibrate(source.ok().as_deref());
    let levels = histogram::level_ticks(&clock, seed);
    let mut found: Vec<Distribution> = Vec::new();
    for &bytes in sizes {
        for (each, name) in
            [(Order::Random, histogram::Order::Random), (Order::Linear, histogram::Order::Linear)]
        {
            if order.is_some_and(|only| only != each) {
                continue;
            }
            if let Some(interrupt) = signals.interrupted() {
                return Ok(ExitCode::from(interrupt.exit_code()));
            }
            let mut distribution = histogram::distribution(&clock, bytes, name, seed)
                .map_err(|reason| anyhow::anyhow!("{} MiB: {reason}", bytes >> 20))?;
            if !distribution.coarse() {
                histogram::name(&mut distribution.modes, levels.0, levels.1);
            }
            if dump.is_none() {
                distribution.deltas = Vec::new();
            }
            found.push(distribution);
        }
    }
    if let Some(path) = dump {
        write_dump(path, &found).with_context(|| path.display().to_string())?;
    }
    let mut out = BufWriter::new(io::stdout().lock());
    if json {
        serde_json::to_writer(&mut out, &found)?;
        writeln!(out)?;
    } else {
        found.iter().try_for_each(|distribution| print(&mut out, distribution))?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn write_dump(path: &Path, found: &[Distribution]) -> io::Result<()> {
    let mut file = BufWriter::new(std::fs::File::create(path)?);
    writeln!(file, "bytes,order,access,ticks")?;
    for distribution in found {
        let order = order_word(distribution);
        for (at, &delta) in distribution.deltas.iter().enumerate() {
            let net = i64::from(delta) - i64::from(distribution.overhead);
            writeln!(file, "{},{order},{at},{net}", distribution.bytes)?;
        }
    }
    file.flush()
}

fn order_word(distribution: &Distribution) -> &'static str {
    match distribution.order {
        histogram::Order::Random => "random",
        histogram::Order::Linear => "linear",
    }
}

/// Longest bar.
const BAR: usize = 60;

fn print(out: &mut impl Write, d: &Distribution) -> io::Result<()> {
    let overhead = if d.coarse() { format!("{:.1}", d.overhead_mean) } else { d.overhead.to_string() };
    writeln!(
        out,
        "{} MiB, {} order: overhead {overhead} ticks of {:.3} ns, taken off{}",
        d.bytes >> 20,
        order_word(d),
        d.ns_per_tick,
        if d.coarse() { " the averages" } else { "" }
    )?;
    let total: u32 = d.counts.iter().sum();
    let highest = d.counts.iter().copied().max().unwrap_or(1).max(1);
    for (at, &count) in d.counts.iter().enumerate() {
        if u64::from(count) * 200 < u64::from(total) {
            continue;
        }
        let ticks = at as u32 * d.step;
        let bar = "#".repeat((count as usize * BAR / highest as usize).max(1));
        let name = d.modes.iter().find(|m| m.at == f64::from(ticks)).map_or("", |m| m.name.as_str());
        writeln!(out, "{ticks:7} {:5.1} % {bar} {name}", 100.0 * f64::from(count) / f64::from(total))?;
    }
    for mode in &d.modes {
        writeln!(out, "  around {:.0} ticks: {:.1} % {}", mode.at, 100.0 * mode.share, mode.name)?;
    }
    let misses = match (d.misses_pct, d.threshold) {
        (Some(pct), Some(threshold)) => {
            format!("{pct:.1} % TLB misses (above the valley at {threshold:.0} ticks)")
        }
        _ if d.coarse() => format!(
            "the counter steps by {} ticks ({:.1} ns): single hits and misses can't be told apart, averages can",
            d.step,
            f64::from(d.step) * d.ns_per_tick
        ),
        _ => "one mode only: hits and misses can't be told apart".into(),
    };
    let median = if d.coarse() { String::new() } else { format!(", median {:.0}", d.median) };
    let pages = d.counts.iter().map(|&c| u64::from(c)).sum::<u64>();
    writeln!(
        out,
        "{pages} {}ly accessed pages, {:.1} ticks avg ({:.1} without the slowest 1 %{median}), {misses}.\n",
        order_word(d),
        d.average,
        d.trimmed,
    )
}
