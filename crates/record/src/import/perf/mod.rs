//! `perf stat`: its text, `-x` and `-j` output, with `-r`, `-I`, per CPU, core or socket, in any locale.
//!
//! What a format does not say stays unsaid: an event that was not counted has no value and a reason, the number behind
//! `+-` is the standard error of the mean over the runs, and the exit status of the command is never in the file.

pub(super) mod csv;
pub(super) mod json;
pub(super) mod locale;
pub(super) mod text;
pub(super) mod text_row;

use serde_json::{Value, json};

use super::ImportError;
use super::sink::{Run, Sink};
use crate::{Direction, Invocation, Printed, Status, Summary, Unit};

/// One row of any of the formats.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    pub line: usize,
    /// `CPU0`, `S0-D0-C1`, `S0`: what the count is for, when it is not for all.
    pub place: Option<String>,
    /// CPUs behind this count.
    pub aggregated: Option<u64>,
    /// End of the slice, seconds, with `-I`.
    pub slice: Option<f64>,
    /// The count, or why there is none.
    pub reading: Result<f64, String>,
    pub printed: Option<Printed>,
    pub unit: String,
    pub event: String,
    /// Relative standard error of the mean and half of its last digit, per cent.
    pub rel_se: Option<(f64, f64)>,
    /// Share of the time the event was counted, per cent.
    pub running_pct: Option<f64>,
    /// The derived "CPUs utilized".
    pub cpus: Option<f64>,
}

impl Counter {
    fn metric(&self) -> String {
        match &self.place {
            Some(place) => format!("perf/{} {place}", self.event),
            None => format!("perf/{}", self.event),
        }
    }
}

/// The unit by perf's word; counts have none.
fn unit(word: &str) -> Unit {
    match word {
        "" => Unit::COUNT,
        "msec" => Unit("ms".into()),
        "ns" => Unit::NS,
        "seconds" => Unit("s".into()),
        other => Unit::from(other.to_owned()),
    }
}

/// Which way is good, for events whose meaning does not depend on the machine; unknown ones have no direction.
pub fn direction(event: &str) -> Direction {
    let bare = event.split(':').next().unwrap_or(event);
    const SMALLER: [&str; 17] = [
        "elapsed",
        "user",
        "sys",
        "task-clock",
        "cpu-clock",
        "duration_time",
        "cycles",
        "cpu-cycles",
        "instructions",
        "faults",
        "page-faults",
        "minor-faults",
        "major-faults",
        "context-switches",
        "cs",
        "cpu-migrations",
        "migrations",
    ];
    let known = SMALLER.contains(&bare)
        || bare.ends_with("-misses")
        || bare.ends_with("-faults")
        || bare.ends_with("-walk-cycles")
        || bare.starts_with("stalled-cycles-");
    if known { Direction::Smaller } else { Direction::None }
}

/// Turns rows into the invocations of one run. `runs` is the number behind `-r`.
pub(super) fn invocations(
    counters: Vec<Counter>,
    runs: Option<u32>,
    sink: &mut Sink,
) -> Result<Vec<Invocation>, ImportError> {
    let mut made: Vec<Invocation> = Vec::new();
    let mut index = std::collections::HashMap::new();
    for counter in counters {
        sink.count(counter.line)?;
        let metric = counter.metric();
        if counter.slice.is_some() {
            let at = *index.entry(metric.clone()).or_insert(made.len());
            if at == made.len() {
                let mut total = Invocation::foreign(&metric, unit(&counter.unit), direction(&counter.event));
                total.extra.insert("slices".into(), json!([]));
                made.push(total);
            }
            add_slice(&mut made[at], counter);
            continue;
        }
        made.push(invocation(metric, counter, runs, sink));
    }
    for total in &mut made {
        settle_slices(total);
    }
    Ok(made)
}

fn invocation(metric: String, counter: Counter, runs: Option<u32>, sink: &mut Sink) -> Invocation {
    let bare = Invocation::foreign(&metric, unit(&counter.unit), direction(&counter.event));
    let mut made = match counter.reading {
        Ok(value) if value > 0.0 => bare.with_value(value),
        Ok(0.0) => {
            let mut zero = bare.without_value(Status::Skipped, "counted 0: no ratio can be formed");
            zero.extra.insert("counted".into(), json!(0));
            zero
        }
        Ok(value) => bare.without_value(Status::Failed, format!("impossible count {value}")),
        Err(why) => bare.without_value(Status::Skipped, why),
    };
    if let Some(mean) = made.value {
        made.printed = counter.printed;
        match (runs, counter.rel_se) {
            (Some(n_runs), rel_se) if n_runs > 1 => {
                // with -r, a row without `( +- )` has no spread
                let (rel_se_pct, half) = rel_se.unwrap_or((0.0, 0.005));
                made.summary = Some(Summary { mean, rel_se_pct, rel_se_half_digit_pct: half, n_runs });
            }
            (None, Some((rel_se_pct, _))) => {
                made.extra.insert("rel_se_pct".into(), json!(rel_se_pct));
                sink.note(
                    "the standard errors of perf stat -r are kept, but this output does not say over how many runs",
                );
            }
            _ => {}
        }
    }
    if let Some(cpus) = counter.aggregated {
        made.extra.insert("cpus".into(), json!(cpus));
    }
    if let Some(share) = counter.running_pct.filter(|share| *share < 100.0) {
        made.extra.insert("running_pct".into(), json!(share));
        sink.note(format!("{metric}: counted {share} % of the time and scaled up, an estimate"));
    }
    if let Some(cpus) = counter.cpus.filter(|cpus| *cpus > 1.0) {
        made.extra.insert("cpus_utilized".into(), json!(cpus));
        if counter.place.is_none() {
            sink.note(format!(
                "{metric}: {cpus} CPUs utilized is impossible for one thread; either several threads ran, or perf \
                 read its start time late (it does so since about 2021), and then the elapsed time is too short"
            ));
        }
    }
    made
}

/// A slice of `-I`: the total is kept, slices that were not counted are no zeros.
fn add_slice(total: &mut Invocation, counter: Counter) {
    if let Some(Value::Array(slices)) = total.extra.get_mut("slices") {
        slices.push(json!([counter.slice, counter.reading.as_ref().ok()]));
    }
    match counter.reading {
        Ok(value) => total.value = Some(total.value.unwrap_or(0.0) + value),
        Err(why) => total.reason = Some(why),
    }
}

fn settle_slices(total: &mut Invocation) {
    if !total.extra.contains_key("slices") {
        return;
    }
    let made = std::mem::replace(total, Invocation::foreign("", Unit::COUNT, Direction::None));
    *total = match (made.value, made.reason.clone()) {
        (Some(value), _) if value > 0.0 => made.with_value(value),
        (Some(_), _) => {
            let mut zero = made.without_value(Status::Skipped, "counted 0: no ratio can be formed");
            zero.extra.insert("counted".into(), json!(0));
            zero
        }
        (None, why) => made.without_value(Status::Skipped, why.unwrap_or_default()),
    };
}

/// The run of a whole `-x` or `-j` output.
pub(super) fn run(counters: Vec<Counter>, sink: &mut Sink) -> Result<(), ImportError> {
    if counters.is_empty() {
        return Ok(());
    }
    sink.note("the exit status of the command is not in the file");
    let mut run = Run::new("perf stat");
    run.invocations = invocations(counters, None, sink)?;
    sink.run(run);
    Ok(())
}
