//! hyperfine: JSON of schema 1 (until 1.x) and 2, and CSV.
//!
//! Every run is a fresh process, so every run is an invocation. One command runs after the other, never interleaved;
//! the slot keeps that order. Times are seconds whatever unit the screen showed.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::ImportError;
use super::input::Input;
use super::json::Document;
use super::number::{decimal, text};
use super::sink::{Run, Sink};
use crate::{Direction, Invocation, Status, Unit};

const FORMAT: &str = "hyperfine JSON";

#[derive(Deserialize)]
struct Export {
    schema_version: Option<u32>,
    metadata: Option<Map<String, Value>>,
    results: Vec<Entry>,
}

/// One command, in either schema.
#[derive(Deserialize)]
struct Entry {
    command: String,
    name: Option<String>,
    user: Option<f64>,
    system: Option<f64>,
    mean: Option<f64>,
    stddev: Option<f64>,
    times: Option<Vec<Option<f64>>>,
    memory_usage_byte: Option<Vec<Option<f64>>>,
    exit_codes: Option<Vec<Option<i64>>>,
    parameters: Option<BTreeMap<String, Value>>,
    measurements: Option<Vec<BTreeMap<String, Value>>>,
}

impl Entry {
    fn parameters(&self) -> String {
        let shown = |(name, value): (&String, &Value)| {
            let value = value.get("value").unwrap_or(value);
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!("{name}={value}")
        };
        self.parameters.iter().flatten().map(shown).collect::<Vec<_>>().join(", ")
    }
}

/// Reads an export.
pub(super) fn read(document: &Document, sink: &mut Sink) -> Result<(), ImportError> {
    let export: Export = document.parse(FORMAT, sink)?;
    if export.schema_version.is_some_and(|version| version > 2) {
        return Err(ImportError::Nothing {
            file: sink.file.clone(),
            what: "hyperfine JSON of a schema later than 2, which this version does not know".into(),
        });
    }
    let word = |key: &str| export.metadata.as_ref()?.get(key)?.as_str().map(str::to_owned);
    let tool = word("hyperfine_version").map_or("hyperfine".to_owned(), |v| format!("hyperfine {v}"));
    let started = word("start_time").unwrap_or_default();
    let names = names(&export.results);
    let mut slot = 0;
    for (entry, name) in export.results.iter().zip(names) {
        let mut run = Run::new(tool.clone());
        run.started.clone_from(&started);
        run.configuration = name;
        run.environment.insert("command".into(), json!(entry.command));
        match &entry.measurements {
            Some(measurements) => second(entry, measurements, &mut run, &mut slot, sink)?,
            None => first(entry, &mut run, &mut slot, sink)?,
        }
        if run.invocations.is_empty() {
            sink.skip(0, entry.command.as_bytes(), "no run was measured");
        } else {
            sink.run(run);
        }
    }
    if sink.runs.is_empty() {
        return Err(ImportError::Nothing {
            file: sink.file.clone(),
            what: "a hyperfine export without a measured command".into(),
        });
    }
    Ok(())
}

/// Commands name the configurations, with their parameters where they alone differ; one command needs no name.
fn names(entries: &[Entry]) -> Vec<Option<String>> {
    if entries.len() == 1 {
        return vec![None];
    }
    let name = |entry: &Entry| entry.name.clone().unwrap_or_else(|| entry.command.clone());
    let repeated = |this: &str| entries.iter().filter(|entry| name(entry) == this).count() > 1;
    let full = |(nth, entry): (usize, &Entry)| {
        let plain = name(entry);
        let parameters = entry.parameters();
        Some(match (repeated(&plain), parameters.is_empty()) {
            (false, _) => plain,
            (true, false) => format!("{plain} ({parameters})"),
            (true, true) => format!("{plain} (#{})", nth + 1),
        })
    };
    entries.iter().enumerate().map(full).collect()
}

/// Name, unit and direction of a metric of either schema.
fn metric(word: &str, unit: &str) -> Invocation {
    let name = match word {
        "time_wall_clock" => "time",
        "time_user" => "user",
        "time_system" => "system",
        "memory_peak_resident" => "memory",
        other => other,
    };
    let unit = match unit {
        "second" | "s" => Unit("s".into()),
        "byte" | "B" => Unit::BYTES,
        other => Unit::from(other.to_owned()),
    };
    let known = name.starts_with("time") || ["user", "system", "memory"].contains(&name);
    let direction = if known { Direction::Smaller } else { Direction::None };
    Invocation::foreign(&format!("hyperfine/{name}"), unit, direction)
}

/// A number of one run; 0 s of CPU time is below what the kernel accounts.
fn valued(bare: Invocation, value: f64) -> Invocation {
    if value == 0.0 {
        return bare.without_value(Status::Skipped, "measured 0: below the resolution");
    }
    bare.with_value(value)
}

