//! Names of configurations, and runs of one configuration gathered into one record.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde_json::{Map, Value};

use super::input::{Input, Origin};
use super::sink::Run;
use super::{Imported, Options};
use crate::{Footer, Header, Plan, Record, SCHEMA};

/// The runs of one input.
pub(super) struct Found {
    pub origin: Origin,
    pub runs: Vec<Run>,
}

/// A tlbench record keeps its label unless the user gave one, or its directory is the configuration; then it is one
/// sitting of that configuration.
pub(super) fn of_record(record: &mut Record, input: &Input, options: &Options) {
    if let Some(label) = options.label.as_ref().or(input.origin.directory.as_ref()) {
        record.header.label.clone_from(label);
        if !record.header.plan.controlled_order {
            let sitting = input.origin.file.display().to_string();
            for line in &mut record.invocations {
                line.sitting.get_or_insert_with(|| sitting.clone());
            }
        }
    } else if record.header.label.is_empty() {
        record.header.label = stem(&input.origin.file);
    }
}

/// The file's name without extension; `host.0`, `host.1` are runs of `host`, as LMbench itself reads them.
fn stem(file: &Path) -> String {
    let name = file.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
        _ => name,
    }
}

/// One run with its name.
struct Named {
    label: String,
    /// Which argument it came from; a numbered series of files counts as one.
    origin: String,
    sitting: String,
    run: Run,
}

/// Gathers runs by configuration.
pub(super) fn into_records(found: Vec<Found>, options: &Options, imported: &mut Imported) {
    let mut named = name(found, options);
    for (range, label) in &options.runs {
        let mut nth = 0;
        for run in &mut named {
            nth += 1;
            if range.contains(&nth) {
                run.label.clone_from(label);
                run.origin.clear();
            }
        }
    }
    tell_apart(&mut named);
    let mut records: Vec<Record> = Vec::new();
    let mut index: HashMap<String, usize> = HashMap::new();
    for named in named {
        let at = *index.entry(named.label.clone()).or_insert(records.len());
        if at == records.len() {
            records.push(empty(&named));
        }
        add(&mut records[at], named);
    }
    for record in &mut records {
        settle_environment(record);
        super::criterion::join(&mut record.invocations);
    }
    imported.records.append(&mut records);
}

