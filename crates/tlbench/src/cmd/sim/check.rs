//! `--check`: the cost curve that `tlbench tlb` measured beside the one simulated with the geometry it found.

use std::io::{self, Write};

use anyhow::{Context, bail};
use mmu::cost::{Scale, cycles};
use mmu::generate::Generator;
use mmu::machine::{Machine, TlbSpec};
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

impl Point {
    /// Simulated against measured, in per cent.
    fn difference(&self) -> f64 {
        100.0 * (self.simulated - self.measured) / self.measured
    }
}

/// The class of reference of the chain.
const LOADS: usize = 1;
/// Rounds of the chain that are simulated after one that fills the TLBs.
const ROUNDS: u64 = 4;

/// Simulates every point of the curve that the probe measured beside the geometry of `machine`.
pub fn check(text: &str, machine: &Machine) -> anyhow::Result<Vec<Point>> {
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
            simulated: floor + translation(machine, m.pages)?,
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

/// The table, and what it comes to.
pub fn print(out: &mut impl Write, machine: &Machine, points: &[Point]) -> io::Result<()> {
    writeln!(
        out,
        "\nCycles per access of a shuffled chain: measured, and simulated with the geometry measured\n\
         ({}; replacement is assumed: {})",
        outline(machine),
        policies(machine)
    )?;
    let lines: Vec<_> = points
        .iter()
        .map(|p| {
            vec![
                p.pages.to_string(),
                format!("{:.2}", p.measured),
                format!("{:.2}", p.median),
                format!("{:.2}", p.simulated),
                format!("{:+.1} %", p.difference()),
            ]
        })
        .collect();
    let header = ["pages", "measured p10", "median", "simulated", "difference"];
    grid(&header, &lines, 0).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    writeln!(out)?;
    ranges(machine, points).iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// The TLBs of a machine in a line.
pub fn outline(machine: &Machine) -> String {
    let one = |t: &TlbSpec| match t.ways {
        Some(ways) => format!("{} {} entries, {ways} ways", t.name, t.entries),
        None => format!("{} {} entries", t.name, t.entries),
    };
    machine.tlbs.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn policies(machine: &Machine) -> String {
    let mut words: Vec<_> = machine.tlbs.iter().map(|t| t.policy.word()).collect();
    words.sort_unstable();
    words.dedup();
    words.join(", ")
}

/// How far apart the curves are between the sizes of the TLBs that loads visit: the typical and the largest difference.
fn ranges(machine: &Machine, points: &[Point]) -> Vec<String> {
    let mut edges: Vec<_> =
        machine.tlbs.iter().filter(|t| t.serves.class(LOADS)).map(|t| u64::from(t.entries)).collect();
    edges.sort_unstable();
    edges.dedup();
    edges.push(u64::MAX);
    let mut from = 0;
    let mut lines = Vec::new();
    for to in edges {
        let mut inside: Vec<_> = points.iter().filter(|p| from < p.pages && p.pages <= to).collect();
        inside.sort_by(|a, b| a.difference().abs().total_cmp(&b.difference().abs()));
        if let (Some(typical), Some(most)) = (inside.get(inside.len() / 2), inside.last()) {
            let span =
                if to == u64::MAX { format!("more than {from}") } else { format!("{} to {to}", from + 1) };
            lines.push(format!(
                "{span} pages: half of the points within {:.1} %; most at {} pages, {:+.1} %",
                typical.difference().abs(),
                most.pages,
                most.difference()
            ));
        }
        from = to;
    }
    lines
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
