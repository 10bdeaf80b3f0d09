//! Google Benchmark: JSON and CSV reports. Repetitions come from one process.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::ImportError;
use super::input::Input;
use super::json::Document;
use super::number::{decimal, text};
use super::sink::{Run, Sink};
use crate::{Direction, Invocation, Status, Summary, Unit};

#[derive(Deserialize)]
struct Report {
    context: Map<String, Value>,
    benchmarks: Vec<Entry>,
}

#[derive(Clone, Default, Deserialize)]
struct Entry {
    name: String,
    run_name: Option<String>,
    run_type: Option<String>,
    aggregate_name: Option<String>,
    aggregate_unit: Option<String>,
    repetitions: Option<u32>,
    repetition_index: Option<u32>,
    iterations: Option<u64>,
    real_time: Option<f64>,
    cpu_time: Option<f64>,
    time_unit: Option<String>,
    error_occurred: Option<bool>,
    error_message: Option<String>,
    #[serde(flatten)]
    counters: Map<String, Value>,
}

/// Fields of an entry that are no counters.
const FACTS: [&str; 8] = [
    "family_index",
    "per_family_instance_index",
    "threads",
    "label",
    "skipped",
    "skip_message",
    "big_o",
    "rms",
];

/// Reads a JSON report.
pub(super) fn read(document: &Document, sink: &mut Sink) -> Result<(), ImportError> {
    let report: Report = document.parse("Google Benchmark JSON", sink)?;
    let mut run = Run::new("google-benchmark");
    if let Some(date) = report.context.get("date").and_then(Value::as_str) {
        run.started = date.to_owned();
    }
    for key in ["num_cpus", "mhz_per_cpu", "cpu_scaling_enabled", "library_build_type"] {
        if let Some(held) = report.context.get(key) {
            run.environment.insert(key.to_owned(), held.clone());
        }
    }
    if report.context.get("library_build_type").and_then(Value::as_str) == Some("debug") {
        sink.note("the benchmark library was built for debugging, timings may be off");
    }
    entries(report.benchmarks, run, sink)
}

fn entries(all: Vec<Entry>, mut run: Run, sink: &mut Sink) -> Result<(), ImportError> {
    let mut seen = HashSet::new();
    let mut aggregates: HashMap<(String, String), Entry> = HashMap::new();
    let mut measured = HashSet::new();
    let mut order = Vec::new();
    for entry in all {
        sink.count(0)?;
        let name = entry.run_name.clone().unwrap_or_else(|| entry.name.clone());
        if entry.run_type.as_deref() == Some("aggregate") {
            let kind = entry.aggregate_name.clone().unwrap_or_default();
            if entry.aggregate_unit.as_deref() != Some("percentage") {
                order.push(name.clone());
                aggregates.insert((name, kind), entry);
            }
            continue;
        }
        if entry.error_occurred == Some(true) {
            let why = entry.error_message.unwrap_or_else(|| "an error occurred".into());
            run.invocations.push(
                metric(&name, "real_time", Unit::NS, Direction::Smaller).without_value(Status::Failed, why),
            );
            continue;
        }
        if let Some(index) = entry.repetition_index
            && !seen.insert((entry.name.clone(), index))
        {
            let why = format!("repetition {index} appears twice; the first stands");
            sink.skip(0, entry.name.as_bytes(), why);
            continue;
        }
        measured.insert(name.clone());
        repetition(&name, &entry, &mut run, sink);
    }
    // only aggregates were reported: mean and standard deviation over the repetitions
    for name in order {
        if measured.contains(&name) {
            continue;
        }
        let of = |kind: &str| aggregates.get(&(name.clone(), kind.to_owned()));
        if let Some(mean) = of("mean") {
            aggregate(&name, mean, of("stddev"), &mut run);
            measured.insert(name);
        }
    }
    sink.note(
        "repetitions of Google Benchmark share one process: the spread between processes is not in them",
    );
    sink.run(run);
    Ok(())
}

fn metric(name: &str, what: &str, unit: Unit, direction: Direction) -> Invocation {
    Invocation::foreign(&format!("gbench/{name} {what}"), unit, direction)
}

fn time_unit(entry: &Entry) -> Unit {
    Unit::from(entry.time_unit.clone().unwrap_or_else(|| "ns".to_owned()))
}

