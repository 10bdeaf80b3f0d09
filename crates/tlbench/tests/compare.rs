//! Verdicts through the binary: on the acceptance data, on the old mails, on records of this machine.

mod program;

use std::path::{Path, PathBuf};

use program::tlbench;
use serde_json::Value;

/// The shared corpus, where it is laid out beside the checkout.
fn shared() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    if !path.is_dir() {
        eprintln!("no ../shared here: nothing checked");
        return None;
    }
    Some(path)
}

fn compare(files: &[PathBuf], args: &[&str]) -> (Value, i32) {
    let place = tempfile::tempdir().unwrap();
    let out = tlbench(place.path()).arg("compare").args(files).args(args).arg("--json").output().unwrap();
    let code = out.status.code().unwrap();
    let document = serde_json::from_slice(&out.stdout)
        .unwrap_or_else(|e| panic!("{files:?}: {e}: {}", String::from_utf8_lossy(&out.stderr)));
    (document, code)
}

fn row<'v>(document: &'v Value, pair: usize, metric: &str) -> &'v Value {
    let rows = document["comparisons"][pair]["rows"].as_array().unwrap();
    rows.iter().find(|row| row["metric"] == metric).unwrap_or_else(|| panic!("no row {metric}"))
}

fn word<'v>(document: &'v Value, metric: &str) -> &'v str {
    row(document, 0, metric)["verdict"].as_str().unwrap()
}

fn has_flag(row: &Value, flag: &str) -> bool {
    row["flags"].as_array().unwrap().iter().any(|f| f == flag)
}

#[test]
fn acceptance_files_get_their_words() {
    let Some(shared) = shared() else { return };
    let of = |name: &str| compare(&[shared.join("data/compare").join(name)], &["--accept-uncontrolled"]);
    let (same, code) = of("acc01_same_tight.csv");
    assert_eq!((word(&same, "m"), code), ("equivalent", 0));
    assert_eq!(same["controlled_order"], true);
    let (worse, code) = of("acc02_5pct_slower.csv");
    assert_eq!((word(&worse, "m"), code), ("worse", 1));
    let ci = &row(&worse, 0, "m")["ci95"];
    assert!(ci[0].as_f64() < Some(1.05) && ci[1].as_f64() > Some(1.05), "{ci}");
    let (small, _) = of("acc03_real_but_small.csv");
    assert_eq!(word(&small, "m"), "equivalent");
    assert!(has_flag(row(&small, 0, "m"), "real-but-small"));
    let (few, _) = of("acc04_underpowered.csv");
    assert_eq!(word(&few, "m"), "inconclusive");
    assert!(row(&few, 0, "m")["more_runs"].is_u64());
    let (modes, _) = of("acc07_two_modes.csv");
    assert_eq!(word(&modes, "m"), "inconclusive");
    assert!(has_flag(row(&modes, 0, "m"), "two-modes"));
    let (rounded, _) = of("acc09_rounded_cells.csv");
    assert_eq!(
        ["sh proc", "page fault", "main mem"].map(|metric| word(&rounded, metric)),
        ["better", "inconclusive", "equivalent"]
    );
    let (count, _) = of("acc10_one_count_apart.csv");
    assert_eq!(word(&count, "10K create"), "inconclusive");
    let (counts, _) = of("acc11_counts.csv");
    assert_eq!(
        ["syscalls", "faults", "faults jitter"].map(|metric| word(&counts, metric)),
        ["exact", "exact", "equivalent"]
    );
    assert_eq!(row(&counts, 0, "syscalls")["exact_change"], 3);
    let (family, _) = of("acc12_family_null.csv");
    let rows = family["comparisons"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 60);
    assert!(rows.iter().all(|r| r["verdict"] == "equivalent" || r["verdict"] == "inconclusive"));
    let (bigger, _) = of("acc14_bigger_is_better.csv");
    assert_eq!(word(&bigger, "m"), "better");
    let (pseudo, _) = of("acc15_pseudo_replication.csv");
    assert_eq!(word(&pseudo, "m"), "inconclusive");
    let (zero, _) = of("acc16_zero_spread.csv");
    assert_eq!(word(&zero, "m"), "better");
    let (one, _) = of("acc18_n1_baseline.csv");
    for metric in ["prot fault", "0K delete", "null call"] {
        assert_eq!(word(&one, metric), "inconclusive", "{metric}");
    }
    assert!(has_flag(row(&one, 0, "prot fault"), "extreme"));
}

