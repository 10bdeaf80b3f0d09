//! Parallel copies: started together, held until the last has finished, nothing left.

mod program;

use std::time::Duration;

use program::{Started, json_lines, left_after, scratch_left, tlbench};
use serde_json::Value;

fn cpus() -> usize {
    std::thread::available_parallelism().unwrap().get()
}

#[test]
fn copies_have_names_numbers_and_a_parallelism_of_their_own() {
    let place = tempfile::tempdir().unwrap();
    let output = tlbench(place.path())
        .args(["run", "--quick", "--json", "-P", "2", "syscall.null", "ipc.pipe", "ipc.pipe.core", "ipc.sem"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(complaint.contains("ipc.pipe.core"), "{complaint}");
    let lines: Vec<Value> = json_lines(&output.stdout);
    let of = |metric: &str| -> Vec<&Value> {
        lines.iter().filter(|l| l["type"] == "invocation" && l["metric"] == metric).collect()
    };
    for metric in ["syscall.null.x2", "ipc.pipe.x2", "ipc.sem.x2"] {
        let rows = of(metric);
        assert_eq!(rows.len(), 3, "{metric}");
        for row in rows {
            assert_eq!(row["status"], "ok", "{row}");
            assert_eq!(row["copies"], 2);
            let numbers: Vec<f64> =
                row["per_copy"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
            assert_eq!(numbers.len(), 2);
            let value = row["value"].as_f64().unwrap();
            assert!((value - (numbers[0] + numbers[1]) / 2.0).abs() < 1e-9 * value, "{row}");
            let parallelism = row["parallelism"].as_f64().unwrap();
            assert!(parallelism > 0.0 && parallelism <= 2.0 + 1e-6, "{row}");
            let used: std::collections::BTreeSet<u64> =
                row["witness"]["cpus"].as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect();
            assert_eq!(used.len(), cpus().min(2), "{row}");
        }
    }
    assert!(!of("syscall.null.x2.p99").is_empty());
    assert!(of("syscall.null").is_empty());
    assert!(scratch_left(place.path()).is_empty());
}

#[test]
fn a_curve_goes_from_one_to_all_cpus_and_is_shown() {
    let place = tempfile::tempdir().unwrap();
    let record = ["-o", "r.jsonl"];
    let run = tlbench(place.path())
        .args(["run", "--blocks", "2", "--budget", "1s", "--scale", "syscall.write"])
        .args(record)
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
    let shown = tlbench(place.path()).args(["show", "r.jsonl"]).output().unwrap();
    let text = String::from_utf8_lossy(&shown.stdout);
    let table = text.split("Parallel copies").nth(1).unwrap_or_else(|| panic!("{text}"));
    let rows: Vec<&str> = table.lines().filter(|l| l.trim_start().starts_with("syscall.write")).collect();
    assert!(rows.first().is_some_and(|row| row.ends_with(" x")), "{text}");
    assert!(rows.len() >= cpus().min(2), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let none = tlbench(place.path()).args(["run", "-P", "2", "sched.wake.load50"]).output().unwrap();
    assert_eq!(none.status.code(), Some(2), "{none:?}");
}

#[test]
fn killed_copies_leave_nothing_and_the_record_is_finished_by_resume() {
    let place = tempfile::tempdir().unwrap();
    let mut command = tlbench(place.path());
    command.args(["run", "-P", "3", "--blocks", "20", "-o", "r.jsonl", "ipc.sem", "cgroup.fork_into"]);
    let mut run = Started::spawn(command);
    let path = place.path().join("r.jsonl");
    let begun = std::time::Instant::now();
    let some = || record::Record::open(&path).is_ok_and(|r| r.invocations.len() > 2);
    while !some() && begun.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = run.0.id();
    run.0.kill().unwrap();
    run.0.wait().unwrap();
    let left = left_after(place.path(), Duration::from_secs(20));
    assert!(left.is_empty(), "{left:?}");
    assert!(scratch_left(place.path()).is_empty());
    for copy in 0..3u32 {
        let key = 0x746c_0000u32 | (pid & 0xffff);
        let key = format!("{}", key.wrapping_add(copy << 16) as i32);
        let semaphores = std::fs::read_to_string("/proc/sysvipc/sem").unwrap_or_default();
        assert!(!semaphores.lines().any(|l| l.split_whitespace().next() == Some(&key)), "{semaphores}");
    }
    if let Some(own) = environment::unified_cgroup(&environment::Root::host()) {
        let kept = std::fs::read_dir(own).unwrap().flatten();
        let kept: Vec<_> = kept.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        assert!(!kept.iter().any(|name| name.starts_with(&format!("tlbench-{pid}"))), "{kept:?}");
    }
    let resumed =
        tlbench(place.path()).args(["run", "--resume", "r.jsonl", "--budget", "3s"]).output().unwrap();
    assert!(resumed.status.success(), "{resumed:?}");
}
