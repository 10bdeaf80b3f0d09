//! What each thing costs by a record of this program, and how that changes from one configuration to another.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, bail};
use record::Unit;
use report::compare::{Gathered, Rules, gather};
use serde::Serialize;

use super::count::{self, Counted, syscall_name};
use crate::inputs;

/// A number of ns with its uncertainty.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cost {
    /// ns.
    pub ns: f64,
    /// Half the width of its 95 % interval, ns; 0 where a single invocation gives none.
    pub half_width_ns: f64,
}

/// How many of a metric an occurrence is, and the metric.
type Term = (&'static str, f64);

/// An event and what an occurrence of it is made of; the first alternative that a record holds is taken.
struct Price {
    event: String,
    alternatives: &'static [&'static [Term]],
    /// Said where there is no price of its own.
    instead: &'static str,
}

fn prices() -> Vec<Price> {
    let price = |event: &str, alternatives| Price { event: event.into(), alternatives, instead: "" };
    let call = |kind: &str, alternatives| Price { event: syscall_name(kind), alternatives, instead: "" };
    let within = |event: String, instead| Price { event, alternatives: &[], instead };
    vec![
        price(count::FAULTS, &[&[("vm.fault.anon_write", 1.0)]]),
        price(count::SWITCHES, &[&[("ctx.pipe.2p.0k", 1.0)]]),
        price(count::FORKS, &[&[("proc.fork", 1.0)]]),
        price(count::EXECS, &[&[("proc.exec", 1.0), ("proc.fork", -1.0)]]),
        within(count::WAKE_UPS.into(), "in switches"),
        within(count::FLUSHES.into(), "no cost is measured alone"),
        call("read", &[&[("syscall.read", 1.0)], NULL]),
        call("write", &[&[("syscall.write", 1.0)], NULL]),
        call("stat", &[&[("syscall.stat", 1.0)], NULL]),
        call("fstat", &[&[("syscall.fstat", 1.0)], NULL]),
        call("open", &[&[("syscall.open_close", 1.0)], NULL]),
        within(syscall_name("close"), "with open"),
        call("poll, select, epoll", &[&[("poll.file.10", 1.0)], NULL]),
        call("mmap", &[&[("vm.mt.mmap.1t", 1.0)], NULL]),
        within(syscall_name("munmap"), "with mmap"),
        call("mprotect", &[&[("vm.flush.mprotect.1p.0t", 1.0)], NULL]),
        call("madvise", &[&[("vm.flush.dontneed.1p.0t", 1.0)], NULL]),
        call("brk", &[&[("vm.brk", 0.5)], NULL]),
        call("sigaction", &[&[("sig.install", 1.0)], NULL]),
        call("futex", &[&[("futex.hash.private.1t", 1.0)], NULL]),
        call("clock_gettime", &[&[("clock.gettime_syscall", 1.0)], NULL]),
        call("sched_yield", &[&[("syscall.sched_yield", 1.0)], NULL]),
        within(syscall_name("fork, exec, wait"), "with forks and execs"),
        call("other", &[NULL]),
    ]
}

/// The least a system call costs.
const NULL: &[Term] = &[("syscall.null", 1.0)];

/// Costs by one configuration, and their change to a second one.
pub struct Costs {
    /// The configurations' names.
    pub labels: Vec<String>,
    by_metric: [BTreeMap<String, Cost>; 2],
    change: BTreeMap<String, Cost>,
}

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Item {
    /// What is counted.
    pub what: String,
    /// Occurrences per run, or why not known.
    pub count: Result<f64, String>,
    /// What its price is made of, as text.
    pub price: String,
    terms: &'static [Term],
    /// Price of an occurrence by each configuration; `None` where a record does not tell.
    pub costs: [Option<Cost>; 2],
    /// Change of that price.
    pub change: Option<Cost>,
}

