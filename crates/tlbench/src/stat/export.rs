//! Files for other tools: hyperfine's JSON (schema 1, which every reader of it knows) and a Markdown table.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use serde_json::{Map, Value, json};
use stats::Comparison;

use super::floor::median;
use super::rounds::{Kept, Rounds};
use super::runner::failure;
use super::subject::Subject;

/// The good runs of a command.
fn good(runs: &[Kept], ignore_failure: bool) -> Vec<&Kept> {
    runs.iter().filter(|kept| failure(&kept.run.finished.end, ignore_failure).is_none()).collect()
}

/// Writes hyperfine's JSON. Failed runs are left out, as they are from every estimate.
pub fn hyperfine(
    path: &Path,
    subjects: &[Subject],
    rounds: &Rounds,
    ignore_failure: bool,
) -> anyhow::Result<()> {
    let result = |(subject, runs): (&Subject, &Vec<Kept>)| {
        let runs = good(runs, ignore_failure);
        let of = |what: &dyn Fn(&Kept) -> f64| runs.iter().map(|kept| what(kept)).collect::<Vec<f64>>();
        let times = of(&|kept| kept.run.finished.wall_ns / 1e9);
        let parameters: Map<String, Value> =
            subject.parameters.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        json!({
            "command": subject.name,
            "mean": mean(&times),
            "stddev": deviation(&times),
            "median": (!times.is_empty()).then(|| median(&mut times.clone())),
            "user": mean(&of(&|kept| kept.run.finished.usage.user_ns / 1e9)),
            "system": mean(&of(&|kept| kept.run.finished.usage.system_ns / 1e9)),
            "min": times.iter().copied().min_by(f64::total_cmp),
            "max": times.iter().copied().max_by(f64::total_cmp),
            "memory_usage_byte": runs.iter().map(|k| k.run.finished.usage.max_rss_bytes).collect::<Vec<_>>(),
            "times": times,
            "exit_codes": runs.iter().map(|kept| exit_code(kept)).collect::<Vec<_>>(),
            "parameters": parameters,
        })
    };
    let results: Vec<Value> = subjects.iter().zip(&rounds.runs).map(result).collect();
    let mut out = create(path)?;
    serde_json::to_writer_pretty(&mut out, &json!({"results": results}))?;
    writeln!(out)?;
    Ok(out.flush()?)
}

fn exit_code(kept: &Kept) -> Option<i32> {
    match kept.run.finished.end {
        harness::RunEnd::Exited(status) => Some(status),
        _ => None,
    }
}

/// Writes a Markdown table: a row per command, with the verdict on its wall time against the first.
pub fn markdown(
    path: &Path,
    subjects: &[Subject],
    rounds: &Rounds,
    comparisons: &[Comparison],
    ignore_failure: bool,
) -> anyhow::Result<()> {
    let mut out = create(path)?;
    writeln!(out, "| command | mean [ms] | s.e. [ms] | min [ms] | max [ms] | runs | against the first |")?;
    writeln!(out, "|:---|---:|---:|---:|---:|---:|:---|")?;
    for (i, (subject, runs)) in subjects.iter().zip(&rounds.runs).enumerate() {
        let times: Vec<f64> =
            good(runs, ignore_failure).iter().map(|kept| kept.run.finished.wall_ns / 1e6).collect();
        let cell = |value: Option<f64>| value.map_or("-".to_owned(), |v| report::significant(v, None));
        let error = deviation(&times).map(|sd| sd / (times.len() as f64).sqrt());
        let least = times.iter().copied().min_by(f64::total_cmp);
        let most = times.iter().copied().max_by(f64::total_cmp);
        let row = i
            .checked_sub(1)
            .and_then(|other| comparisons.get(other)?.rows.iter().find(|r| r.metric == "stat/wall"));
        let verdict = row.map_or("-".to_owned(), |row| {
            let change = row.change_pct().map_or(String::new(), |change| format!(" {change:+.1} %"));
            let interval = row.ci95.map_or(String::new(), |ci| {
                format!(" [{:+.1}, {:+.1}]", 100.0 * (ci.lo - 1.0), 100.0 * (ci.hi - 1.0))
            });
            format!("{}{change}{interval}", row.verdict.word())
        });
        writeln!(
            out,
            "| `{}` | {} | {} | {} | {} | {} | {verdict} |",
            subject.name.replace('|', "\\|"),
            cell(mean(&times)),
            cell(error),
            cell(least),
            cell(most),
            times.len()
        )?;
    }
    Ok(out.flush()?)
}

fn create(path: &Path) -> anyhow::Result<BufWriter<File>> {
    Ok(BufWriter::new(File::create(path).with_context(|| path.display().to_string())?))
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    Some((values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64).sqrt())
}
