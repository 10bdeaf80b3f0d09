//! `perf stat` in all its outputs: rules on texts made here, and the right readings of the shared corpus when present.

use std::path::{Path, PathBuf};

use record::import::{ImportError, Imported, Options, Source, read, read_paths};
use record::{Direction, Invocation, Status};

fn shared() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    if folder.join("data").is_dir() {
        return Some(folder);
    }
    println!("skipped: ../shared/data is not here");
    None
}

fn import(text: &str) -> Imported {
    read(vec![Source::bytes("made.txt", text)], &Options::default()).unwrap()
}

fn one<'a>(imported: &'a Imported, metric: &str) -> &'a Invocation {
    let all = imported.records.iter().flat_map(|r| &r.invocations);
    let found: Vec<_> = all.filter(|i| i.metric == format!("perf/{metric}")).collect();
    assert_eq!(found.len(), 1, "{metric}");
    found[0]
}

const REPEATED: &str = "
 Performance counter stats for './work 7' (12 runs):

              3.50 msec task-clock                       #    0.400 CPUs utilized            ( +-  2.50% )
                 0      context-switches                 #    0.000 /sec
            12,345      page-faults                      #   20.901 K/sec                    ( +-  0.50% )
     1,234,567,890      cycles                           #    3.0 GHz                        ( +-  0.10% )  (49.98%)
   <not supported>      dTLB-load-misses

          0.008750 +- 0.000100 seconds time elapsed  ( +-  1.14% )

";

#[test]
fn the_standard_error_and_the_runs_are_kept() {
    let imported = import(REPEATED);
    let clock = one(&imported, "task-clock");
    assert_eq!((clock.value, &*clock.unit.0, clock.direction), (Some(3.5), "ms", Direction::Smaller));
    let summary = clock.summary.unwrap();
    assert_eq!((summary.mean, summary.rel_se_pct, summary.n_runs), (3.5, 2.5, 12));
    assert!((summary.rel_se_half_digit_pct - 0.005).abs() < 1e-12);
    let absent = one(&imported, "dTLB-load-misses");
    assert_eq!((absent.value, absent.status), (None, Status::Skipped));
    assert_eq!(absent.reason.as_deref(), Some("not supported"));
    assert_eq!(one(&imported, "context-switches").extra["counted"], 0);
    assert_eq!(one(&imported, "context-switches").value, None);
    assert_eq!(one(&imported, "cycles").extra["running_pct"], 49.98);
    assert_eq!(one(&imported, "elapsed").summary.unwrap().rel_se_pct, 1.14);
    assert!(imported.notes.iter().any(|n| n.contains("exit status")));
    assert!(imported.skipped.is_empty());
}

#[test]
fn quoting_folding_and_other_locales_read_the_same() {
    let values = |imported: &Imported| -> Vec<_> {
        let all = imported.records.iter().flat_map(|r| &r.invocations);
        all.map(|i| (i.metric.clone(), i.value, i.summary)).collect()
    };
    let plain = values(&import(REPEATED));
    let quoted: String = REPEATED.lines().map(|l| format!("> {l}\r\n")).collect();
    let folded = REPEATED.replace("            ( +-", "\n( +-").replace("   ( +-", "\n       ( +-");
    let mail = format!("Hi,\n\n{}\nThanks\n", REPEATED.replace("% )\n", "% )=20\n"));
    let german: String = REPEATED
        .chars()
        .map(|c| match c {
            '.' => ',',
            ',' => '.',
            c => c,
        })
        .collect();
    let german = german.replace(",/work", "./work");
    for text in [quoted, folded, mail, german] {
        assert_eq!(values(&import(&text)), plain, "{text}");
    }
}

#[test]
fn thousands_that_could_be_decimals_are_refused() {
    let text = " Performance counter stats for 'x':\n\n    137.067      page-faults\n\n    1.234 seconds time elapsed\n";
    let imported = read(vec![Source::bytes("a", text)], &Options::default()).unwrap();
    assert!(imported.records.is_empty() || imported.records[0].invocations.is_empty());
    assert!(imported.skipped.iter().any(|s| s.line == 3 && s.why.contains("thousands or decimals")));
}