impl Costs {
    /// Reads one record (of one configuration, or of the two of an interleaved run) or two. The change of each cost is
    /// what `compare` finds between the two, its interval included: between two sittings it allows for their variance.
    pub fn read(paths: &[PathBuf], rules: &Rules<'_>, options: &stats::Options) -> anyhow::Result<Self> {
        if paths.is_empty() {
            return Ok(Costs { labels: vec![], by_metric: Default::default(), change: BTreeMap::new() });
        }
        let (named, _) = inputs::read(paths, &[])?;
        let gathered = gather(&named, rules);
        let labels: Vec<String> = gathered.table.configurations.iter().map(|c| c.name.clone()).collect();
        let files: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        if labels.len() > 2 || labels.len() < paths.len() {
            bail!(
                "{}: {} configurations; give one record of one or two, or two records of one each",
                files.join(" "),
                labels.len()
            );
        }
        let mut by_metric: [BTreeMap<String, Cost>; 2] = Default::default();
        for (which, costs) in by_metric.iter_mut().enumerate().take(labels.len()) {
            *costs = costs_of(&gathered, which);
        }
        if !by_metric[0].keys().any(|metric| metric.starts_with("syscall.") || metric.starts_with("vm.")) {
            bail!("{}: no costs in it; make it with `tlbench run -o FILE` or `ab -o FILE`", files.join(" "));
        }
        let change = match labels.len() {
            2 => changes(&gathered, options, &by_metric[0]),
            _ => BTreeMap::new(),
        };
        Ok(Costs { labels, by_metric, change })
    }

    /// A price by configuration `which`.
    fn price(&self, terms: &[Term], which: usize) -> Option<Cost> {
        sum(terms, &self.by_metric[which]).filter(|cost| cost.ns > 0.0)
    }
}

/// A sum over terms; their errors are independent.
fn sum(terms: &[Term], of: &BTreeMap<String, Cost>) -> Option<Cost> {
    let mut sum = Cost { ns: 0.0, half_width_ns: 0.0 };
    for (metric, times) in terms {
        let cost = of.get(*metric)?;
        sum.ns += times * cost.ns;
        sum.half_width_ns = sum.half_width_ns.hypot(times * cost.half_width_ns);
    }
    (!terms.is_empty()).then_some(sum)
}

/// Costs by configuration `which`.
fn costs_of(gathered: &Gathered, which: usize) -> BTreeMap<String, Cost> {
    let in_ns = gathered.table.metrics.iter().zip(&gathered.units).filter(|(_, (unit, _))| *unit == Unit::NS);
    let cost = |metric: &stats::Measured| {
        let values: Vec<f64> = metric.cells.get(which)?.observations.iter().map(|o| o.value).collect();
        let location = stats::estimate::value_interval(&values)?;
        let half_width_ns = location.ci95.map_or(0.0, |(lo, hi)| (hi - lo) / 2.0);
        Some((metric.name.clone(), Cost { ns: location.value, half_width_ns }))
    };
    in_ns.filter_map(|(metric, _)| cost(metric)).collect()
}

/// The change of every cost from the first configuration to the second.
fn changes(
    gathered: &Gathered,
    options: &stats::Options,
    before: &BTreeMap<String, Cost>,
) -> BTreeMap<String, Cost> {
    let report = stats::compare(&gathered.table, &[(0, 1)], options);
    let rows = report.comparisons.into_iter().flat_map(|comparison| comparison.rows);
    rows.filter_map(|row| {
        let (cost, ratio, interval) = (before.get(&row.metric)?, row.ratio?, row.ci95?);
        let half_width_ns = cost.ns * (interval.hi - interval.lo) / 2.0;
        Some((row.metric, Cost { ns: cost.ns * (ratio - 1.0), half_width_ns }))
    })
    .collect()
}

