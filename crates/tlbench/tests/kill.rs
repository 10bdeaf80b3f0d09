//! A run may be killed at any moment: its record stays readable, and nothing of it is left.

mod program;

use std::path::Path;
use std::time::Duration;

use program::{Started, left_after, scratch_left, tlbench};
use record::Record;

const PATIENCE: Duration = Duration::from_secs(20);

fn start(place: &Path, record: &str, more: &[&str]) -> Started {
    let mut command = tlbench(place);
    command.args(["run", "--blocks", "40", "--seed", "1", "-o", record]).args(more);
    Started::spawn(command)
}

fn nothing_left(place: &Path) {
    let left = left_after(place, PATIENCE);
    assert!(left.is_empty(), "left running: {left:?}");
    assert!(scratch_left(place).is_empty(), "left behind: {:?}", scratch_left(place));
}

#[test]
fn sigkill_at_twenty_moments_leaves_a_readable_record_and_no_process() {
    for round in 0..20u64 {
        let place = tempfile::tempdir().unwrap();
        let mut run = start(place.path(), "r.jsonl", &[]);
        // Moments spread over start-up, warm-up and the first blocks; multiples of a prime so that they fall anywhere.
        std::thread::sleep(Duration::from_millis(3 + (round * 97) % 1300));
        run.0.kill().unwrap();
        run.0.wait().unwrap();
        nothing_left(place.path());
        match std::fs::metadata(place.path().join("r.jsonl")) {
            // Killed before the first line was written.
            Err(_) => assert!(round * 97 % 1300 < 1000, "no record after a second"),
            Ok(file) if file.len() == 0 => {}
            Ok(_) => {
                let record = Record::open(&place.path().join("r.jsonl")).unwrap();
                assert!(record.footer.is_none());
                assert!(record.skipped.len() <= 1, "{:?}", record.skipped);
            }
        }
    }
}

#[test]
fn an_interrupted_run_keeps_its_record_and_is_finished_by_resume() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("r.jsonl");
        let mut run = start(place.path(), "r.jsonl", &["syscall.null", "syscall.write", "--budget", "40s"]);
        let begun = || Record::open(&path).is_ok_and(|r| r.invocations.len() > 4);
        let waited = std::time::Instant::now();
        while !begun() && waited.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(10));
        }
        run.signal(signal);
        assert_eq!(run.ended(PATIENCE).and_then(|status| status.code()), Some(code));
        nothing_left(place.path());
        let before = Record::open(&path).unwrap();
        assert_eq!(before.footer.as_ref().map(|f| f.complete), Some(false));
        let resumed =
            tlbench(place.path()).args(["run", "--resume", "r.jsonl", "--budget", "2s"]).output().unwrap();
        assert!(resumed.status.success(), "{resumed:?}");
        let after = Record::open(&path).unwrap();
        assert_eq!(after.footer.as_ref().map(|f| f.complete), Some(true));
        assert_eq!(after.invocations[..before.invocations.len()].len(), before.invocations.len());
        let blocks: std::collections::BTreeSet<_> = after
            .invocations
            .iter()
            .filter(|l| l.metric == "syscall.write")
            .filter_map(|l| l.block)
            .collect();
        assert_eq!(blocks.len(), 40);
        let again = tlbench(place.path()).args(["run", "--resume", "r.jsonl"]).output().unwrap();
        assert_eq!(again.status.code(), Some(2), "{again:?}");
    }
}

#[test]
fn a_crashing_or_hanging_worker_is_reported_and_gone() {
    // SIGSTOP makes a worker hang, SIGSEGV makes it crash; the run goes on after both.
    let place = tempfile::tempdir().unwrap();
    let mut run = start(place.path(), "r.jsonl", &["syscall.null", "--budget", "20s"]);
    // By process: one that is hit twice crashed once, and perhaps was not told of yet.
    let mut crashed = std::collections::HashSet::new();
    let begun = std::time::Instant::now();
    while crashed.len() < 3 && begun.elapsed() < PATIENCE {
        for (pid, _) in program::processes_in(place.path()) {
            let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            if command.windows(8).any(|w| w == b"__worker") {
                let killed = std::process::Command::new("kill")
                    .args(["-SEGV", &pid.to_string()])
                    .stderr(std::process::Stdio::null())
                    .status()
                    .unwrap();
                if killed.success() {
                    crashed.insert(pid);
                }
            }
        }
        std::thread::sleep(Duration::from_millis(3));
    }
    assert!(crashed.len() >= 3, "too few workers seen");
    assert!(run.0.try_wait().unwrap().is_none(), "the run ended with its worker");
    run.signal("INT");
    assert_eq!(run.ended(PATIENCE).and_then(|status| status.code()), Some(130));
    nothing_left(place.path());
    let record = Record::open(&place.path().join("r.jsonl")).unwrap();
    let reasons: Vec<_> =
        record.warmup.iter().chain(&record.invocations).filter_map(|l| l.reason.clone()).collect();
    assert!(reasons.iter().any(|r| r.contains("the worker crashed")), "{reasons:?}");
}