fn repetition(name: &str, entry: &Entry, run: &mut Run, sink: &mut Sink) {
    for (what, value) in [("real_time", entry.real_time), ("cpu_time", entry.cpu_time)] {
        if let Some(value) = value {
            let mut made = metric(name, what, time_unit(entry), Direction::Smaller).with_value(value);
            made.iterations = entry.iterations;
            run.invocations.push(made);
        }
    }
    for (counter, value) in &entry.counters {
        let Some(value) = value.as_f64().filter(|_| !FACTS.contains(&counter.as_str())) else {
            continue;
        };
        let (unit, direction) = match counter.as_str() {
            "bytes_per_second" => (Unit("bytes/s".into()), Direction::Bigger),
            "items_per_second" => (Unit("items/s".into()), Direction::Bigger),
            _ => {
                sink.note(format!("{name}: the report does not say which way {counter} is good"));
                (Unit::COUNT, Direction::None)
            }
        };
        run.invocations.push(metric(name, counter, unit, direction).with_value(value));
    }
}

fn aggregate(name: &str, mean: &Entry, stddev: Option<&Entry>, run: &mut Run) {
    let n_runs = mean.repetitions.or(mean.iterations.map(|n| n as u32)).unwrap_or(1);
    let sds = (stddev.and_then(|e| e.real_time), stddev.and_then(|e| e.cpu_time));
    for (what, value, sd) in [("real_time", mean.real_time, sds.0), ("cpu_time", mean.cpu_time, sds.1)] {
        let Some(value) = value else { continue };
        let mut made = metric(name, what, time_unit(mean), Direction::Smaller).with_value(value);
        if let Some(sd) = sd.filter(|_| n_runs > 1 && made.value.is_some()) {
            let rel_se_pct = 100.0 * sd / value / f64::from(n_runs).sqrt();
            made.summary = Some(Summary { mean: value, rel_se_pct, rel_se_half_digit_pct: 0.0, n_runs });
        }
        run.invocations.push(made);
    }
}

const HEADER: &[u8] = b"name,iterations,real_time,cpu_time,time_unit";

/// Whether the first lines hold the header of a CSV report (the console's context may come before it).
pub(super) fn is_csv(head: &[u8]) -> bool {
    head.split(|&b| b == b'\n').take(30).any(|line| line.starts_with(HEADER))
}

/// Reads a CSV report.
pub(super) fn read_csv(input: &mut Input, sink: &mut Sink) -> Result<(), ImportError> {
    let bytes = input.whole(64 << 20)?;
    let at = memchr::memmem::find(&bytes, HEADER).unwrap_or(0);
    let before = bytes[..at].iter().filter(|&&b| b == b'\n').count();
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(&bytes[at..]);
    let names: Vec<String> =
        reader.byte_headers().map(|header| header.iter().map(text).collect()).unwrap_or_default();
    let mut all = Vec::new();
    for record in reader.byte_records() {
        let Ok(record) = record else { continue };
        let line = before + record.position().map_or(0, |at| at.line() as usize);
        let mut entry = Entry::default();
        for (name, held) in names.iter().zip(&record) {
            let number = decimal(held).map(|shown| shown.value);
            match name.as_str() {
                "name" => entry.name = text(held),
                "iterations" => entry.iterations = number.map(|n| n as u64),
                "real_time" => entry.real_time = number,
                "cpu_time" => entry.cpu_time = number,
                "time_unit" if !held.is_empty() => entry.time_unit = Some(text(held)),
                "error_occurred" => entry.error_occurred = Some(held == b"true"),
                "error_message" if !held.is_empty() => entry.error_message = Some(text(held)),
                "label" => {}
                _ => {
                    if let Some(number) = number {
                        entry.counters.insert(name.clone(), json!(number));
                    }
                }
            }
        }
        let suffixes = ["_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"];
        if let Some((run_name, kind)) = suffixes.iter().find_map(|s| Some((entry.name.strip_suffix(s)?, s))) {
            entry.run_name = Some(run_name.to_owned());
            entry.run_type = Some("aggregate".into());
            entry.aggregate_name = Some(kind[1..].to_owned());
        } else if entry.real_time.is_none() && entry.error_occurred != Some(true) {
            sink.skip(line, record.as_slice(), "no time");
            continue;
        }
        all.push(entry);
    }
    entries(all, Run::new("google-benchmark"), sink)
}
