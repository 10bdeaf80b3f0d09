//! The benchmarks of select, signals and processes, as `tlbench run` shows them: work proved, relations that must hold.

mod program;

use std::collections::BTreeMap;

use program::{json_lines, tlbench};
use serde_json::Value;

/// The last invocation of each metric of one short run of `names` under `sh -c` with `before` run first.
fn measured(before: &str, names: &[&str]) -> BTreeMap<String, Value> {
    let place = tempfile::tempdir().unwrap();
    let direct = tlbench(place.path());
    let out = std::process::Command::new("/bin/sh")
        .args(["-c", &format!("{before} exec \"$@\""), "sh"])
        .arg(direct.get_program())
        .args(["run", "--quick", "--blocks", "1", "--json"])
        .args(names)
        .current_dir(place.path())
        .env("TMPDIR", place.path())
        .output()
        .unwrap();
    let lines = json_lines(&out.stdout);
    let rows: BTreeMap<String, Value> = lines
        .into_iter()
        .filter(|line| line["type"] == "invocation")
        .map(|line| (line["metric"].as_str().unwrap().to_owned(), line))
        .collect();
    assert!(!rows.is_empty(), "{out:?}");
    rows
}

fn value(rows: &BTreeMap<String, Value>, metric: &str) -> f64 {
    let row = &rows[metric];
    assert_eq!(row["status"], "ok", "{row}");
    row["value"].as_f64().unwrap()
}

#[test]
fn many_descriptors_are_looked_at_and_the_last_one_is_found() {
    let rows = measured("", &["select", "poll", "epoll"]);
    assert_eq!(rows.len(), 48);
    for (name, row) in &rows {
        // A hard descriptor limit below 1000 is a reason to skip; nothing else is.
        if row["status"] == "skipped" {
            assert!(row["reason"].as_str().unwrap().contains("RLIMIT_NOFILE"), "{row}");
            continue;
        }
        assert_eq!(row["status"], "ok", "{row}");
        assert_eq!(row["ready"], u64::from(name.ends_with(".block")), "{row}");
        let size: u64 = name.split('.').nth(2).unwrap().parse().unwrap();
        assert_eq!(row["descriptors"], size);
        if name.starts_with("select") {
            assert!(
                row["nfds"].as_u64().unwrap() > size && row["nfds"].as_u64().unwrap() < size + 64,
                "{row}"
            );
        }
    }
    // A look at fifty times as many can't be cheaper than three times; epoll looks at none that is not ready.
    for call in ["select.tcp", "poll.tcp", "select.file", "poll.file"] {
        if rows[&format!("{call}.500")]["status"] == "ok" {
            assert!(
                value(&rows, &format!("{call}.500")) > 3.0 * value(&rows, &format!("{call}.10")),
                "{call}"
            );
        }
    }
}

#[test]
fn few_descriptors_allowed_is_a_reason_and_no_failure() {
    let rows = measured("ulimit -n 64;", &["select.file", "poll.tcp"]);
    assert!(value(&rows, "select.file.10") > 0.0);
    for name in ["select.file.100", "poll.tcp.250", "poll.tcp.500.block"] {
        assert_eq!(rows[name]["status"], "skipped");
        assert!(rows[name]["value"].is_null());
        assert!(rows[name]["reason"].as_str().unwrap().contains("RLIMIT_NOFILE allows 64"), "{}", rows[name]);
    }
}

#[test]
fn every_signal_is_handled() {
    let rows = measured("", &["sig"]);
    for name in ["sig.install", "sig.catch", "sig.prot"] {
        assert!(value(&rows, name) > 0.0);
    }
    for name in ["sig.catch", "sig.prot"] {
        let timed = rows[name]["samples"].as_array().unwrap().len() as u64
            * rows[name]["iterations"].as_u64().unwrap();
        assert!(rows[name]["handled"].as_u64().unwrap() >= timed, "{}", rows[name]);
    }
}

#[test]
fn processes_start_end_and_give_their_memory_back() {
    // A plain proc.fork would select the gigabyte below it too.
    let names = [
        "proc.for[k]",
        "proc.fork.64m",
        "proc.exit.64m",
        "proc.exec",
        "proc.exec_dynamic",
        "proc.sh",
        "proc.vfork*",
    ];
    let more = ["proc.posix_spawn", "proc.thread", "proc.exec_chain"];
    let rows = measured("", &[&names[..], &more[..]].concat());
    for (name, row) in &rows {
        // Tails need time, and a dynamically linked `true` an ordinary system, that this machine may not have.
        let may_skip = name.contains(".p99") || name == "proc.exec_dynamic";
        assert!(row["status"] == "ok" || (may_skip && row["status"] == "skipped"), "{row}");
    }
    let page = rows["proc.fork.64m"]["page_bytes"].as_u64().unwrap();
    assert_eq!(rows["proc.fork.64m"]["pages"], (64 << 20) / page);
    assert!(
        value(&rows, "proc.fork.64m") > value(&rows, "proc.fork"),
        "16384 page table entries cost nothing"
    );
    let per_page = value(&rows, "proc.fork.64m.page") * ((64 << 20) / page) as f64;
    assert!((per_page / value(&rows, "proc.fork.64m") - 1.0).abs() < 1e-6);
    assert!(value(&rows, "proc.vfork_exec.resume") < value(&rows, "proc.vfork_exec"));
    let faults = value(&rows, "proc.exec_chain.faults");
    assert!((1.0..100.0).contains(&faults), "{faults} faults per exec of a one-page program");
}