#[test]
fn headings_of_a_mail_name_the_configurations() {
    let block = |n: u32| {
        format!(
            "  Performance counter stats for './a' (5 runs):\n\n   {n}      faults\n   ( +-  0.10% )\n\n   0.{n}1 seconds time elapsed\n      ( +-  0.20% )\n"
        )
    };
    let text = format!(
        "I measured:\n\nBoard before the change:\n\n{}\n\nBoard after it\n\n{}\nBye\n",
        block(500),
        block(400)
    );
    let imported = import(&text);
    let labels: Vec<_> = imported.records.iter().map(|r| r.header.label.as_str()).collect();
    assert_eq!(labels, ["Board before the change", "Board after it"]);
    let faults = &imported.records[1].invocations[0];
    assert_eq!((faults.value, faults.summary.unwrap().n_runs), (Some(400.0), 5));
}

#[test]
fn rows_of_csv_are_found_by_unit_and_event() {
    let variants = [
        "3.61,msec,task-clock,3606488,100.00,0.3,CPUs utilized\n85,,page-faults,3606488,100.00,23,K/sec\n",
        "3.61;msec;task-clock;0.74%;3606488;100.00;0.3;CPUs utilized\n85;;page-faults;0.00%;3606488;100.00;23;K/sec\n",
        "3,61;msec;task-clock;3606488;100,00;0;CPUs utilized\n85;;page-faults;3606488;100,00;23;K/sec\n",
        "3,61,msec,task-clock,3606488,100,00,0,CPUs utilized\n85,,page-faults,3606488,100,00,23,K/sec\n",
        "3.61|msec|task-clock|/a/cgroup|3606488|100.00|0.3|CPUs utilized\n85||page-faults|/a/cgroup|3606488|100.00|23|K/sec\n",
    ];
    for text in variants {
        let imported = import(&format!("# started on Mon\n\n{text},,,,,\n"));
        assert_eq!(one(&imported, "task-clock").value, Some(3.61), "{text}");
        assert_eq!(one(&imported, "page-faults").value, Some(85.0), "{text}");
        assert_eq!(imported.skipped.len(), 1, "{text}");
    }
    let places = import(
        "S0,2,404.67,msec,cpu-clock,404669279,100.00,1.999,CPUs utilized\nS0,2,9306,,page-faults,404669447,100.00,22,K/sec\n",
    );
    assert_eq!(one(&places, "page-faults S0").extra["cpus"], 2);
    let slices = import(
        "0.100165333,0.71,msec,task-clock,706771,100.00,0.007,CPUs utilized\n0.202751150,<not counted>,msec,task-clock,0,100.00,,\n0.3,0.04,msec,task-clock,40406,100.00,0.0,CPUs utilized\n",
    );
    assert_eq!(one(&slices, "task-clock").value, Some(0.75));
    assert_eq!(one(&slices, "task-clock").extra["slices"][1][1], serde_json::Value::Null);
}

#[test]
fn damaged_json_objects_are_named_and_the_others_kept() {
    let good = |event: &str| {
        format!(
            "{{\"counter-value\" : \"12.000000\", \"unit\" : \"\", \"event\" : \"{event}\", \"event-runtime\" : 5, \"pcnt-running\" : 100.00}}"
        )
    };
    let text = format!(
        "# started on Mon\n\n{} \"metric-value\" : 3.0}} {}\n{{\"event\" : \"x\", \"counter-value\" : \"<not counted>\", \"pcnt-running\" : 100,00}}\n",
        good("a-misses"),
        good("b")
    );
    let imported = import(&text);
    assert_eq!(one(&imported, "a-misses").value, Some(12.0));
    assert_eq!((one(&imported, "b").value, one(&imported, "b").direction), (Some(12.0), Direction::None));
    assert_eq!(imported.skipped.iter().map(|s| s.line).collect::<Vec<_>>(), [3, 4]);
}

