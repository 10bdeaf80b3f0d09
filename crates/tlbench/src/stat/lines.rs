//! Runs as lines of a record: one per metric.

use counters::{Counters, Reading};
use environment::known;
use record::{Direction, Estimator, Invocation, Metric, Status, Unit, import::perf_event_direction};
use serde_json::{Value, json};

use super::floor::Floor;
use super::runner::{Run, failure};

/// Ticks of CPU time from which the split into user and system means something: it is sampled once per tick.
const FEWEST_TICKS: f64 = 10.0;

/// What is known of this machine that decides which numbers can be stated.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Launch cost, where it could be measured.
    pub floor: Option<Floor>,
    /// Length of a clock tick, ns.
    pub tick_ns: f64,
    /// An exit status other than 0 is a result like any other.
    pub ignore_failure: bool,
}

/// Length of a clock tick by the kernel's configuration; of the slowest usual one where that is not known.
pub fn tick_ns(environment: &Value) -> f64 {
    let hz = known(environment, "kernel.hz").and_then(|hz| hz.as_f64().or_else(|| hz.as_str()?.parse().ok()));
    1e9 / hz.filter(|hz| *hz >= 1.0).unwrap_or(100.0)
}

/// Every metric a run yields.
pub fn metrics(counters: &Counters<'_>) -> Vec<Metric> {
    let own = [
        ("stat/wall", "ms", "From before the command was released to when its end was seen."),
        ("stat/cpu", "ms", "CPU time of the command and the descendants it waited for, user and system."),
        ("stat/user", "ms", "Of it in user mode, as sampled by the kernel at each tick."),
        ("stat/sys", "ms", "Of it in the kernel."),
        ("stat/max_rss", "bytes", "Largest resident set of any one process of the run."),
    ];
    let own = own.map(|(name, unit, doc)| metric(name, Unit::from(unit.to_owned()), Direction::Smaller, doc));
    let counted = counters.events().map(|(event, _)| {
        let doc = "perf event of the command, its threads and descendants, from exec on.";
        metric(&format!("perf/{event}"), unit_of(event), perf_event_direction(event), doc)
    });
    own.into_iter().chain(counted).collect()
}

fn metric(name: &str, unit: Unit, direction: Direction, doc: &str) -> Metric {
    Metric {
        name: name.to_owned(),
        unit,
        direction,
        per: "run".into(),
        estimator: Estimator::Single,
        control: false,
        definition: 1,
        doc: doc.to_owned(),
    }
}

/// True for the two clocks among the software events, which perf prints in ms.
pub fn is_clock(event: &str) -> bool {
    matches!(event.split(':').next(), Some("task-clock" | "cpu-clock"))
}

fn unit_of(event: &str) -> Unit {
    if is_clock(event) { Unit("ms".into()) } else { Unit::COUNT }
}

/// A count in the unit perf prints it in.
pub fn in_unit(event: &str, count: f64) -> f64 {
    if is_clock(event) { count / 1e6 } else { count }
}

/// Whether a run is too short for its split into user and system to mean anything.
pub fn split_is_coarse(run: &Run, limits: &Limits) -> bool {
    run.finished.usage.user_ns + run.finished.usage.system_ns < FEWEST_TICKS * limits.tick_ns
}

/// The lines of one run: a value or a reason for each of `metrics`. `coarse_split` says that some run of this sitting was
/// too short for its split: then no run states it, lest the long ones alone be left.
pub fn lines<'m>(
    run: &Run,
    metrics: impl Iterator<Item = &'m Metric>,
    limits: &Limits,
    coarse_split: bool,
) -> Vec<Invocation> {
    let failed = failure(&run.finished.end, limits.ignore_failure);
    metrics
        .map(|metric| {
            let line = Invocation::of(metric);
            let mut line = match &failed {
                Some(how) if *how == "time-out" => line.without_value(Status::Timeout, how.clone()),
                Some(how) => line.without_value(Status::Failed, how.clone()),
                None => match metric.name.strip_prefix("perf/") {
                    Some(event) => counted(line, event, &run.counters),
                    None => measured(line, run, limits, coarse_split),
                },
            };
            line.witness.insert("environment_padding".into(), json!(run.padding));
            if run.finished.left_behind > 0 {
                line.witness.insert("left_behind".into(), json!(run.finished.left_behind));
            }
            line
        })
        .collect()
}

fn measured(mut line: Invocation, run: &Run, limits: &Limits, coarse_split: bool) -> Invocation {
    let usage = &run.finished.usage;
    let cpu_ns = usage.user_ns + usage.system_ns;
    let split = |ns: f64| {
        if coarse_split {
            Err(format!(
                "below resolution: the kernel samples the split once per tick ({:.0} ms)",
                limits.tick_ns / 1e6
            ))
        } else {
            Ok(ns)
        }
    };
    let value = match line.metric.as_str() {
        "stat/wall" => match limits.floor.filter(|floor| floor.hides(run.finished.wall_ns)) {
            Some(floor) => Err(format!(
                "below resolution: launching nothing takes {:.3} ms as well",
                floor.least_ns / 1e6
            )),
            None => Ok(run.finished.wall_ns),
        },
        "stat/cpu" => Ok(cpu_ns),
        "stat/user" => split(usage.user_ns),
        "stat/sys" => split(usage.system_ns),
        _ => Ok(usage.max_rss_bytes as f64 * 1e6),
    };
    match value.map(|ns| ns / 1e6) {
        // Part of the mean all the same: without it the runs that were seen in a tick would be left alone.
        Ok(0.0) => {
            line.extra.insert("counted".into(), json!(0));
            line.without_value(Status::Skipped, "below resolution: measured 0")
        }
        Ok(value) => line.with_value(value),
        Err(why) => line.without_value(Status::Skipped, why),
    }
}

fn counted(mut line: Invocation, event: &str, readings: &[Reading]) -> Invocation {
    let Some(reading) = readings.iter().find(|reading| reading.name == event) else {
        return line.without_value(Status::Skipped, "not counted in this run");
    };
    match &reading.value {
        Err(why) => line.without_value(Status::Skipped, why.clone()),
        Ok(value) => {
            if value.running_pct < 100.0 {
                line.extra.insert("running_pct".into(), json!(value.running_pct));
            }
            if value.count == 0.0 {
                line.extra.insert("counted".into(), json!(0));
                return line.without_value(Status::Skipped, "counted 0: no ratio can be formed");
            }
            line.with_value(in_unit(event, value.count))
        }
    }
}
