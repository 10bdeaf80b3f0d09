//! Which machines are simulated, and their results put together again.

use std::process::Command;

use anyhow::{Context, bail};
use mmu::machine::{Machine, MachineError, PolicyName, Variation};
use mmu::sim::Outcome;

use super::Args;

/// One row of the table: a machine, several times over if its replacement is random.
pub struct Entry {
    /// Name in tables.
    pub name: String,
    /// The machine, once per seed.
    pub machines: Vec<Machine>,
}

/// The outcome of one row.
pub struct Row {
    /// Name in tables.
    pub name: String,
    /// The outcome (of the first seed).
    pub outcome: Outcome,
    /// Misses of every seed; one number when nothing is random.
    pub walks: Vec<u64>,
}

impl Row {
    /// Mean of the misses.
    pub fn mean(&self) -> f64 {
        self.walks.iter().sum::<u64>() as f64 / self.walks.len() as f64
    }

    /// Their standard deviation over seeds; `None` for one.
    pub fn deviation(&self) -> Option<f64> {
        let n = self.walks.len();
        let mean = self.mean();
        let squares: f64 = self.walks.iter().map(|&w| (w as f64 - mean).powi(2)).sum();
        (n > 1).then(|| (squares / (n - 1) as f64).sqrt())
    }
}

/// Machines named on the command line, with the mapping applied.
pub fn base_machines(args: &Args) -> anyhow::Result<Vec<Machine>> {
    args.machine
        .iter()
        .map(|name| {
            let machine = if name == "this" { this()? } else { Machine::load(name)? };
            let machine = if args.last_level { machine.last_level_only() } else { machine };
            match &args.map {
                None => Ok(machine),
                Some(map) => with_map(&machine, map),
            }
        })
        .collect()
}

/// This machine, as measured now; what was found goes to standard error.
fn this() -> anyhow::Result<Machine> {
    let machine = Machine::from_text(&probe("this")?, "this")?;
    eprintln!("tlbench: found {}", super::check::outline(&machine));
    Ok(machine)
}

fn with_map(machine: &Machine, map: &str) -> anyhow::Result<Machine> {
    if std::path::Path::new(map).is_file() {
        let text = std::fs::read_to_string(map).with_context(|| map.to_owned())?;
        return Ok(machine.with_map_file(&text, map)?);
    }
    Ok(machine.with_preset(map)?)
}

/// The JSON of the TLB probe: a file's, or measured now in a process of its own.
pub fn probe(name: &str) -> anyhow::Result<String> {
    if name != "this" {
        return std::fs::read_to_string(name).with_context(|| name.to_owned());
    }
    let this = std::env::current_exe().context("finding this program")?;
    eprintln!("tlbench: measuring this machine's TLBs");
    let output =
        Command::new(this).args(["tlb", "--json"]).stderr(std::process::Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("tlbench tlb --json failed ({}); give its output as a file instead", output.status);
    }
    String::from_utf8(output.stdout).context("the output of tlbench tlb")
}

/// The rows to simulate.
pub fn entries(args: &Args) -> anyhow::Result<Vec<Entry>> {
    let mut dims = args.vary.iter().map(|v| Variation::parse(v)).collect::<Result<Vec<_>, MachineError>>()?;
    if let Some(pins) = &args.pin {
        dims.push(Variation::parse(&format!("pin={pins}"))?);
    }
    let machines = base_machines(args)?;
    let several = machines.len() > 1;
    let mut entries = Vec::new();
    for machine in &machines {
        for (name, varied) in Variation::cross(machine, &dims)? {
            let name =
                if several && name != machine.name { format!("{} {name}", machine.name) } else { name };
            let name = if name.is_empty() { "machine".into() } else { name };
            entries.push(Entry { name, machines: seeded(varied, args.seeds) });
        }
    }
    Ok(entries)
}

fn seeded(machine: Machine, seeds: u32) -> Vec<Machine> {
    if machine.tlbs.iter().all(|t| t.policy != PolicyName::Random) {
        return vec![machine];
    }
    (0..u64::from(seeds))
        .map(|i| {
            let mut machine = machine.clone();
            for tlb in machine.tlbs.iter_mut().filter(|t| t.policy == PolicyName::Random) {
                tlb.seed += i;
            }
            machine
        })
        .collect()
}

/// The flat list that a simulation takes.
pub fn machines(entries: &[Entry]) -> Vec<(String, Machine)> {
    entries.iter().flat_map(|e| e.machines.iter().map(|m| (e.name.clone(), m.clone()))).collect()
}

/// Rows from the flat list of outcomes.
pub fn results(entries: &[Entry], outcomes: Vec<Outcome>) -> Vec<Row> {
    let mut outcomes = outcomes.into_iter();
    let mut rows = Vec::new();
    for entry in entries {
        let own: Vec<_> = outcomes.by_ref().take(entry.machines.len()).collect();
        let walks = own.iter().map(|o| o.walks.total()).collect();
        if let Some(outcome) = own.into_iter().next() {
            rows.push(Row { name: entry.name.clone(), outcome, walks });
        }
    }
    rows
}

/// Index of the row that others are compared with.
pub fn baseline(rows: &[Row], name: Option<&str>) -> anyhow::Result<usize> {
    let Some(name) = name else { return Ok(0) };
    rows.iter().position(|r| r.name == name).with_context(|| {
        let names: Vec<_> = rows.iter().map(|r| format!("{:?}", r.name)).collect();
        format!("--baseline {name:?} is none of {}", names.join(", "))
    })
}
