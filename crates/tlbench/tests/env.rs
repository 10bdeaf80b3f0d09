//! `tlbench env` and `tlbench doctor` as a user runs them.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

fn tlbench(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("tlbench").expect("the binary");
    command.args(arguments);
    command
}

fn output_of(arguments: &[&str]) -> String {
    let output = tlbench(arguments).assert().success().stderr("").get_output().stdout.clone();
    String::from_utf8(output).expect("UTF-8")
}

fn json_of(arguments: &[&str]) -> Value {
    serde_json::from_str(&output_of(arguments)).expect("one JSON document")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn machine(files: &[(&str, &str)]) -> TempDir {
    let directory = TempDir::new().expect("a directory");
    for (name, contents) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, contents).expect("a file");
    }
    directory
}

#[test]
fn env_prints_one_object_with_this_kernels_release() {
    let environment = json_of(&["env", "--json"]);
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("Linux");
    assert_eq!(environment["kernel"]["release"], release.trim());
    assert_eq!(environment["tool"]["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn the_screen_keeps_to_100_columns() {
    for arguments in [&["env"][..], &["env", "--reasons"], &["doctor"]] {
        let text = output_of(arguments);
        assert!(text.lines().count() > 1);
        for line in text.lines() {
            assert!(line.chars().count() <= 100 && line.trim_end() == line, "{line:?}");
        }
    }
}

#[test]
fn a_host_name_can_be_hashed() {
    let machine = machine(&[("proc/sys/kernel/hostname", "payroll-db-3\n")]);
    let root = text(machine.path());
    assert_eq!(json_of(&["env", "--json", "--root", root])["sitting"]["host"], "payroll-db-3");
    let hashed = json_of(&["env", "--json", "--root", root, "--hash-host"])["sitting"]["host"].clone();
    assert!(hashed.as_str().is_some_and(|host| host.starts_with("hash:") && host.len() == 21), "{hashed}");
}

#[test]
fn diff_shows_just_the_field_that_differs() {
    let directory = TempDir::new().expect("a directory");
    let (a, b) = (directory.path().join("a.json"), directory.path().join("b.jsonl"));
    let mut environment = json_of(&["env", "--json"]);
    environment["scheduler"]["preempt"] = "full".into();
    fs::write(&a, environment.to_string()).expect("a file");
    environment["scheduler"]["preempt"] = "lazy".into();
    environment["now"]["load_1"] = json!(99.0);
    // The second is a record that was killed in the middle of a line.
    let header = json!({"type": "header", "schema": 1, "environment": environment});
    fs::write(&b, format!("{header}\n{{\"type\":\"invoca")).expect("a file");
    let (a, b) = (text(&a), text(&b));
    let wanted = json!([{"field": "scheduler.preempt", "a": "full", "b": "lazy"}]);
    assert_eq!(json_of(&["env", "--diff", a, b, "--json"]), wanted);
    assert_eq!(
        output_of(&["env", "--diff", a, b]),
        "field              a     b\nscheduler.preempt  full  lazy\n"
    );
    assert_eq!(json_of(&["env", "--diff", a, a, "--json"]), json!([]));
    assert_eq!(output_of(&["env", "--diff", a, a]), "no differences\n");
}

#[test]
fn long_lists_show_only_what_the_other_lacks() {
    let directory = TempDir::new().expect("a directory");
    let file = |name: &str, line: &str| {
        let path = directory.path().join(name);
        fs::write(&path, json!({"kernel": {"command_line": line}}).to_string()).expect("a file");
        path
    };
    let common =
        "root=/dev/vda1 ro quiet console=ttyS0 mitigations=auto isolcpus=nohz,domain,2-7 hugepages=4";
    let (a, b) = (file("a", common), file("b", &format!("{common} preempt=lazy")));
    let shown = output_of(&["env", "--diff", text(&a), text(&b)]);
    assert!(shown.contains("only here: preempt=lazy") && !shown.contains("hugepages"), "{shown}");
}

#[test]
fn what_is_no_environment_is_an_input_error_that_names_the_file() {
    let directory = TempDir::new().expect("a directory");
    for (name, contents, complaint) in [
        ("text", "Linux 6.18\n", "not JSON"),
        ("other", "{\"a\": 1}", "no environment in it"),
        ("imported", "{\"type\":\"header\",\"environment\":null}", "no environment in it"),
        ("empty", "", "is empty"),
        ("deep", &"[".repeat(100_000), "not JSON"),
    ] {
        let path = directory.path().join(name);
        fs::write(&path, contents).expect("a file");
        let assert = tlbench(&["env", "--diff", text(&path), text(&path)]).assert().code(2).stdout("");
        let error = String::from_utf8(assert.get_output().stderr.clone()).expect("UTF-8");
        assert!(error.contains(text(&path)) && error.contains(complaint), "{error}");
    }
    tlbench(&["env", "--diff", "/nonexistent", "/nonexistent"]).assert().code(2);
    tlbench(&["env", "--root", "/nonexistent"]).assert().code(2);
    tlbench(&["env", "--diff", "only-one"]).assert().code(2);
}

#[test]
fn one_side_of_a_diff_may_come_from_standard_input() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("a");
    fs::write(&path, json!({"kernel": {"hz": 250}}).to_string()).expect("a file");
    let mut command = tlbench(&["env", "--json", "--diff", text(&path), "-"]);
    let assert = command.write_stdin(json!({"kernel": {"hz": 1000}}).to_string()).assert().success();
    let differences: Value = serde_json::from_slice(&assert.get_output().stdout).expect("JSON");
    assert_eq!(differences, json!([{"field": "kernel.hz", "a": 250, "b": 1000}]));
}

#[test]
fn doctor_names_noise_with_advice_and_stays_silent_about_the_unknown() {
    let policy = "sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
    let machine = machine(&[
        ("proc/loadavg", "9.00 1 1 9/9 9\n"),
        ("proc/cpuinfo", "processor : 0\n"),
        (policy, "ondemand\n"),
    ]);
    let root = text(machine.path());
    let findings = || json_of(&["doctor", "--json", "--root", root]);
    let has = |findings: Value, field: &str| {
        findings.as_array().expect("an array").iter().any(|finding| finding["field"] == field)
    };
    assert!(has(findings(), "now.load_1") && has(findings(), "frequency.governor"));
    assert!(output_of(&["doctor", "--root", root]).contains("the frequency governor is ondemand"));
    fs::remove_dir_all(machine.path().join("sys")).expect("removed");
    assert!(!has(findings(), "frequency.governor"));
}
