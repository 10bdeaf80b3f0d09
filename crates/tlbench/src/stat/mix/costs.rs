//! What each thing costs, from one or two records of this program, and what follows for a command.

use std::path::Path;

use anyhow::{Context, bail};
use record::Record;
use serde::Serialize;

use super::count::{self, Counted, syscall_name};

/// A cost with its standard error, ns.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cost {
    /// Per occurrence, ns.
    pub ns: f64,
    /// Standard error, ns.
    pub error_ns: f64,
}

/// The costs of one record.
pub struct Costs {
    rows: Vec<report::Row>,
    /// The record's label.
    pub label: String,
}

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Item {
    /// What is counted.
    pub what: String,
    /// Occurrences per run, or why not known.
    pub count: Result<f64, String>,
    /// Metric that tells its cost, as an expression.
    pub metric: Option<String>,
    /// Cost by each record; `None` where the record does not hold the metric.
    pub costs: Vec<Option<Cost>>,
}

/// How an event's cost is found: a metric, less another one whose work is part of it, and what to say of it.
struct Price {
    event: String,
    metric: &'static str,
    less: Option<&'static str>,
    shown: &'static str,
}

fn prices() -> Vec<Price> {
    let price = |event: String, metric, less, shown| Price { event, metric, less, shown };
    let call = |kind: &str, metric: &'static str, shown| price(syscall_name(kind), metric, None, shown);
    vec![
        price(count::FAULTS.into(), "vm.fault.anon_write", None, "vm.fault.anon_write"),
        price(count::SWITCHES.into(), "ctx.pipe.2p.0k", None, "ctx.pipe.2p.0k"),
        price(count::FORKS.into(), "proc.fork", None, "proc.fork (fork, exit, wait)"),
        price(count::EXECS.into(), "proc.exec", Some("proc.fork"), "proc.exec less proc.fork"),
        call("read", "syscall.read", "syscall.read"),
        call("write", "syscall.write", "syscall.write"),
        call("stat", "syscall.stat", "syscall.stat"),
        call("fstat", "syscall.fstat", "syscall.fstat"),
        call("open", "syscall.open_close", "syscall.open_close (with its close)"),
        call("sigaction", "sig.install", "sig.install"),
        call("mmap, munmap, mprotect, brk", "syscall.null", "syscall.null (at least)"),
        call("futex", "syscall.null", "syscall.null (at least)"),
        call("other", "syscall.null", "syscall.null (at least)"),
    ]
}

impl Costs {
    /// Reads a record.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let record = record_of(path)?;
        let rows = report::rows(&record);
        if !rows.iter().any(|row| row.metric.starts_with("syscall.") || row.metric.starts_with("vm.")) {
            bail!("{}: holds no costs; make one with `tlbench run -o FILE`", path.display());
        }
        Ok(Costs { rows, label: record.header.label })
    }

    fn cost(&self, price: &Price) -> Option<Cost> {
        let of = |name: &str| {
            let row = self.rows.iter().find(|row| row.metric == name)?;
            // The 95 % interval is about two standard errors to each side.
            Some(Cost { ns: row.value?, error_ns: row.half_width().unwrap_or(0.0) / 2.0 })
        };
        let whole = of(price.metric)?;
        let Some(less) = price.less else { return Some(whole) };
        let part = of(less)?;
        Some(Cost { ns: whole.ns - part.ns, error_ns: whole.error_ns.hypot(part.error_ns) })
            .filter(|cost| cost.ns > 0.0)
    }
}

/// Reads one record of ours.
pub fn record_of(path: &Path) -> anyhow::Result<Record> {
    Record::open(path).with_context(|| path.display().to_string())
}

/// The table of a command.
pub fn items(counted: &Counted, costs: &[Costs]) -> Vec<Item> {
    let prices = prices();
    counted
        .events
        .iter()
        .map(|(event, count)| {
            let price = prices.iter().find(|price| price.event == *event);
            Item {
                what: event.clone(),
                count: count.clone(),
                metric: price.map(|price| price.shown.to_owned()),
                costs: costs.iter().map(|costs| costs.cost(price?)).collect(),
            }
        })
        .collect()
}

/// A predicted change of a command's time from the first record to the second, ns per run, with its standard error.
/// `None` without two records.
pub fn predicted_change(items: &[Item]) -> Option<Cost> {
    let mut sum = Cost { ns: 0.0, error_ns: 0.0 };
    let mut any = false;
    for item in items {
        let [Some(a), Some(b)] = item.costs[..] else { continue };
        let Ok(count) = item.count else { continue };
        any = true;
        sum.ns += count * (b.ns - a.ns);
        sum.error_ns = sum.error_ns.hypot(count * a.error_ns.hypot(b.error_ns));
    }
    any.then_some(sum)
}

/// The measured change of a command's CPU time between two `stat` records, as a fraction with its standard error.
pub fn measured_change(before: &Path, after: &Path) -> anyhow::Result<(f64, f64)> {
    let cpu = |path: &Path| {
        let row = report::rows(&record_of(path)?).into_iter().find(|row| row.metric == "stat/cpu");
        let row = row.filter(|row| row.value.is_some());
        row.with_context(|| {
            format!("{}: holds no stat/cpu; make it with `tlbench stat -o FILE -- CMD`", path.display())
        })
    };
    let (a, b) = (cpu(before)?, cpu(after)?);
    let value = |row: &report::Row| row.value.unwrap_or(f64::NAN);
    let relative = |row: &report::Row| row.half_width().unwrap_or(0.0) / 2.0 / value(row);
    let ratio = value(&b) / value(&a);
    Ok((ratio - 1.0, ratio * relative(&a).hypot(relative(&b))))
}