#[test]
fn the_2017_thread_gives_its_24_numbers() {
    let Some(shared) = shared() else { return };
    let seed = std::fs::read_dir(shared.join("seeds"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .find(|p| p.file_name().unwrap().to_string_lossy().starts_with("002"))
        .unwrap();
    let imported = read_paths(&[seed], &Options::default()).unwrap();
    let states = [
        ("before", "before the change"),
        ("after", "after your change"),
        ("is_write", "after changing !is_exec by is_write"),
    ];
    let mut table = csv::Reader::from_path(shared.join("data/compare/seed002_perfstat.csv")).unwrap();
    let mut compared = 0;
    for row in table.deserialize::<std::collections::BTreeMap<String, String>>() {
        let row = row.unwrap();
        let (board, state) = row["config"].split_once('/').unwrap();
        let label = format!("{board} {}", states.iter().find(|s| s.0 == state).unwrap().1);
        let record = imported.records.iter().find(|r| r.header.label == label).unwrap();
        let metric = format!("perf/{}", row["metric"]);
        let found = record.invocations.iter().find(|i| i.metric == metric).unwrap();
        let summary = found.summary.unwrap();
        let number = |field: &str| row[field].parse::<f64>().unwrap();
        assert_eq!(summary.mean, number("value"), "{label} {metric}");
        assert_eq!((summary.rel_se_pct, f64::from(summary.n_runs)), (number("rel_se_pct"), number("n_runs")));
        assert_eq!((&*found.unit.0, found.direction), (row["unit"].as_str(), Direction::Smaller));
        compared += 1;
    }
    assert_eq!(compared, 24);
    assert_eq!(imported.records.len(), 6);
}

#[test]
fn corpus_files_have_their_right_readings() {
    let Some(shared) = shared() else { return };
    let data = |name: &str| read_paths(&[shared.join("data/import").join(name)], &Options::default());
    let value = |name: &str, metric: &str| one(&data(name).unwrap(), metric).value;
    assert_eq!(value("perf/big-de_DE.txt", "page-faults"), Some(137_067.0));
    assert_eq!(value("perf/big-en_US.txt", "page-faults"), Some(137_004.0));
    assert_eq!(value("perf/big-hi_IN.txt", "page-faults"), Some(136_945.0));
    assert_eq!(value("perf/csv-comma-locale-mesos-2021.csv", "cycles"), Some(6_376_827_291.0));
    assert_eq!(value("perf/locale-de_DE-x-comma.csv", "task-clock"), Some(3.61));
    assert_eq!(value("perf/locale-de_DE-x-semicolon.csv", "task-clock"), Some(3.92));
    for (name, elapsed) in
        [("de_DE", 0.01041), ("fr_FR", 0.00686), ("de_CH", 0.01202), ("hi_IN", 0.0080228), ("en_US", 0.01941)]
    {
        assert_eq!(value(&format!("perf/locale-{name}.txt"), "elapsed"), Some(elapsed), "{name}");
    }
    for name in
        ["perf/vm-nopmu.txt", "perf/vm-nopmu.jsonl", "perf/vm-nopmu-x-comma.csv", "perf/vm-nopmu-r5.jsonl"]
    {
        let imported = data(name).unwrap();
        for event in ["cycles", "instructions", "branches", "branch-misses"] {
            assert_eq!(one(&imported, event).value, None, "{name} {event}");
            assert_eq!(one(&imported, event).reason.as_deref(), Some("not supported"));
        }
    }
    let late = data("perf/vm-nopmu-x-comma.csv").unwrap();
    assert_eq!(one(&late, "task-clock").extra["cpus_utilized"], 13.022);
    assert!(late.notes.iter().any(|n| n.contains("impossible for one thread")));
    let refused = data("perf/nosuchevent.txt").unwrap_err();
    assert!(
        matches!(refused, ImportError::Nothing { .. })
            && refused.to_string().contains("perf refused an event")
    );
    let nothing = data("perf/csv-notcounted-topdown-group-2020.csv").unwrap();
    assert!(nothing.records[0].invocations.iter().all(|i| i.value.is_none()));
    let salvaged = data("perf/json-missing-brace-2022.txt").unwrap();
    assert_eq!((salvaged.records[0].invocations.len(), salvaged.skipped.len()), (3, 1));
    let scaled = data("perf/json-benchkit-started-2024.txt").unwrap();
    assert_eq!(one(&scaled, "cycles").extra["running_pct"], 10.0);

    let folded = data("derived/perf-table-quoted-and-folded.txt").unwrap();
    let runs = folded.records[0].invocations.iter().filter(|i| i.metric == "perf/elapsed").count();
    assert_eq!((runs, folded.skipped.len()), (20, 0));
    assert_eq!(one(&folded, "branches:u").extra["running_pct"], 49.99);
    let numbers = |name: &str| {
        let all = data(name).unwrap().records.remove(0).invocations;
        all.into_iter().map(|i| (i.metric, i.value)).collect::<Vec<_>>()
    };
    assert_eq!(numbers("derived/perf-r5-crlf.txt"), numbers("perf/vm-nopmu-r5.txt"));
    let cut = data("derived/perf-r5-truncated.txt").unwrap();
    assert!(cut.skipped.iter().any(|s| s.why.contains("truncated")));
    assert_eq!(value("perf/per-cpu.txt", "page-faults CPU1"), Some(4561.0));
    assert_eq!(value("perf/per-core.jsonl", "page-faults S0-D0-C1"), Some(4045.0));
    assert_eq!(value("perf/interval.txt", "page-faults"), Some(59.0));
}
