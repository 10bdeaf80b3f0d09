//! `tlbench stat --simulate-tlb`: TLB misses of commands on a machine that need not be here.
//!
//! A command runs once, under the tracer of `tlbench trace`, and its references go through the simulator. That needs no
//! PMU; the counts are those of a model, and so they are marked as simulated wherever they appear.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Context;
use mmu::machine::Machine;
use mmu::sim::{Options, Outcome as Simulated, Simulation};
use report::{grid, significant};
use serde_json::{Value, json};

use crate::cmd::trace::{Facts, Source};
use crate::exit::Outcome;

/// Fetches, or loads and stores, and what became of them.
struct Side {
    /// In columns.
    name: &'static str,
    lookups: u64,
    /// Misses of the first level; `None` when this machine's first level does not tell the sides apart, or has none for
    /// this side.
    first: Option<u64>,
    /// Misses of all levels: page walks.
    walks: u64,
}

/// One command's counts.
struct Counts {
    name: String,
    references: u64,
    instructions: u64,
    sides: [Side; 2],
}

/// Traces and simulates each of the commands, given as name and words.
pub fn run(machine: &str, commands: &[(String, Vec<OsString>)], as_json: bool) -> Outcome {
    let machine = Machine::load(machine)?;
    let mut counts = Vec::new();
    let mut exit = ExitCode::SUCCESS;
    for (name, words) in commands {
        let (simulated, facts) = simulate(&machine, words).with_context(|| name.clone())?;
        counts.push(Counts::new(name, &simulated));
        if facts.interrupted() {
            exit = facts.exit();
            eprintln!("tlbench: interrupted: the counts of {name} end where it was stopped");
            break;
        }
    }
    let mut out = io::stdout().lock();
    if as_json {
        serde_json::to_writer_pretty(&mut out, &document(&machine, &counts))?;
        writeln!(out)?;
    } else {
        print(&mut out, &machine, &counts)?;
    }
    Ok(exit)
}

fn simulate(machine: &Machine, words: &[OsString]) -> anyhow::Result<(Simulated, Facts)> {
    let named = vec![(machine.name.clone(), machine.clone())];
    let mut simulation = Simulation::new(named, Options::default())?;
    let mut stream = Source::of_command(words.to_vec()).open()?;
    let mut chunk = Vec::new();
    while stream.next(&mut chunk)? {
        simulation.feed(&chunk)?;
    }
    simulation.feed(&chunk)?;
    let facts = stream.finish()?;
    let outcome = simulation.finish()?.into_iter().next().context("no outcome of the simulation")?;
    Ok((outcome, facts))
}

impl Counts {
    fn new(name: &str, outcome: &Simulated) -> Self {
        let side = |name, data: bool| {
            let classes = if data { 1..3 } else { 0..1 };
            Side {
                name,
                lookups: outcome.lookups[classes.clone()].iter().flatten().sum(),
                first: first_level(outcome, classes),
                walks: outcome.walks.of_side(data),
            }
        };
        Counts {
            name: name.to_owned(),
            references: outcome.references,
            instructions: outcome.instructions,
            sides: [side("dTLB", true), side("iTLB", false)],
        }
    }
}

/// Misses of the first-level TLBs that serve these classes of reference and no other.
fn first_level(outcome: &Simulated, classes: std::ops::Range<usize>) -> Option<u64> {
    let tlbs = outcome.machine.tlbs.iter().zip(&outcome.tlbs).filter(|(spec, _)| spec.level == 1);
    let own: Vec<_> = tlbs.filter(|(spec, _)| classes.clone().any(|c| spec.serves.class(c))).collect();
    let apart = own.iter().all(|(spec, _)| (0..3).all(|c| classes.contains(&c) || !spec.serves.class(c)));
    (apart && !own.is_empty()).then(|| own.iter().map(|(_, tlb)| tlb.misses).sum())
}

fn print(out: &mut impl Write, machine: &Machine, counts: &[Counts]) -> io::Result<()> {
    writeln!(out, "simulated: the TLBs of {}, user references of one run under valgrind\n", machine.name)?;
    let header =
        ["command", "instructions", "TLB", "lookups", "level-1 misses", "page walks", "walks/1000 instr."];
    let rows: Vec<_> = counts.iter().flat_map(|c| c.sides.iter().map(|s| row(c, s))).collect();
    grid(&header, &rows, 1).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    if counts.iter().flat_map(|c| &c.sides).any(|s| s.first.is_none()) {
        writeln!(out, "\n-: this machine's first level serves fetches and data alike, or not at all")?;
    }
    Ok(())
}

fn row(counts: &Counts, side: &Side) -> Vec<String> {
    vec![
        counts.name.clone(),
        counts.instructions.to_string(),
        side.name.into(),
        side.lookups.to_string(),
        side.first.map_or("-".into(), |n| n.to_string()),
        side.walks.to_string(),
        per_thousand(counts, side).map_or("-".into(), |n| significant(n, None)),
    ]
}

/// Page walks per thousand instructions; `None` without an instruction.
fn per_thousand(counts: &Counts, side: &Side) -> Option<f64> {
    (counts.instructions > 0).then(|| 1000.0 * side.walks as f64 / counts.instructions as f64)
}

fn document(machine: &Machine, counts: &[Counts]) -> Value {
    let side = |counts: &Counts, side: &Side| {
        json!({
            "lookups": side.lookups,
            "level_1_misses": side.first,
            "walks": side.walks,
            "walks_per_1000_instructions": per_thousand(counts, side),
        })
    };
    let command = |c: &Counts| {
        let [data, fetches] = &c.sides;
        json!({
            "name": c.name,
            "references": c.references,
            "instructions": c.instructions,
            "dtlb": side(c, data),
            "itlb": side(c, fetches),
        })
    };
    json!({
        "simulated": true,
        "machine": machine.name,
        "references": "user space, one run under valgrind's lackey",
        "commands": counts.iter().map(command).collect::<Vec<_>>(),
    })
}
