//! `tlbench run` as a script sees it: the record's lines, exit codes, places.

mod program;

use program::{json_lines, tlbench};
use serde_json::Value;

#[test]
fn the_record_has_its_plan_first_and_its_footer_last() {
    let place = tempfile::tempdir().unwrap();
    let out = tlbench(place.path())
        .args(["run", "syscall.null", "syscall.read", "--quick", "--blocks", "2", "--seed", "7", "--json"])
        .args(["--label", "me"])
        .output()
        .unwrap();
    assert!(out.status.success(), "{out:?}");
    let lines = json_lines(&out.stdout);
    let header = &lines[0];
    assert_eq!(header["type"], "header");
    assert_eq!(header["label"], "me");
    assert_eq!((&header["plan"]["seed"], &header["plan"]["blocks"]), (&7.into(), &2.into()));
    assert!(header["environment"]["kernel"]["release"].is_string());
    assert!(header["schema"].is_u64() && header["tool"].as_str().unwrap().starts_with("tlbench "));
    assert_eq!(header["plan"]["benchmarks"].as_array().unwrap().len(), 2);
    assert_eq!(lines.last().unwrap()["type"], "footer");
    assert_eq!(lines.last().unwrap()["complete"], true);
    let nulls: Vec<&Value> =
        lines.iter().filter(|l| l["type"] == "invocation" && l["metric"] == "syscall.null").collect();
    assert_eq!(nulls.iter().map(|l| l["block"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2]);
    for line in nulls {
        assert_eq!((&line["status"], &line["unit"]), (&"ok".into(), &"ns".into()));
        assert_eq!(line["direction"], "smaller");
        let samples = line["samples"].as_array().unwrap();
        assert!(line["value"].as_f64() > Some(0.0) && samples.len() >= 5, "{line}");
        assert!(line["slot"].is_u64() && line["definition"] == 1 && line["reason"].is_null());
        assert!(line["witness"]["involuntary_switches"].is_u64() && line["set_aside"].is_u64());
        let histogram = harness::decode_histogram(line["histogram"].as_str().unwrap()).unwrap();
        assert!(histogram.len() >= 200);
    }
    assert!(lines.iter().any(|l| l["metric"] == "syscall.null.p99" && l["value"].as_f64() > Some(0.0)));
    assert!(lines.iter().any(|l| l["type"] == "warmup" && l["block"] == 0));
    assert!(!place.path().join("tlbench-results").exists(), "--json alone writes no file");
}

#[test]
fn a_record_is_never_overwritten() {
    let place = tempfile::tempdir().unwrap();
    let run = || {
        let args = ["run", "syscall.null", "--quick", "--blocks", "1", "-o", "r.jsonl"];
        tlbench(place.path()).args(args).output().unwrap()
    };
    assert!(run().status.success());
    let first = std::fs::read(place.path().join("r.jsonl")).unwrap();
    let second = run();
    assert_eq!(second.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&second.stderr).contains("never overwritten"), "{second:?}");
    assert_eq!(std::fs::read(place.path().join("r.jsonl")).unwrap(), first);
}

#[test]
fn show_prints_what_run_printed() {
    let place = tempfile::tempdir().unwrap();
    let run = tlbench(place.path()).args(["run", "syscall", "--quick", "-o", "r.jsonl"]).output().unwrap();
    assert!(run.status.success(), "{run:?}");
    let shown = tlbench(place.path()).args(["show", "r.jsonl"]).output().unwrap();
    let (run, shown) = (String::from_utf8(run.stdout).unwrap(), String::from_utf8(shown.stdout).unwrap());
    assert_eq!(run.split("\nrecord: ").next().unwrap().trim_end(), shown.trim_end());
    assert!(run.lines().all(|line| line.chars().count() <= 100), "{run}");
    let args = ["show", "r.jsonl", "--json", "--only", "syscall.null"];
    let rows = tlbench(place.path()).args(args).output().unwrap();
    let rows: Value = serde_json::from_slice(&rows.stdout).unwrap();
    let null = &rows[0];
    assert_eq!((&null["metric"], &null["n"]), (&"syscall.null".into(), &3.into()));
    let number = |value: &Value| value.as_f64().unwrap();
    assert!(number(&null["ci95"][0]) <= number(&null["value"]), "{null}");
    assert!(number(&null["value"]) <= number(&null["ci95"][1]), "{null}");
}

#[test]
fn a_wrong_name_and_a_missing_file_exit_2_with_advice() {
    let place = tempfile::tempdir().unwrap();
    let wrong = tlbench(place.path()).args(["run", "syscall.nul"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("did you mean syscall.null?"), "{wrong:?}");
    let missing = tlbench(place.path()).args(["show", "nowhere.jsonl"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("nowhere.jsonl"), "{missing:?}");
}

#[test]
fn every_metric_is_listed_with_all_its_fields() {
    let place = tempfile::tempdir().unwrap();
    let out = tlbench(place.path()).args(["list", "--json"]).output().unwrap();
    let metrics: Vec<Value> = serde_json::from_slice(&out.stdout).unwrap();
    let mut names = std::collections::BTreeSet::new();
    for metric in &metrics {
        let name = metric["name"].as_str().unwrap();
        assert!(names.insert(name.to_owned()), "{name} is declared twice");
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._".contains(c);
        assert!(name.chars().all(plain), "{name}");
        for field in ["unit", "per", "estimator", "doc", "direction"] {
            assert!(metric[field].as_str().is_some_and(|text| !text.is_empty()), "{name} has no {field}");
        }
        assert!(metric["control"].is_boolean() && metric["definition"].as_u64() >= Some(1), "{name}");
    }
}
