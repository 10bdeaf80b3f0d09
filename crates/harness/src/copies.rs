//! Parallel copies of one benchmark: its name and metrics, and one record line out of the copies' lines.

use record::{Estimator, Invocation, Status, Unit};
use serde_json::{Value, json};

use crate::{Benchmark, Placement, Stop, declared_number};

/// Most copies started together.
pub const MOST_COPIES: u32 = 1024;

impl Benchmark {
    /// This benchmark run in `copies` processes at once, each on a CPU of its own while there are enough. Its metrics
    /// are named `NAME.xN`: the median of the copies' numbers, or their sum for a bandwidth. `None` where it does not
    /// allow copies.
    pub fn in_copies(&self, copies: u32) -> Option<Benchmark> {
        if !self.allows_copies() {
            return None;
        }
        let mut of_copies =
            Benchmark::new(format!("{}.x{copies}", self.name), |_| Err(Stop::fail("copies run in workers")));
        of_copies.worker_name.clone_from(&self.worker_name);
        of_copies.copies = Some(copies);
        of_copies.parts = self.parts;
        of_copies.weight = self.weight;
        of_copies.memory = self.memory;
        for declared in &self.declared {
            let mut declared = declared.clone();
            let what = if is_rate(&declared.metric.unit) { "the sum" } else { "the median" };
            let doc = declared.metric.doc.trim_end_matches('.');
            declared.metric.doc = format!("{doc}; {what} over {copies} copies at once.");
            declared.metric.name = format!("{}.x{copies}", declared.metric.name);
            of_copies.declared.push(declared);
        }
        Some(of_copies)
    }

    /// Whether several copies can run at once: those that place processes or threads themselves can't.
    pub fn allows_copies(&self) -> bool {
        self.placement == Placement::OneCpu && self.copies.is_none() && !self.remote
    }

    /// The name under which a worker knows `metric`.
    pub fn worker_metric(&self, metric: &str) -> String {
        match self.copies {
            None => metric.to_owned(),
            Some(copies) => {
                let mark = format!(".x{copies}");
                let at = metric.rfind(&format!("{mark}.")).or_else(|| metric.rfind(&mark));
                at.map_or_else(
                    || metric.to_owned(),
                    |at| format!("{}{}", &metric[..at], &metric[at + mark.len()..]),
                )
            }
        }
    }
}

/// Rates of copies add up; times do not.
fn is_rate(unit: &Unit) -> bool {
    *unit == Unit::MB_PER_S
}

/// One line per metric of `benchmark` out of the lines of each copy, which carry the worker's names.
pub fn merge(benchmark: &Benchmark, copies: &[Vec<Invocation>]) -> Vec<Invocation> {
    benchmark
        .metrics()
        .iter()
        .map(|metric| {
            // A worker reports under its own name; for one that crashed the coordinator speaks, under ours.
            let own = benchmark.worker_metric(&metric.name);
            let is_it = |line: &&Invocation| line.metric == own || line.metric == metric.name;
            let lines: Vec<&Invocation> =
                copies.iter().filter_map(|lines| lines.iter().find(is_it)).collect();
            merge_metric(Invocation::of(metric), &lines, copies.len())
        })
        .collect()
}

fn merge_metric(mut merged: Invocation, lines: &[&Invocation], copies: usize) -> Invocation {
    let values: Vec<Option<f64>> = lines.iter().map(|line| line.value).collect();
    merged.extra.insert("copies".into(), json!(copies));
    merged.extra.insert("per_copy".into(), json!(values));
    if let Some(parallelism) = parallelism(lines) {
        merged.extra.insert("parallelism".into(), json!(parallelism));
    }
    if let Some(first) = lines.first() {
        merged.iterations = first.iterations;
        let notes = first.extra.iter().filter(|(key, _)| key.as_str() != WINDOW);
        merged.extra.extend(notes.map(|(key, value)| (key.clone(), value.clone())));
    }
    add_samples(&mut merged, lines);
    add_witnesses(&mut merged, lines);
    let bad = lines.iter().enumerate().find(|(_, line)| line.status != Status::Ok);
    if let Some((number, line)) = bad {
        let reason = line.reason.as_deref().unwrap_or("no reason given");
        return merged.without_value(line.status, format!("copy {}: {reason}", number + 1));
    }
    let values: Vec<f64> = values.into_iter().flatten().collect();
    if lines.len() < copies {
        return merged.without_value(Status::Failed, "a copy did not report it");
    }
    let value = if is_rate(&merged.unit) {
        Some(values.iter().sum())
    } else {
        declared_number(Estimator::Median, &values)
    };
    match value {
        Some(value) => merged.with_value(value),
        None => merged.without_value(Status::Failed, "no copy reported it"),
    }
}

/// Name of the note with the start and end of a copy's samples, ns on the machine's clock.
pub(crate) const WINDOW: &str = "window_ns";

/// How many copies were at work at once, on average over the time from the first's start to the last's end: the time a
/// copy was measuring, without the time its thread waited for a CPU.
fn parallelism(lines: &[&Invocation]) -> Option<f64> {
    let windows: Vec<(f64, f64, f64)> = lines
        .iter()
        .filter_map(|line| {
            let window = line.extra.get(WINDOW)?.as_array()?;
            let waited = line.witness.get("run_delay_ns").and_then(Value::as_f64).unwrap_or(0.0);
            Some((window.first()?.as_f64()?, window.get(1)?.as_f64()?, waited))
        })
        .collect();
    let start = windows.iter().map(|w| w.0).reduce(f64::min)?;
    let end = windows.iter().map(|w| w.1).reduce(f64::max)?;
    let working: f64 = windows.iter().map(|(start, end, waited)| (end - start - waited).max(0.0)).sum();
    (end > start).then(|| working / (end - start))
}

