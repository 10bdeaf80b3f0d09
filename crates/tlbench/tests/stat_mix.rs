//! `stat --mix` and `--profile` as a user runs them: counts by either way, prices, predictions.

mod program;

use std::path::Path;

use program::{json_lines, tlbench};
use serde_json::Value;

/// The JSON document of a `stat` run that succeeds.
fn document(place: &Path, words: &[&str]) -> Value {
    let output = tlbench(place).args(["stat", "--json"]).args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn per_run(document: &Value, what: &str) -> Option<f64> {
    let mix = document["commands"][0]["mix"].as_array().unwrap();
    mix.iter().find(|item| item["what"] == what).and_then(|item| item["per_run"].as_f64())
}

const SCRIPT: [&str; 4] = ["--", "sh", "-c", "cat /etc/passwd | cat; (exit 0); exit 0"];

#[test]
fn ptrace_counts_what_tracepoints_count() {
    let place = tempfile::tempdir().unwrap();
    let by =
        |way: &str| document(place.path(), &[&["--mix", "--count-by", way, "-r", "2"], &SCRIPT[..]].concat());
    let traced = by("ptrace");
    let reason = traced["commands"][0]["mix"][2]["reason"].as_str().unwrap_or_default();
    let Some(forks) = per_run(&traced, "sched:sched_process_fork") else {
        println!("skipped: may not trace here: {reason}");
        return;
    };
    assert_eq!((forks, per_run(&traced, "sched:sched_process_exec")), (3.0, Some(3.0)));
    assert!(per_run(&traced, "system call read").unwrap() >= 4.0);
    let tracepoints = by("tracepoints");
    if per_run(&tracepoints, "system call other").is_none() {
        println!("no tracepoints here to compare with");
        return;
    }
    for what in ["sched:sched_process_fork", "sched:sched_process_exec"] {
        assert_eq!(per_run(&tracepoints, what), per_run(&traced, what), "{what}");
    }
    // Enabled on exec, the tracepoints miss nothing of the command but may see the exec call itself differently.
    for kind in ["open", "mmap", "write", "close", "brk"] {
        let what = format!("system call {kind}");
        let (a, b) = (per_run(&tracepoints, &what).unwrap(), per_run(&traced, &what).unwrap());
        assert!((a - b).abs() <= 0.5, "{what}: {a} by tracepoints, {b} by ptrace");
    }
}

#[test]
fn a_traced_command_gets_its_signals_and_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let script = "trap 'echo caught >> caught' USR1; kill -USR1 $$; (sleep 1000 &); exit 0";
    document(place.path(), &["--mix", "--count-by", "ptrace", "-r", "1", "--", "sh", "-c", script]);
    let caught = std::fs::read_to_string(place.path().join("caught")).unwrap();
    assert_eq!(caught.lines().count(), 2, "once in either kind of run");
    assert!(program::left_after(place.path(), std::time::Duration::from_secs(10)).is_empty());
    let output = tlbench(place.path())
        .args(["stat", "--mix", "--count-by", "ptrace", "-r", "1", "--timeout", "1s", "--", "sleep", "1000"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "a time-out ends it");
    assert!(program::left_after(place.path(), std::time::Duration::from_secs(10)).is_empty());
}

#[test]
fn two_records_predict_the_change_that_their_costs_imply() {
    let place = tempfile::tempdir().unwrap();
    let metrics = ["syscall.null", "syscall.read", "vm.fault.anon_write", "proc.fork", "proc.exec"];
    let made = tlbench(place.path())
        .args(["run", "--blocks", "4", "--budget", "4s", "--label", "before", "-o", "a.jsonl"])
        .args(metrics)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    // The same record with every fault a half dearer.
    let lines = json_lines(&std::fs::read(place.path().join("a.jsonl")).unwrap());
    let dearer: Vec<String> = lines
        .into_iter()
        .map(|mut line| {
            if line["type"] == "header" {
                line["label"] = "after".into();
            }
            if line["metric"] == "vm.fault.anon_write" && line["value"].is_number() {
                line["value"] = (1.5 * line["value"].as_f64().unwrap()).into();
            }
            line.to_string()
        })
        .collect();
    std::fs::write(place.path().join("b.jsonl"), dearer.join("\n") + "\n").unwrap();
    let mix = ["--mix", "-r", "2", "--costs", "a.jsonl"];
    let one = document(place.path(), &[&mix[..], &SCRIPT].concat());
    assert_eq!(one["commands"][0]["records"], serde_json::json!(["before"]));
    assert!(one["commands"][0]["predicted_change_pct"].is_null());
    let two = document(place.path(), &[&mix[..], &["b.jsonl"], &SCRIPT].concat());
    let command = &two["commands"][0];
    assert_eq!(command["records"], serde_json::json!(["before", "after"]));
    let item = command["mix"].as_array().unwrap().iter().find(|item| item["what"] == "page-faults").unwrap();
    let cost = item["cost_ns"][0]["ns"].as_f64().unwrap();
    let expected =
        100.0 * item["per_run"].as_f64().unwrap() * 0.5 * cost / (1e9 * command["cpu_s"].as_f64().unwrap());
    let predicted = command["predicted_change_pct"].as_f64().unwrap();
    assert!((predicted / expected - 1.0).abs() < 0.01, "{predicted} against {expected}");
    assert!(command["predicted_half_width_pct"].as_f64().unwrap() > 0.0);
    let text =
        tlbench(place.path()).args([&["stat"], &mix[..], &["b.jsonl"], &SCRIPT].concat()).output().unwrap();
    let screen = String::from_utf8_lossy(&text.stdout);
    assert!(screen.contains("predicted from A to B: +"), "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
}

#[test]
fn a_profile_names_the_function_that_moved_or_says_why_not() {
    let place = tempfile::tempdir().unwrap();
    let spin = |loops: u32| format!("i=0; while [ $i -lt {loops} ]; do i=$((i+1)); done");
    let words = [
        "-r",
        "2",
        "--profile",
        "--allow-inconclusive",
        "--",
        "head",
        "-c",
        "200000000",
        "/dev/zero",
        "--",
        "sh",
        "-c",
    ];
    let output =
        tlbench(place.path()).args(["stat", "--json"]).args(words).arg(spin(100_000)).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let profile = &document["profile"][1];
    if !profile["reason"].is_null() {
        println!("skipped: {}", profile["reason"]);
        return;
    }
    assert!(profile["samples"].as_f64().unwrap() > 0.0, "{profile}");
    let moved = profile["moved"].as_array().unwrap();
    assert!(!moved.is_empty(), "a shell loop spends its time elsewhere than head: {profile}");
    for function in moved {
        assert!(function["p_adjusted"].as_f64().unwrap() < 0.05);
        assert_ne!(function["base_pct"], function["pct"]);
    }
}

#[test]
fn a_mix_says_what_share_of_the_run_is_known() {
    let place = tempfile::tempdir().unwrap();
    let document = document(place.path(), &["--mix", "-r", "2", "--", "sh", "-c", "cat /etc/passwd; exit 0"]);
    // Faults are known without any right, by getrusage.
    assert!(per_run(&document, "page-faults").unwrap() > 10.0);
    let mix = document["commands"][0]["mix"].as_array().unwrap();
    let forks = mix.iter().find(|item| item["what"] == "sched:sched_process_fork").unwrap();
    if forks["per_run"].is_number() {
        assert!(
            per_run(&document, "sched:sched_process_fork").unwrap() >= 1.0
                && per_run(&document, "sched:sched_process_exec").unwrap() >= 2.0
        );
        assert!(per_run(&document, "system call read").unwrap() >= 2.0);
    } else {
        assert!(!forks["reason"].as_str().unwrap().is_empty());
    }
}