fn first(entry: &Entry, run: &mut Run, slot: &mut u32, sink: &mut Sink) -> Result<(), ImportError> {
    let times = entry.times.as_deref().unwrap_or_default();
    for (nth, time) in times.iter().enumerate() {
        sink.count(0)?;
        *slot += 1;
        let Some(time) = time else { continue };
        let mut made = valued(metric("time", "second"), *time);
        made.slot = Some(*slot - 1);
        if let Some(code) = entry.exit_codes.as_ref().and_then(|codes| *codes.get(nth)?)
            && code != 0
        {
            made.extra.insert("exit_code".into(), json!(code));
            sink.note(format!("`{}`: a run ended with exit code {code}", entry.command));
        }
        run.invocations.push(made);
    }
    if times.is_empty()
        && let Some(mean) = entry.mean
    {
        let mut made = valued(metric("time", "second"), mean);
        made.extra.insert("mean_of_unknown_runs".into(), json!(true));
        made.extra.insert("stddev".into(), json!(entry.stddev));
        run.invocations.push(made);
    }
    if entry.memory_usage_byte.is_some() {
        sink.note("memory per run was a running maximum before hyperfine 1.21");
    }
    for memory in entry.memory_usage_byte.iter().flatten().flatten() {
        run.invocations.push(valued(metric("memory", "byte"), *memory));
    }
    for (word, value) in [("user", entry.user), ("system", entry.system)] {
        if let Some(value) = value {
            let mut made = valued(metric(word, "second"), value);
            made.extra.insert("mean_of".into(), json!(times.len()));
            run.invocations.push(made);
            sink.note("user and system times are means only in this export: no spread, no test on them");
        }
    }
    Ok(())
}

fn second(
    entry: &Entry,
    measurements: &[BTreeMap<String, Value>],
    run: &mut Run,
    slot: &mut u32,
    sink: &mut Sink,
) -> Result<(), ImportError> {
    for measured in measurements {
        *slot += 1;
        let code = measured.get("exit_code").and_then(Value::as_i64).filter(|code| *code != 0);
        if let Some(code) = code {
            sink.note(format!("`{}`: a run ended with exit code {code}", entry.command));
        }
        for (word, held) in measured {
            let (Some(value), Some(unit)) =
                (held.get("value").and_then(Value::as_f64), held.get("unit").and_then(Value::as_str))
            else {
                continue;
            };
            sink.count(0)?;
            let mut made = valued(metric(word, unit), value);
            made.slot = Some(*slot - 1);
            if let Some(code) = code {
                made.extra.insert("exit_code".into(), json!(code));
            }
            run.invocations.push(made);
        }
    }
    Ok(())
}

/// Whether a header line is that of hyperfine's CSV.
pub(super) fn is_csv(head: &[u8]) -> bool {
    head.starts_with(b"command,mean,stddev,median,user,system,min,max")
        || head.starts_with(b"command,time_wall_clock_unit,")
}

/// Reads a CSV export: means only, and no number of runs.
pub(super) fn read_csv(input: &mut Input, sink: &mut Sink) -> Result<(), ImportError> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(&mut *input);
    let header = reader.byte_headers().cloned().unwrap_or_default();
    let names: Vec<String> = header.iter().map(text).collect();
    sink.note("hyperfine's CSV holds means without the number of runs: no test on them");
    let mut runs = Vec::new();
    for record in reader.byte_records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                let line = error.position().map_or(0, |at| at.line() as usize);
                sink.skip(line, b"", error.to_string());
                continue;
            }
        };
        let line = record.position().map_or(0, |at| at.line() as usize);
        let get = |name: &str| {
            let at = names.iter().position(|held| held == name)?;
            record.get(at).map(<[u8]>::trim_ascii).filter(|held| !held.is_empty())
        };
        let number = |name: &str| get(name).and_then(decimal).map(|shown| shown.value);
        let Some(command) = get("command") else {
            sink.skip(line, record.as_slice(), "no command");
            continue;
        };
        let mut run = Run::new("hyperfine");
        run.configuration = Some(text(command));
        run.environment.insert("command".into(), json!(text(command)));
        if let Some(mean) = number("mean") {
            run.invocations.push(mean_of(metric("time", "second"), mean, &number, ""));
            for word in ["user", "system"] {
                if let Some(value) = number(word) {
                    run.invocations.push(valued(metric(word, "second"), value));
                }
            }
        }
        for word in names.iter().filter_map(|name| name.strip_suffix("_unit")) {
            if let (Some(unit), Some(mean)) = (get(&format!("{word}_unit")), number(&format!("{word}_mean")))
            {
                let bare = metric(word, &text(unit));
                run.invocations.push(mean_of(bare, mean, &number, &format!("{word}_")));
            }
        }
        sink.count(line)?;
        if run.invocations.is_empty() {
            sink.skip(line, record.as_slice(), "no number");
        } else {
            runs.push(run);
        }
    }
    if let [run] = &mut runs[..] {
        run.configuration = None;
    }
    runs.into_iter().for_each(|run| sink.run(run));
    Ok(())
}

/// A mean with its standard deviation, which is unknown (and printed as 0) when there was a single run.
fn mean_of(bare: Invocation, mean: f64, number: &dyn Fn(&str) -> Option<f64>, prefix: &str) -> Invocation {
    let mut made = valued(bare, mean);
    let of = |word: &str| number(&format!("{prefix}{word}"));
    if let Some(stddev) = of("stddev").filter(|_| of("min") != of("max")) {
        made.extra.insert("stddev".into(), json!(stddev));
    }
    made
}
