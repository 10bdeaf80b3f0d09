//! criterion.rs: the files of `target/criterion` (estimates, sample) and critcmp's export of them.
//!
//! All samples of a benchmark come from one process: they are samples of one invocation, not independent runs.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::ImportError;
use super::input::Input;
use super::json::Document;
use super::sink::{Run, Sink};
use crate::{Direction, Invocation, Unit};

const TOOL: &str = "criterion";

#[derive(Deserialize)]
struct Estimate {
    confidence_interval: Interval,
    point_estimate: Option<f64>,
}

#[derive(Deserialize)]
struct Interval {
    lower_bound: Option<f64>,
    upper_bound: Option<f64>,
}

#[derive(Deserialize)]
struct Estimates {
    mean: Estimate,
    median: Estimate,
    std_dev: Option<Estimate>,
    slope: Option<Estimate>,
}

#[derive(Deserialize)]
struct Sample {
    iters: Vec<f64>,
    times: Vec<f64>,
}

#[derive(Deserialize)]
struct Named {
    full_id: String,
}

#[derive(Deserialize)]
struct Critcmp {
    name: String,
    benchmarks: BTreeMap<String, Exported>,
}

#[derive(Deserialize)]
struct Exported {
    criterion_estimates_v1: Estimates,
    criterion_benchmark_v1: Option<Value>,
}

fn bare(name: &str) -> Invocation {
    Invocation::foreign(&format!("criterion/{name}"), Unit::NS, Direction::Smaller)
}

/// The slope of the linear regression where criterion made one, else the mean: what its own screen shows.
fn invocation(name: &str, estimates: &Estimates) -> Option<Invocation> {
    let (word, estimate) = match &estimates.slope {
        Some(slope) => ("slope", slope),
        None => ("mean", &estimates.mean),
    };
    let mut made = bare(name).with_value(estimate.point_estimate?);
    let ci = &estimate.confidence_interval;
    made.extra.insert("estimate".into(), json!(word));
    made.extra.insert("ci95_of_one_process".into(), json!([ci.lower_bound, ci.upper_bound]));
    made.extra.insert("mean".into(), json!(estimates.mean.point_estimate));
    made.extra.insert("median".into(), json!(estimates.median.point_estimate));
    if let Some(std_dev) = &estimates.std_dev {
        made.extra.insert("std_dev".into(), json!(std_dev.point_estimate));
    }
    Some(made)
}

fn note(sink: &mut Sink) {
    sink.note(
        "criterion's samples come from one process per benchmark: they count as one run, whatever their number",
    );
}

/// Reads an `estimates.json`.
pub(super) fn estimates(document: &Document, input: &Input, sink: &mut Sink) -> Result<(), ImportError> {
    let value: Value = document.parse("criterion estimates", sink)?;
    if value.get("std_dev").is_none() {
        return Err(ImportError::Nothing {
            file: sink.file.clone(),
            what: "criterion's estimates of a change: ratios, no times".into(),
        });
    }
    let estimates: Estimates = document.parse("criterion estimates", sink)?;
    let (name, configuration) = place(&input.origin.file);
    let made = invocation(&name, &estimates);
    keep(made, configuration, sink)
}

/// Reads a `sample.json`.
pub(super) fn sample(document: &Document, input: &Input, sink: &mut Sink) -> Result<(), ImportError> {
    let sample: Sample = document.parse("criterion sample", sink)?;
    let (name, configuration) = place(&input.origin.file);
    let pairs = sample.times.iter().zip(&sample.iters);
    let samples: Vec<f64> = pairs.filter(|(_, iters)| **iters > 0.0).map(|(t, n)| t / n).collect();
    if samples.is_empty() || sample.times.len() != sample.iters.len() {
        return Err(ImportError::Nothing {
            file: sink.file.clone(),
            what: format!("{} times for {} iteration counts", sample.times.len(), sample.iters.len()),
        });
    }
    let mean = samples.iter().sum::<f64>() / samples.len() as f64;
    let mut made = bare(&name).with_value(mean);
    made.extra.insert("estimate".into(), json!("mean of samples"));
    made.samples = Some(samples);
    keep(Some(made), configuration, sink)
}

fn keep(made: Option<Invocation>, configuration: Option<String>, sink: &mut Sink) -> Result<(), ImportError> {
    let Some(made) = made else {
        return Err(ImportError::Nothing {
            file: sink.file.clone(),
            what: "an estimate without a value".into(),
        });
    };
    note(sink);
    let mut run = Run::new(TOOL);
    run.configuration = configuration;
    run.invocations.push(made);
    sink.run(run);
    Ok(())
}

/// The benchmark's name and baseline: from `benchmark.json` beside the file, else from the path
/// (`target/criterion/group/function/new/estimates.json`), else from the file's name.
fn place(file: &Path) -> (String, Option<String>) {
    let directory = file.parent();
    let baseline = directory.and_then(Path::file_name).map(|n| n.to_string_lossy().into_owned());
    let beside = directory.map(|d| d.join("benchmark.json"));
    let named = beside
        .and_then(|path| std::fs::read(path).ok())
        .and_then(|bytes| serde_json::from_slice::<Named>(&bytes).ok());
    let name = file.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let standard = name == "estimates.json" || name == "sample.json";
    if let Some(named) = named {
        return (named.full_id, baseline.filter(|_| standard));
    }
    if standard && let Some(directory) = directory.and_then(Path::parent) {
        let parts: Vec<String> = directory.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let from = parts
            .iter()
            .rposition(|part| part == "criterion")
            .map_or(parts.len().saturating_sub(1), |at| at + 1);
        return (parts[from.min(parts.len())..].join("/"), baseline);
    }
    let stem = name.trim_end_matches(".json").trim_end_matches(".estimates").trim_end_matches(".sample");
    (stem.to_owned(), None)
}

/// Reads an export of critcmp.
pub(super) fn critcmp(document: &Document, sink: &mut Sink) -> Result<(), ImportError> {
    let export: Critcmp = document.parse("critcmp export", sink)?;
    let mut run = Run::new(TOOL);
    run.configuration = Some(export.name);
    for (name, exported) in &export.benchmarks {
        sink.count(0)?;
        let Some(mut made) = invocation(name, &exported.criterion_estimates_v1) else {
            sink.skip(0, name.as_bytes(), "an estimate without a value");
            continue;
        };
        let throughput = exported
            .criterion_benchmark_v1
            .as_ref()
            .and_then(|b| b.get("throughput"))
            .filter(|t| !t.is_null());
        if let Some(throughput) = throughput {
            made.extra.insert("throughput".into(), throughput.clone());
        }
        run.invocations.push(made);
    }
    note(sink);
    sink.run(run);
    Ok(())
}

/// One benchmark's estimates and samples, found in two files of one directory, are one invocation.
pub(super) fn join(invocations: &mut Vec<Invocation>) {
    let mut samples: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for invocation in invocations.iter_mut() {
        if invocation.metric.starts_with("criterion/")
            && let Some(taken) = invocation.samples.take()
        {
            samples.insert(invocation.metric.clone(), taken);
        }
    }
    let estimated = |i: &Invocation| i.extra.get("estimate").is_some_and(|e| e != "mean of samples");
    let known: Vec<String> = invocations.iter().filter(|i| estimated(i)).map(|i| i.metric.clone()).collect();
    invocations.retain(|i| estimated(i) || !i.metric.starts_with("criterion/") || !known.contains(&i.metric));
    for invocation in invocations {
        if let Some(found) = samples.remove(&invocation.metric) {
            invocation.samples = Some(found);
        }
    }
}
