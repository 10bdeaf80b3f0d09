//! Miss-ratio curves over entries, page size or pinned entries.

use anyhow::bail;
use mmu::curve::{LruCurve, References};
use mmu::event::Event;
use mmu::machine::{Machine, PolicyName, Variation};
use mmu::sim::{Options, Simulation};
use report::plot::{LinePlot, Series};

use super::{Args, configurations};

/// Policies drawn beside LRU.
const OTHERS: [PolicyName; 3] = [PolicyName::Fifo, PolicyName::Random, PolicyName::TreePlru];
/// Sizes per doubling for policies that need one simulation each.
const PER_DOUBLING: u32 = 4;

/// A curve being computed.
pub struct Curve {
    over: String,
    /// x and series of each configuration.
    points: Vec<(f64, String)>,
    simulation: Simulation,
    lru: Vec<(String, LruCurve)>,
    most: u32,
}

impl Curve {
    /// Prepares the configurations.
    pub fn new(over: &str, args: &Args) -> anyhow::Result<Self> {
        let options =
            Options { page_limit: args.max_pages, opt_limit: args.max_future, ..Options::default() };
        let mut points = Vec::new();
        let mut machines = Vec::new();
        let mut lru = Vec::new();
        let mut most = 0;
        let bases = configurations::base_machines(args)?;
        let several = bases.len() > 1;
        for base in &bases {
            let label = |what: &str| if several { format!("{} {what}", base.name) } else { what.into() };
            match over {
                "entries" => {
                    let base = base.last_level_only();
                    let largest = base.tlbs.iter().map(|t| t.entries).max().unwrap_or(64);
                    most = most.max((4 * largest).max(64));
                    for policy in OTHERS {
                        for n in sizes(most) {
                            machines.push((String::new(), resized(&base, n, policy)?));
                            points.push((f64::from(n), label(policy.word())));
                        }
                    }
                    for (references, what) in lru_kinds(&base) {
                        lru.push((label(what), LruCurve::new(&base, references, &options)));
                    }
                }
                "page" => sweep(base, "page=4K,8K,16K,32K,64K,128K,256K,512K,1M,2M", |v| {
                    mmu::machine::parse_bytes(v).map_or(0.0, |b| b as f64)
                })?
                .into_iter()
                .for_each(|(x, m)| {
                    points.push((x, label("misses")));
                    machines.push((String::new(), m));
                }),
                _ => sweep(base, "pin=0..8", |v| v.parse().unwrap_or(0.0))?.into_iter().for_each(|(x, m)| {
                    points.push((x, label("misses")));
                    machines.push((String::new(), m));
                }),
            }
        }
        if machines.is_empty() {
            bail!("there is nothing to draw");
        }
        let simulation = Simulation::new(machines, options)?;
        Ok(Curve { over: over.into(), points, simulation, lru, most })
    }

    /// Looks at the next records.
    pub fn feed(&mut self, events: &[Event]) -> anyhow::Result<()> {
        self.simulation.feed(events)?;
        for (_, curve) in &mut self.lru {
            curve.feed(events)?;
        }
        Ok(())
    }

    /// The plot: misses in per cent of lookups.
    pub fn finish(self) -> anyhow::Result<LinePlot> {
        let mut series: Vec<Series> = Vec::new();
        for (name, curve) in &self.lru {
            let curve = curve.curve();
            let lookups = curve.lookups().max(1) as f64;
            let misses = curve.all();
            let at = |n: usize| misses.get(n - 1).or(misses.last()).copied().unwrap_or(0);
            let points =
                (1..=self.most as usize).map(|n| (n as f64, 100.0 * at(n) as f64 / lookups)).collect();
            series.push(Series { name: name.clone(), points });
        }
        for ((x, name), outcome) in self.points.iter().zip(self.simulation.finish()?) {
            let ratio = 100.0 * outcome.walks.total() as f64 / outcome.total_lookups().max(1) as f64;
            match series.iter_mut().find(|s| &s.name == name) {
                Some(s) => s.points.push((*x, ratio)),
                None => series.push(Series { name: name.clone(), points: vec![(*x, ratio)] }),
            }
        }
        let x_label = match self.over.as_str() {
            "entries" => "entries of the last level",
            "page" => "page size, bytes",
            _ => "pinned entries",
        };
        Ok(LinePlot {
            title: "TLB misses".into(),
            x_label: x_label.into(),
            y_label: "% of lookups".into(),
            log_x: self.over != "pin",
            series,
        })
    }
}

fn resized(machine: &Machine, entries: u32, policy: PolicyName) -> anyhow::Result<Machine> {
    let mut out = machine.clone();
    for tlb in &mut out.tlbs {
        tlb.entries = entries + tlb.pinned.len() as u32;
        tlb.ways = None;
        tlb.reserved = 0;
        tlb.policy = policy;
    }
    let name = machine.name.clone();
    Ok(out.checked(&name)?)
}

fn lru_kinds(machine: &Machine) -> Vec<(References, &'static str)> {
    let unified = machine.tlbs.iter().any(|t| t.serves.class(0) && t.serves.class(1));
    if unified {
        vec![(References::All, "lru, every size")]
    } else {
        vec![(References::Instruction, "lru, fetches only"), (References::Data, "lru, data only")]
    }
}

fn sizes(most: u32) -> Vec<u32> {
    let mut out: Vec<u32> = (0..)
        .map(|i| (f64::from(i) / f64::from(PER_DOUBLING)).exp2().round() as u32)
        .take_while(|&n| n <= most)
        .collect();
    out.dedup();
    out
}

fn sweep(machine: &Machine, values: &str, x: impl Fn(&str) -> f64) -> anyhow::Result<Vec<(f64, Machine)>> {
    let dim = Variation::parse(values)?;
    let xs: Vec<f64> = dim.values.iter().map(|v| x(v)).collect();
    let machines = Variation::cross(machine, &[dim])?;
    Ok(xs.into_iter().zip(machines.into_iter().map(|(_, m)| m)).collect())
}