fn name(found: Vec<Found>, options: &Options) -> Vec<Named> {
    let mut names: Vec<&str> = Vec::new();
    for run in found.iter().flat_map(|found| &found.runs) {
        let name = run.configuration.as_deref().unwrap_or_default();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let one_name = names.len() <= 1;
    // directories that hold several configurations by their contents
    let mut first: HashMap<&str, &Run> = HashMap::new();
    let mut several: HashSet<String> = HashSet::new();
    for Found { origin, runs } in &found {
        for (directory, run) in origin.directory.iter().flat_map(|d| runs.iter().map(move |r| (d, r))) {
            let known = first.entry(directory).or_insert(run);
            if known.configuration != run.configuration {
                several.insert(directory.clone());
            }
        }
    }
    let mut named = Vec::new();
    for Found { origin, runs } in found {
        let several = origin.directory.as_ref().is_some_and(|d| several.contains(d));
        let count = runs.len();
        let file = origin.file.display().to_string();
        for (nth, run) in runs.into_iter().enumerate() {
            let held = run.configuration.clone();
            let label = match (&options.label, &origin.directory, held) {
                (Some(label), _, held) if one_name || held.is_none() => label.clone(),
                (None, Some(directory), None) => directory.clone(),
                (None, Some(directory), Some(held)) if several => format!("{directory} {held}"),
                (None, Some(directory), Some(_)) => directory.clone(),
                (_, _, Some(held)) => held,
                (_, _, None) => stem(&origin.file),
            };
            let sitting = if count == 1 { file.clone() } else { format!("{file} run {}", nth + 1) };
            let origin = match (&origin.directory, &options.label) {
                (Some(directory), _) => directory.clone(),
                (None, Some(_)) => String::new(),
                (None, None) => series(&origin.file),
            };
            named.push(Named { label, origin, sitting, run });
        }
    }
    named
}

/// The path without a numbering at its end.
fn series(file: &Path) -> String {
    let path = file.display().to_string();
    match path.rsplit_once('.') {
        Some((stem, number)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => {
            stem.to_owned()
        }
        _ => path,
    }
}

/// The same name in different files means different configurations: the file is added to the name.
fn tell_apart(named: &mut [Named]) {
    let mut origins: HashMap<String, HashSet<String>> = HashMap::new();
    for this in &*named {
        origins.entry(this.label.clone()).or_default().insert(this.origin.clone());
    }
    for this in named {
        let origins = &origins[&this.label];
        if origins.len() > 1 {
            let stems: HashSet<String> = origins.iter().map(|o| stem(o.as_ref())).collect();
            let same_stem = stems.len() < origins.len();
            let file = if same_stem { this.origin.clone() } else { stem(this.origin.as_ref()) };
            this.label = if this.label == file { file } else { format!("{} ({file})", this.label) };
        }
    }
}

fn empty(named: &Named) -> Record {
    Record {
        header: Header {
            schema: SCHEMA,
            tool: named.run.tool.clone(),
            started: named.run.started.clone(),
            label: named.label.clone(),
            plan: Plan {
                kind: "import".to_owned(),
                configurations: vec![named.label.clone()],
                ..Plan::default()
            },
            environment: Value::Object(Map::new()),
            extra: Map::new(),
        },
        warmup: vec![],
        invocations: vec![],
        footer: Some(Footer { ended: String::new(), complete: true, extra: Map::new() }),
        skipped: vec![],
    }
}

/// Adds one run; environment fields become lists of what each run said, settled at the end.
fn add(record: &mut Record, named: Named) {
    let Named { label, sitting, run, .. } = named;
    if let Value::Object(environment) = &mut record.header.environment {
        for (key, value) in run.environment {
            let seen = environment.entry(key).or_insert_with(|| Value::Array(vec![]));
            if let Value::Array(seen) = seen
                && !seen.contains(&value)
            {
                seen.push(value);
            }
        }
    }
    if !record.header.tool.split(", ").any(|tool| tool == run.tool) {
        record.header.tool = format!("{}, {}", record.header.tool, run.tool);
    }
    for mut invocation in run.invocations {
        invocation.configuration = Some(label.clone());
        invocation.sitting.get_or_insert_with(|| sitting.clone());
        record.invocations.push(invocation);
    }
}

/// A field on which all runs agree is a plain value; else the list of different values stays.
fn settle_environment(record: &mut Record) {
    if let Value::Object(environment) = &mut record.header.environment {
        for value in environment.values_mut() {
            if let Value::Array(seen) = value
                && seen.len() == 1
            {
                *value = seen.remove(0);
            }
        }
    }
}

impl Imported {
    /// All configurations in one record, whose lines name their configuration: what `import -o` writes.
    pub fn into_one(self) -> Option<Record> {
        let mut records = self.records.into_iter();
        let mut one = records.next()?;
        let several = records.len() > 0;
        if several {
            let own = std::mem::take(&mut one.header.environment);
            let mut each = Map::from_iter([(one.header.label.clone(), own)]);
            own_configuration(&mut one);
            for mut other in records {
                own_configuration(&mut other);
                if !one.header.tool.split(", ").any(|tool| tool == other.header.tool) {
                    one.header.tool = format!("{}, {}", one.header.tool, other.header.tool);
                }
                for name in other.header.plan.configurations {
                    if !one.header.plan.configurations.contains(&name) {
                        one.header.plan.configurations.push(name);
                    }
                }
                each.insert(other.header.label, other.header.environment);
                one.warmup.append(&mut other.warmup);
                one.invocations.append(&mut other.invocations);
            }
            one.header.environment =
                Map::from_iter([("configurations".to_owned(), Value::Object(each))]).into();
        }
        Some(one)
    }
}

/// Every line of a record that goes into a bigger one must name its configuration.
fn own_configuration(record: &mut Record) {
    let label = &record.header.label;
    for invocation in record.invocations.iter_mut().chain(&mut record.warmup) {
        invocation.configuration.get_or_insert_with(|| label.clone());
    }
}