/// The table of a command.
pub fn items(counted: &Counted, costs: &Costs) -> Vec<Item> {
    let prices = prices();
    let item = |(event, count): &(String, Result<f64, String>)| {
        let price = prices.iter().find(|price| price.event == *event);
        let known = |terms: &&&'static [Term]| costs.price(terms, 0).is_some();
        let terms =
            price.and_then(|price| price.alternatives.iter().find(known)).copied().unwrap_or_default();
        let priced = price.is_some_and(|price| !price.alternatives.is_empty());
        Item {
            what: event.clone(),
            count: count.clone(),
            price: match price {
                _ if !terms.is_empty() => shown(terms, priced_at_least(event, terms)),
                Some(_) if priced && !costs.labels.is_empty() => "not in the record".into(),
                Some(price) if !costs.labels.is_empty() => price.instead.into(),
                _ => String::new(),
            },
            terms,
            costs: [costs.price(terms, 0), costs.price(terms, 1)],
            change: sum(terms, &costs.change),
        }
    };
    counted.events.iter().map(item).collect()
}

/// Whether a call is priced as one that does nothing.
fn priced_at_least(event: &str, terms: &[Term]) -> bool {
    event.starts_with("system call") && terms == NULL
}

fn shown(terms: &[Term], at_least: bool) -> String {
    let term = |(i, (metric, times)): (usize, &Term)| match *times {
        1.0 => (*metric).to_owned(),
        -1.0 if i > 0 => format!("less {metric}"),
        times => format!("{times} {metric}"),
    };
    let text: Vec<String> = terms.iter().enumerate().map(term).collect();
    format!("{}{}", text.join(" "), if at_least { " at least" } else { "" })
}

/// The predicted change of a run from the first configuration to the second, ns, with the half-width of its 95 %
/// interval. What several items owe to one metric is one error, not several. `None` without two configurations.
pub fn predicted_change(items: &[Item], costs: &Costs) -> Option<Cost> {
    let mut weights: BTreeMap<&str, f64> = BTreeMap::new();
    for item in items.iter().filter(|item| item.change.is_some()) {
        let Ok(count) = item.count else { continue };
        for (metric, times) in item.terms {
            *weights.entry(metric).or_default() += times * count;
        }
    }
    let mut whole = Cost { ns: 0.0, half_width_ns: 0.0 };
    for (metric, weight) in &weights {
        let change = costs.change.get(*metric)?;
        whole.ns += weight * change.ns;
        whole.half_width_ns = whole.half_width_ns.hypot(weight * change.half_width_ns);
    }
    (!weights.is_empty()).then_some(whole)
}

/// A measured change of a command's CPU time: fraction and 95 % interval.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// other / base - 1.
    pub fraction: f64,
    /// Its 95 % interval.
    pub ci95: [f64; 2],
    /// The two configurations compared.
    pub between: [String; 2],
}

/// The change of `stat/cpu` between two `stat` records, or between the two commands of one.
pub fn measured_change(
    paths: &[PathBuf],
    rules: &Rules<'_>,
    options: &stats::Options,
) -> anyhow::Result<Change> {
    let (named, _) = inputs::read(paths, &[])?;
    let gathered = gather(&named, rules);
    let names: Vec<&String> = gathered.table.configurations.iter().map(|c| &c.name).collect();
    let files = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ");
    let [a, b] = names[..] else {
        bail!("{files}: {} commands; --measured takes two to compare", names.len())
    };
    let report = stats::compare(&gathered.table, &[(0, 1)], options);
    let mut rows = report.comparisons.into_iter().flat_map(|comparison| comparison.rows);
    let row = rows.find(|row| row.metric == "stat/cpu");
    let told = row.and_then(|row| Some((row.ratio?, row.ci95?)));
    let (ratio, interval) = told.with_context(|| {
        format!("{files}: no stat/cpu with an interval; make it with `tlbench stat -r N -o FILE -- CMD`")
    })?;
    let ci95 = [interval.lo - 1.0, interval.hi - 1.0];
    Ok(Change { fraction: ratio - 1.0, ci95, between: [a.clone(), b.clone()] })
}