fn add_samples(merged: &mut Invocation, lines: &[&Invocation]) {
    let mut all = Vec::new();
    for samples in lines.iter().filter_map(|line| Some((line.samples.as_ref()?, &line.set_aside_index))) {
        let before = all.len() as u32;
        all.extend_from_slice(samples.0);
        merged.set_aside_index.extend(samples.1.iter().map(|index| index + before));
    }
    merged.set_aside = merged.set_aside_index.len() as u32;
    merged.samples = (!all.is_empty()).then_some(all);
}

/// Counts add up; lists of CPUs are joined; anything else is the first copy's.
fn add_witnesses(merged: &mut Invocation, lines: &[&Invocation]) {
    for (key, value) in lines.iter().flat_map(|line| &line.witness) {
        match (merged.witness.get_mut(key), value) {
            (None, value) => {
                merged.witness.insert(key.clone(), value.clone());
            }
            (Some(sum @ Value::Number(_)), Value::Number(_)) if !is_of_machine(key) => {
                let total = sum.as_f64().unwrap_or(0.0) + value.as_f64().unwrap_or(0.0);
                *sum = if total.fract() == 0.0 { json!(total as u64) } else { json!(total) };
            }
            (Some(Value::Array(all)), Value::Array(more)) => all.extend(more.iter().cloned()),
            _ => {}
        }
    }
}

/// Counts of the whole machine, which every copy sees alike, and the padding, which all share.
fn is_of_machine(key: &str) -> bool {
    matches!(
        key,
        "interrupts"
            | "softirqs"
            | "steal_ms"
            | "machine_busy_ms"
            | "others_running"
            | "timed_share"
            | "environment_padding"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bandwidth, time};

    fn line(metric: &str, value: f64, window: [f64; 2], waited: f64) -> Invocation {
        let mut line = Invocation::foreign(metric, Unit::NS, record::Direction::Smaller).with_value(value);
        line.extra.insert(WINDOW.into(), json!(window));
        line.witness.insert("run_delay_ns".into(), json!(waited));
        line.witness.insert("cpus".into(), json!([value]));
        line.samples = Some(vec![value, value]);
        line.set_aside_index = vec![1];
        line
    }

    fn benchmark() -> Benchmark {
        Benchmark::new("a.b", |_| Ok(()))
            .metric(time("a.b", "call", "Doc.").with_tails())
            .metric(bandwidth("a.bw", "second", "Doc."))
    }

    #[test]
    fn names_lead_to_the_workers_own_and_back() {
        let copies = benchmark().in_copies(4).unwrap();
        assert_eq!(copies.name, "a.b.x4");
        assert_eq!(copies.worker_name, "a.b");
        let names: Vec<String> = copies.metrics().into_iter().map(|m| m.name).collect();
        assert_eq!(names, ["a.b.x4", "a.b.x4.p99", "a.b.x4.p999", "a.bw.x4"]);
        let own: Vec<String> = names.iter().map(|name| copies.worker_metric(name)).collect();
        assert_eq!(own, ["a.b", "a.b.p99", "a.b.p999", "a.bw"]);
    }

    #[test]
    fn times_have_a_median_rates_a_sum_and_windows_a_parallelism() {
        let copies = benchmark().in_copies(3).unwrap();
        let lines: Vec<Vec<Invocation>> = [(10.0, 0.0), (30.0, 0.0), (20.0, 50.0)]
            .into_iter()
            .map(|(value, waited)| {
                vec![
                    line("a.b", value, [0.0, 100.0], waited),
                    line("a.b.p99", value, [0.0, 100.0], waited),
                    line("a.b.p999", value, [0.0, 100.0], waited),
                    line("a.bw", value, [0.0, 100.0], waited),
                ]
            })
            .collect();
        let merged = merge(&copies, &lines);
        assert_eq!(merged[0].value, Some(20.0));
        assert_eq!(merged[3].value, Some(60.0));
        assert_eq!(merged[0].extra["per_copy"], json!([10.0, 30.0, 20.0]));
        assert_eq!(merged[0].extra["parallelism"], json!(2.5));
        assert_eq!(merged[0].witness["cpus"], json!([10.0, 30.0, 20.0]));
        assert_eq!(merged[0].witness["run_delay_ns"], json!(50));
        assert_eq!(merged[0].set_aside_index, [1, 3, 5]);
    }

    #[test]
    fn one_failing_copy_fails_the_line_and_is_named() {
        let copies = benchmark().in_copies(2).unwrap();
        let good = vec![line("a.b", 1.0, [0.0, 1.0], 0.0)];
        let bad = vec![
            Invocation::foreign("a.b", Unit::NS, record::Direction::Smaller)
                .without_value(Status::Failed, "broken"),
        ];
        let merged = merge(&copies, &[good, bad]);
        assert_eq!(merged[0].status, Status::Failed);
        assert_eq!(merged[0].reason.as_deref(), Some("copy 2: broken"));
        assert_eq!(merged[1].status, Status::Failed);
        let crashed = Invocation::foreign("a.b.x2", Unit::NS, record::Direction::Smaller)
            .without_value(Status::Failed, "the worker crashed: signal 11");
        let merged = merge(&copies, &[vec![line("a.b", 1.0, [0.0, 1.0], 0.0)], vec![crashed]]);
        assert_eq!(merged[0].reason.as_deref(), Some("copy 2: the worker crashed: signal 11"));
    }
}
