//! `stat --json`: every run of every command, and the comparison.

use harness::RunEnd;
use serde_json::{Map, Value, json};

use super::lines::{in_unit, is_clock};
use super::rounds::{Kept, Rounds};
use super::runner::failure;
use super::subject::Subject;

/// The `commands` of the document.
pub fn commands(subjects: &[Subject], rounds: &Rounds, ignore_failure: bool) -> Value {
    let command = |(subject, runs): (&Subject, &Vec<Kept>)| {
        let parameters: Map<String, Value> =
            subject.parameters.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        json!({
            "command": subject.command,
            "name": subject.name,
            "parameters": parameters,
            "failed": runs.iter().filter(|kept| failure(&kept.run.finished.end, ignore_failure).is_some()).count(),
            "runs": runs.iter().map(run).collect::<Vec<_>>(),
        })
    };
    subjects.iter().zip(&rounds.runs).map(command).collect()
}

fn run(kept: &Kept) -> Value {
    let finished = &kept.run.finished;
    let usage = &finished.usage;
    let counters: Map<String, Value> = kept
        .run
        .counters
        .iter()
        .map(|reading| {
            let value = match &reading.value {
                Err(why) => json!({"value": null, "reason": why}),
                Ok(value) if is_clock(&reading.name) => {
                    let ms = in_unit(&reading.name, value.count);
                    json!({"value": ms, "unit": "msec", "running_pct": value.running_pct})
                }
                Ok(value) => json!({"value": value.count, "running_pct": value.running_pct}),
            };
            (reading.name.clone(), value)
        })
        .collect();
    json!({
        "block": kept.block,
        "wall_s": finished.wall_ns / 1e9,
        "user_s": usage.user_ns / 1e9,
        "sys_s": usage.system_ns / 1e9,
        "max_rss_bytes": usage.max_rss_bytes,
        "voluntary_switches": usage.voluntary_switches,
        "involuntary_switches": usage.involuntary_switches,
        "exit": match finished.end { RunEnd::Exited(status) => Some(status), _ => None },
        "signal": match finished.end { RunEnd::Killed(signal) => Some(signal), _ => None },
        "failure": failure(&finished.end, false),
        "left_behind": finished.left_behind,
        "counters": counters,
    })
}