#[test]
fn a_drift_in_sequential_runs_is_no_verdict() {
    let Some(shared) = shared() else { return };
    let (drift, code) = compare(&[shared.join("data/compare/acc05_drift_sequential.csv")], &[]);
    assert_eq!(word(&drift, "m"), "inconclusive");
    assert_eq!((drift["controlled_order"].as_bool(), code), (Some(false), 4));
}

#[test]
fn summaries_of_perf_stat_get_their_words() {
    let Some(shared) = shared() else { return };
    let files = [shared.join("data/compare/acc19_summaries_only.csv")];
    let (summaries, _) = compare(&files, &["--accept-uncontrolled", "--base", "before"]);
    let names: Vec<&str> = summaries["comparisons"][0]["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["metric"].as_str().unwrap())
        .collect();
    let like = |part: &str| *names.iter().find(|n| n.to_lowercase().contains(part)).unwrap();
    for part in ["cycles", "elapsed", "dtlb"] {
        assert_eq!(word(&summaries, like(part)), "better", "{part}");
    }
    assert_eq!(word(&summaries, like("itlb")), "equivalent");
}

#[test]
fn the_mail_of_2002_reads_and_decides_as_it_is() {
    let Some(shared) = shared() else { return };
    let seed = std::fs::read_dir(shared.join("seeds")).unwrap().flatten().map(|e| e.path());
    let mail =
        seed.into_iter().find(|p| p.file_name().unwrap().to_string_lossy().starts_with("000_")).unwrap();
    let (document, _) = compare(&[mail], &["--base", "nopintlb", "--all-pairs", "--accept-uncontrolled"]);
    let counts: Vec<[u64; 4]> = document["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| ["better", "worse", "equivalent", "inconclusive"].map(|w| c["counts"][w].as_u64().unwrap()))
        .collect();
    assert_eq!(counts, [[18, 0, 9, 13], [17, 0, 9, 14], [0, 1, 20, 19]]);
    let fork = row(&document, 0, "lmbench/fork proc");
    assert!((fork["ratio"].as_f64().unwrap() - 0.865).abs() < 0.001);
    assert!((fork["ci95"][0].as_f64().unwrap() - 0.845).abs() < 0.002);
    assert_eq!(row(&document, 2, "lmbench/stat")["verdict"], "worse");
    assert!(fork["survives_boot_sd_pct"].as_f64() > Some(0.5) && has_flag(fork, "one-boot"));
}

#[test]
fn one_run_before_and_two_after_decide_nothing() {
    let Some(shared) = shared() else { return };
    let mails = std::fs::read_dir(shared.join("seeds")).unwrap().flatten().map(|e| e.path());
    let mail =
        mails.into_iter().find(|p| p.file_name().unwrap().to_string_lossy().starts_with("003_")).unwrap();
    let (document, _) = compare(&[mail], &["--runs", "before=1", "after=2-3", "--accept-uncontrolled"]);
    let rows = document["comparisons"][0]["rows"].as_array().unwrap();
    assert!(rows.len() >= 55 && rows.iter().all(|row| row["verdict"] == "inconclusive"));
    assert_eq!(
        (&document["base"], &document["comparisons"][0]["other"]),
        (&"before".into(), &"after".into())
    );
    assert!(has_flag(row(&document, 0, "lmbench/prot fault"), "extreme"));
}

#[test]
fn a_record_against_itself_and_a_wrong_base() {
    let place = tempfile::tempdir().unwrap();
    for name in ["x.jsonl", "y.jsonl"] {
        let args = ["run", "syscall.null", "syscall.read", "--quick", "-o", name];
        assert!(tlbench(place.path()).args(args).status().unwrap().success());
    }
    let out = tlbench(place.path()).args(["compare", "x.jsonl", "y.jsonl", "--json"]).output().unwrap();
    assert_eq!(
        out.status.code(),
        Some(4),
        "two sittings without history: the deviation between them is assumed"
    );
    let document: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((&document["base"], &document["controlled_order"]), (&"x".into(), &false.into()));
    assert!(document["notes"].to_string().contains("assumed"), "{document}");
    let wrong =
        tlbench(place.path()).args(["compare", "x.jsonl", "y.jsonl", "--base", "z"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("there are: x, y"), "{wrong:?}");
    let steps =
        tlbench(place.path()).args(["explain", "syscall.null", "x.jsonl", "y.jsonl"]).output().unwrap();
    assert!(String::from_utf8_lossy(&steps.stdout).contains("verdict: "), "{steps:?}");
}

#[test]
fn ab_interleaves_decides_and_undoes() {
    let place = tempfile::tempdir().unwrap();
    let state = place.path().join("state");
    let set = |value: &str| format!("echo {value} > {}", state.display());
    let out = tlbench(place.path())
        .args(["ab", "syscall.write", "--blocks", "3", "--budget", "3s", "--json", "-o", "ab.jsonl"])
        .args([
            "--a",
            &set("a"),
            "--b",
            &set("b"),
            "--undo-a",
            &set("restored"),
            "--undo-b",
            &set("restored"),
        ])
        .output()
        .unwrap();
    assert!([0, 1, 3].contains(&out.status.code().unwrap()), "{out:?}");
    assert_eq!(std::fs::read_to_string(&state).unwrap().trim(), "restored");
    let document: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(document["controlled_order"], true);
    assert_eq!(row(&document, 0, "syscall.write")["base"]["n"], 3);
    let again = tlbench(place.path()).args(["compare", "ab.jsonl", "--json"]).output().unwrap();
    let stored: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(stored["comparisons"], document["comparisons"], "a record never has two verdicts");
    let same = tlbench(place.path()).args(["ab", "syscall.write"]).output().unwrap();
    assert_eq!(same.status.code(), Some(2));
}

#[test]
fn an_interrupted_ab_puts_things_back() {
    for signal in ["INT", "KILL"] {
        let place = tempfile::tempdir().unwrap();
        let state = place.path().join("state");
        let set = |value: &str| format!("echo {value} > {}", state.display());
        let mut command = tlbench(place.path());
        command.args(["ab", "syscall", "--a", &set("a"), "--b", &set("b"), "-o", "ab.jsonl"]);
        command.args(["--undo-a", &set("restored"), "--undo-b", &set("restored")]);
        let mut run = program::Started::spawn(command);
        let begun = std::time::Instant::now();
        let read = || std::fs::read_to_string(&state).unwrap_or_default();
        while !["a", "b"].contains(&read().trim()) && begun.elapsed().as_secs() < 20 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        run.signal(signal);
        let patience = std::time::Duration::from_secs(20);
        let ended = run.ended(patience).expect("ended");
        assert!(signal == "KILL" || ended.code() == Some(130), "{ended:?}");
        assert!(program::left_after(place.path(), patience).is_empty());
        assert_eq!(read().trim(), "restored", "{signal}");
    }
}

#[test]
fn aa_finds_this_machine_equal_to_itself_or_says_why_not() {
    let place = tempfile::tempdir().unwrap();
    let args = ["aa", "syscall.null", "syscall.write", "--blocks", "4", "--budget", "3s", "--json"];
    let out = tlbench(place.path()).args(args).output().unwrap();
    let document: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(out.status.code(), Some(if document["rejected"] == true { 4 } else { 0 }));
    let changes = document["smallest_change"].as_array().unwrap();
    assert!(
        changes.iter().any(|c| c["metric"] == "syscall.null" && c["pct_10min"].as_f64() > Some(0.0)),
        "{document}"
    );
    assert!(document["false_alarms"].is_array());
}

/// A record of one sitting with one metric of three blocks near `value`.
fn sitting(path: &Path, value: f64) {
    let mut text = String::from(
        r#"{"type":"header","schema":1,"tool":"tlbench","started":"","label":"same","plan":{"kind":"run"},"environment":{}}"#,
    );
    for (block, factor) in [(1, 0.999), (2, 1.0), (3, 1.001)] {
        let value = value * factor;
        text += &format!(
            r#"
{{"type":"invocation","metric":"m","definition":1,"unit":"ns","direction":"smaller","per":"call","estimator":"p25","block":{block},"slot":0,"value":{value},"status":"ok"}}"#
        );
    }
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text + "\n").unwrap();
}

#[test]
fn records_of_a_directory_are_sittings_of_one_configuration() {
    let place = tempfile::tempdir().unwrap();
    for (n, drift) in [0.97, 1.01, 1.0, 1.03].into_iter().enumerate() {
        sitting(&place.path().join(format!("old/{n}.jsonl")), 100.0 * drift);
        sitting(&place.path().join(format!("new/{n}.jsonl")), 130.0 * drift);
    }
    let directories = ["old", "new"].map(|name| place.path().join(name));
    let (document, _) = compare(&directories, &["--accept-uncontrolled"]);
    let pair = &document["comparisons"][0];
    assert_eq!((pair["base"].as_str(), pair["other"].as_str()), (Some("old"), Some("new")), "{pair}");
    let row = row(&document, 0, "m");
    assert_eq!(row["verdict"], "worse", "{row}");
    // Four sittings a side show their own spread of some per cent; blocks alone would give a tenth of it.
    let (lo, hi) = (row["ci95"][0].as_f64().unwrap(), row["ci95"][1].as_f64().unwrap());
    assert!(lo < 1.3 && hi > 1.3 && hi - lo > 0.05, "{row}");
}
