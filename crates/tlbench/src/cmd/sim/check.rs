//! `--check`: the cost curve that `tlbench tlb` measured beside the one simulated with the geometry it found.

use std::io::{self, Write};

use anyhow::{Context, bail};
use mmu::cost::{Scale, cycles};
use mmu::generate::Generator;
use mmu::machine::Machine;
use mmu::reader::TraceReader;
use mmu::sim::{Options, Simulation};
use report::grid;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Probe {
    curve: Vec<Measured>,
}

/// One point of the measured staircase: cycles per access of a shuffled chain over so many pages.
#[derive(Deserialize)]
struct Measured {
    pages: u64,
    p10: f64,
    p50: f64,
}

/// A measured point beside the simulated one.
pub struct Point {
    pages: u64,
    measured: f64,
    median: f64,
    simulated: f64,
}

/// Rounds of the chain that are simulated after one that fills the TLBs.
const ROUNDS: u64 = 4;

/// Simulates every point of the curve in `text`.
pub fn check(text: &str) -> anyhow::Result<Vec<Point>> {
    let machine = Machine::from_text(text, "the TLB probe's output")?;
    let probe: Probe = serde_json::from_str(text).context("the TLB probe's output has no curve")?;
    let Some(floor) = probe.curve.iter().map(|p| p.p10).min_by(f64::total_cmp) else {
        bail!("the TLB probe's curve is empty");
    };
    let mut points = Vec::new();
    for m in &probe.curve {
        points.push(Point {
            pages: m.pages,
            measured: m.p10,
            median: m.p50,
            simulated: floor + translation(&machine, m.pages)?,
        });
    }
    Ok(points)
}

/// Cycles of translation per access of a chain over so many pages, once the TLBs are warm.
fn translation(machine: &Machine, pages: u64) -> anyhow::Result<f64> {
    let total = |rounds: u64| -> anyhow::Result<f64> {
        let mut chain = Generator::parse(&format!("chase:pages={pages},rounds={rounds}"))?;
        let mut simulation = Simulation::new(vec![(String::new(), machine.clone())], Options::default())?;
        let mut chunk = Vec::new();
        loop {
            let more = chain.read(&mut chunk)?;
            simulation.feed(&chunk)?;
            if !more {
                break;
            }
        }
        let outcome = simulation.finish()?.remove(0);
        Ok(cycles(&outcome, Scale::default(), true).map_err(anyhow::Error::msg)?.total())
    };
    Ok((total(1 + ROUNDS)? - total(1)?) / (ROUNDS * pages) as f64)
}

/// The table.
pub fn print(out: &mut impl Write, points: &[Point]) -> io::Result<()> {
    writeln!(
        out,
        "\nCycles per access of a shuffled chain: measured, and simulated with the geometry measured"
    )?;
    let lines: Vec<_> = points
        .iter()
        .map(|p| {
            vec![
                p.pages.to_string(),
                format!("{:.2}", p.measured),
                format!("{:.2}", p.median),
                format!("{:.2}", p.simulated),
                format!("{:+.1} %", 100.0 * (p.simulated - p.measured) / p.measured),
            ]
        })
        .collect();
    let header = ["pages", "measured p10", "median", "simulated", "difference"];
    grid(&header, &lines, 0).iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// The same as JSON.
pub fn json(points: &[Point]) -> Value {
    points
        .iter()
        .map(|p| {
            json!({
                "pages": p.pages, "measured_p10": p.measured, "measured_p50": p.median, "simulated": p.simulated,
            })
        })
        .collect()
}
