//! From a record to one row per metric.

use std::collections::BTreeMap;

use record::{Direction, Invocation, Record, Status, Unit};
use serde::Serialize;

/// One metric of one record, over its invocations.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Metric name.
    pub metric: String,
    /// Its unit.
    pub unit: Unit,
    /// The value over all invocations, `None` with a reason.
    pub value: Option<f64>,
    /// 95 % interval for this sitting and boot; `None` with fewer than two invocations.
    pub ci95: Option<[f64; 2]>,
    /// Invocations behind it.
    pub n: usize,
    /// Share of samples set aside by cause, 0-1.
    pub set_aside: f64,
    /// Why there is no value.
    pub reason: Option<String>,
    /// Per what.
    pub per: Option<String>,
    /// Which way is good.
    pub direction: Direction,
    /// CPU time of the whole machine per unit of work, ns; `None` below the resolution of /proc/stat.
    pub machine_cpu_ns: Option<f64>,
    /// True when so many samples were disturbed that none was set aside.
    pub disturbed: bool,
}

impl Row {
    /// Half the width of the interval, in the metric's unit.
    pub fn half_width(&self) -> Option<f64> {
        self.ci95.map(|[lo, hi]| (hi - lo) / 2.0)
    }
}

/// Rows of one configuration's invocations, in the order in which metrics first appear in the plan, or else in the
/// record.
pub fn rows(record: &Record) -> Vec<Row> {
    let mut order: Vec<String> =
        record.header.plan.benchmarks.iter().flat_map(|b| b.metrics.iter().map(|m| m.name.clone())).collect();
    let mut by_metric: BTreeMap<&str, Vec<&Invocation>> = BTreeMap::new();
    for line in &record.invocations {
        if !by_metric.contains_key(line.metric.as_str()) && !order.contains(&line.metric) {
            order.push(line.metric.clone());
        }
        by_metric.entry(&line.metric).or_default().push(line);
    }
    order.iter().filter_map(|name| Some(row(by_metric.get(name.as_str())?))).collect()
}

fn row(lines: &[&Invocation]) -> Row {
    let values: Vec<f64> = lines.iter().filter_map(|l| l.value).collect();
    let taken: usize = lines.iter().filter_map(|l| l.samples.as_ref()).map(Vec::len).sum();
    let aside: u32 = lines.iter().map(|l| l.set_aside).sum();
    let summary = stats::estimate::value_interval(&values);
    let first = lines[0];
    Row {
        metric: first.metric.clone(),
        unit: first.unit.clone(),
        value: summary.map(|s| s.value),
        ci95: summary.and_then(|s| s.ci95).map(|(lo, hi)| [lo, hi]),
        n: values.len(),
        set_aside: if taken == 0 { 0.0 } else { f64::from(aside) / taken as f64 },
        reason: if summary.is_some() { None } else { reason(lines) },
        per: first.per.clone(),
        direction: first.direction,
        machine_cpu_ns: machine_cpu(lines),
        disturbed: lines.iter().any(|l| l.extra.contains_key("disturbed")),
    }
}

/// The reason most lines give; failures before skips.
fn reason(lines: &[&Invocation]) -> Option<String> {
    let worst =
        lines.iter().find(|l| matches!(l.status, Status::Failed | Status::Timeout)).or(lines.first())?;
    let word = match worst.status {
        Status::Skipped | Status::Ok => "skipped",
        Status::Failed => "failed",
        Status::Timeout => "timeout",
    };
    Some(format!("{word}: {}", worst.reason.as_deref().unwrap_or("no reason given")))
}

/// Least share of the sampling loop that must be on the clock for the machine's busy time to be the timed work's.
const MOSTLY_TIMED: f64 = 0.8;

/// Busy time of the machine over the work done; at least ten ticks of /proc/stat (100 ms) are needed to state it, and
/// loops that prepare each batch outside the timed section can't state it: the counter can't tell the two apart.
fn machine_cpu(lines: &[&Invocation]) -> Option<f64> {
    let of = |line: &Invocation, key: &str| line.witness.get(key).and_then(serde_json::Value::as_f64);
    let sum = |key: &str| lines.iter().filter_map(|line| of(line, key)).sum::<f64>();
    let (busy, work) = (sum("machine_busy_ms"), sum("work_done"));
    let timed = lines.iter().filter_map(|line| of(line, "timed_share")).fold(1.0, f64::min);
    (busy >= 100.0 && work > 0.0 && timed >= MOSTLY_TIMED).then(|| busy * 1e6 / work)
}
