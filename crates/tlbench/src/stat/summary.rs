//! Mean and standard error of one metric over the good runs of one command, in the unit it is shown in.

use std::collections::BTreeMap;

use record::{Invocation, Record, Status};

/// One metric of one command.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Metric name.
    pub metric: String,
    /// Unit of the values.
    pub unit: String,
    /// Values of the good runs, in the order taken; counts of 0 included.
    pub values: Vec<f64>,
    /// Smallest running share of a counter that shared hardware with others, per cent.
    pub running_pct: Option<f64>,
    /// Why there is no value.
    pub reason: Option<String>,
}

impl Summary {
    /// Arithmetic mean, as perf prints it.
    pub fn mean(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len() as f64
    }

    /// Standard deviation; `None` with fewer than two values.
    pub fn sd(&self) -> Option<f64> {
        let n = self.values.len() as f64;
        let mean = self.mean();
        let squares: f64 = self.values.iter().map(|value| (value - mean).powi(2)).sum();
        (self.values.len() > 1).then(|| (squares / (n - 1.0)).sqrt())
    }

    /// Standard error of the mean; `None` with fewer than two values.
    pub fn standard_error(&self) -> Option<f64> {
        Some(self.sd()? / (self.values.len() as f64).sqrt())
    }
}

/// Summaries of every metric of the configuration `name`, in the order of the plan.
pub fn summaries(record: &Record, name: &str) -> Vec<Summary> {
    let mut by_metric: BTreeMap<&str, Vec<&Invocation>> = BTreeMap::new();
    for line in &record.invocations {
        if line.configuration.as_deref() == Some(name) {
            by_metric.entry(&line.metric).or_default().push(line);
        }
    }
    let planned = record.header.plan.benchmarks.iter().flat_map(|b| &b.metrics);
    planned.filter_map(|metric| Some(summary(by_metric.get(metric.name.as_str())?))).collect()
}

fn summary(lines: &[&Invocation]) -> Summary {
    let value = |line: &&Invocation| line.value.or_else(|| line.extra.get("counted")?.as_f64());
    let values: Vec<f64> = lines.iter().filter_map(value).collect();
    let shares = lines.iter().filter_map(|line| line.extra.get("running_pct")?.as_f64());
    let worst = lines.iter().find(|line| line.status != Status::Skipped).or(lines.first());
    Summary {
        metric: lines[0].metric.clone(),
        unit: lines[0].unit.to_string(),
        reason: if values.is_empty() { worst.and_then(|line| line.reason.clone()) } else { None },
        values,
        running_pct: shares.min_by(f64::total_cmp),
    }
}
