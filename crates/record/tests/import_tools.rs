//! hyperfine, criterion, Go and Google Benchmark.

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

fn try_import(text: &str) -> Result<Imported, ImportError> {
    read(vec![Source::bytes("made", text)], &Options::default())
}

fn import(text: &str) -> Imported {
    try_import(text).unwrap()
}

fn labels(imported: &Imported) -> Vec<&str> {
    imported.records.iter().map(|r| r.header.label.as_str()).collect()
}

fn of<'a>(imported: &'a Imported, record: usize, metric: &str) -> Vec<&'a Invocation> {
    imported.records[record].invocations.iter().filter(|i| i.metric == metric).collect()
}

#[test]
fn both_hyperfine_schemas_give_the_same_metrics() {
    let old = import(
        r#"{"results":[
        {"command":"a","mean":0.15,"stddev":0.01,"user":0.01,"system":0.0,"times":[0.1,0.2],"exit_codes":[0,3]},
        {"command":"b","mean":0.3,"stddev":null,"times":[0.3]}]}"#,
    );
    assert_eq!(labels(&old), ["a", "b"]);
    let times = of(&old, 0, "hyperfine/time");
    assert_eq!(times.iter().map(|i| i.value).collect::<Vec<_>>(), [Some(0.1), Some(0.2)]);
    assert_eq!((times[0].slot, times[1].extra["exit_code"].as_i64()), (Some(0), Some(3)));
    assert_eq!(of(&old, 1, "hyperfine/time")[0].slot, Some(2), "b ran after a, not between");
    assert_eq!(of(&old, 0, "hyperfine/system")[0].status, Status::Skipped);
    assert_eq!((&*times[0].unit.0, times[0].direction), ("s", Direction::Smaller));
    let new = import(
        r#"{"schema_version":2,"metadata":{"hyperfine_version":"2.0.0"},"results":[{"command":"a","measurements":[
        {"time_wall_clock":{"value":0.1,"unit":"second"},"cycles":{"value":5.0,"unit":"count"},"exit_code":0}]}]}"#,
    );
    assert_eq!(labels(&new), ["made"]);
    assert_eq!(of(&new, 0, "hyperfine/time")[0].value, Some(0.1));
    assert_eq!(of(&new, 0, "hyperfine/cycles")[0].direction, Direction::None);
}

#[test]
fn damaged_json_names_the_place() {
    let place = |text: &str| match try_import(text).unwrap_err() {
        ImportError::Damaged { place, why, .. } => format!("{place}: {why}"),
        other => panic!("{text}: {other}"),
    };
    let cut = place("{\"results\": [{\"command\": \"a\",\n \"times\": [0.1, 0.2");
    assert!(cut.starts_with("line 2, column 19, byte 49") && cut.contains("cut off"), "{cut}");
    let twice = place(r#"{"results":[{"command":"a","command":"b","times":[1.0]}]}"#);
    assert!(twice.contains("duplicate field `command`"), "{twice}");
    let large = place(r#"{"results":[{"command":"a","times":[1e400]}]}"#);
    assert!(large.contains("number out of range") && large.contains("column 41"), "{large}");
    let deep = place(&format!("{{\"context\":{{\"a\":{}}},\"benchmarks\":[]}}", "[".repeat(10_000)));
    assert!(deep.contains("recursion limit"), "{deep}");
}

#[test]
fn tokens_that_are_no_json_drop_one_value_and_say_so() {
    let imported = import("{\"results\":[{\"command\":\"NaN inf\",\n\"times\":[0.1,NaN,-Infinity,0.2]}]}");
    assert_eq!(of(&imported, 0, "hyperfine/time").len(), 2);
    assert_eq!(imported.skipped.iter().map(|s| s.line).collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn text_after_the_document_is_reported() {
    let imported = import("{\"results\":[{\"command\":\"a\",\"times\":[0.1]}]}\n  \"exit_codes\": [0]}\n");
    assert_eq!(imported.skipped.len(), 1);
    assert_eq!(imported.skipped[0].line, 2);
}

const ESTIMATES: &str = r#"{"mean":{"confidence_interval":{"confidence_level":0.95,"lower_bound":9.0,"upper_bound":11.0},"point_estimate":10.0,"standard_error":0.5},
"median":{"confidence_interval":{"confidence_level":0.95,"lower_bound":9.0,"upper_bound":11.0},"point_estimate":10.1,"standard_error":0.5},
"median_abs_dev":{"confidence_interval":{"confidence_level":0.95,"lower_bound":1.0,"upper_bound":2.0},"point_estimate":1.5,"standard_error":0.5},
"slope":SLOPE,
"std_dev":{"confidence_interval":{"confidence_level":0.95,"lower_bound":1.0,"upper_bound":2.0},"point_estimate":1.5,"standard_error":0.5}}"#;

#[test]
fn a_criterion_tree_is_joined_by_benchmark_and_baseline() {
    let folder = tempfile::tempdir().unwrap();
    let slope = r#"{"confidence_interval":{"confidence_level":0.95,"lower_bound":7.0,"upper_bound":8.0},"point_estimate":7.5,"standard_error":0.1}"#;
    for (baseline, slope) in [("base", "null"), ("new", slope)] {
        let at = folder.path().join("criterion/group_µ/f").join(baseline);
        std::fs::create_dir_all(&at).unwrap();
        std::fs::write(at.join("estimates.json"), ESTIMATES.replace("SLOPE", slope)).unwrap();
        std::fs::write(
            at.join("sample.json"),
            r#"{"sampling_mode":"Flat","iters":[2.0,4.0],"times":[20.0,44.0]}"#,
        )
        .unwrap();
        std::fs::write(
            at.join("benchmark.json"),
            r#"{"group_id":"group/µ","function_id":"f","full_id":"group/µ/f"}"#,
        )
        .unwrap();
        std::fs::write(at.join("tukey.json"), "[1.0,2.0,3.0,4.0]").unwrap();
    }
    let imported = read_paths(&[folder.path().join("criterion")], &Options::default()).unwrap();
    assert_eq!(labels(&imported), ["criterion base", "criterion new"]);
    for (record, value, estimate) in [(0, 10.0, "mean"), (1, 7.5, "slope")] {
        let found = of(&imported, record, "criterion/group/µ/f");
        assert_eq!(found.len(), 1, "samples of one process are one invocation");
        assert_eq!((found[0].value, found[0].extra["estimate"].as_str()), (Some(value), Some(estimate)));
        assert_eq!(found[0].samples.as_deref(), Some(&[10.0, 11.0][..]));
    }
}

#[test]
fn go_lines_and_unknown_units() {
    let imported = import(
        "goos: linux\npkg: x/y\nBenchmarkA/b-4   1000   61.5 ns/op   34 B/op   2 errors/op\nBenchmarkA/b-4   1000   62.5 ns/op   34 B/op   2 errors/op\nPASS\nok  x/y 1.2s\n",
    );
    let times = of(&imported, 0, "go/A/b-4");
    assert_eq!(times.iter().map(|i| i.value).collect::<Vec<_>>(), [Some(61.5), Some(62.5)]);
    assert_eq!(times[0].printed.map(|p| (p.lo, p.hi)), Some((61.45, 61.55)));
    assert_eq!(of(&imported, 0, "go/A/b-4 errors/op")[0].direction, Direction::None);
    assert_eq!(of(&imported, 0, "go/A/b-4 B/op")[0].direction, Direction::Smaller);
}

#[test]
fn results_of_the_2005_tlb_probe() {
    let imported = import(
        "the output:\n\n  512 randomly accessed pages, 13 cycles avg, 73.750000% TLB misses.\n 512 linearly accessed pages, 0 cycles avg, 0.250000% TLB misses.\n",
    );
    let one = |metric: &str| of(&imported, 0, metric)[0];
    assert_eq!(one("tlb-probe/512 pages randomly cycles").printed.map(|p| (p.lo, p.hi)), Some((13.0, 14.0)));
    assert_eq!(one("tlb-probe/512 pages randomly misses").value, Some(73.75));
    assert_eq!(one("tlb-probe/512 pages linearly cycles").value, None);
}

#[test]
fn google_repetitions_errors_and_aggregates() {
    let entry = |index: u32, time: f64| {
        format!(
            r#"{{"name":"BM/1","run_name":"BM/1","run_type":"iteration","repetitions":2,"repetition_index":{index},"threads":1,"iterations":100,"real_time":{time},"cpu_time":1.5,"time_unit":"us","bytes_per_second":5.0e6,"odd":3.0}}"#
        )
    };
    let text = format!(
        r#"{{"context":{{"num_cpus":2}},"benchmarks":[{},{},{},
        {{"name":"BM/1_mean","run_name":"BM/1","run_type":"aggregate","aggregate_name":"mean","aggregate_unit":"time","repetitions":2,"iterations":2,"real_time":9.0,"cpu_time":9.0,"time_unit":"us"}},
        {{"name":"BM_only_mean","run_name":"BM_only","run_type":"aggregate","aggregate_name":"mean","aggregate_unit":"time","repetitions":4,"iterations":4,"real_time":10.0,"cpu_time":9.0,"time_unit":"ns"}},
        {{"name":"BM_only_stddev","run_name":"BM_only","run_type":"aggregate","aggregate_name":"stddev","aggregate_unit":"time","repetitions":4,"iterations":4,"real_time":1.0,"cpu_time":1.0,"time_unit":"ns"}},
        {{"name":"BM_err","run_name":"BM_err","run_type":"iteration","error_occurred":true,"error_message":"no PMU"}}]}}"#,
        entry(0, 2.0),
        entry(1, 3.0),
        entry(1, 3.0)
    );
    let imported = import(&text);
    let times = of(&imported, 0, "gbench/BM/1 real_time");
    assert_eq!(times.iter().map(|i| i.value).collect::<Vec<_>>(), [Some(2.0), Some(3.0)]);
    assert_eq!(&*times[0].unit.0, "us");
    assert_eq!(imported.skipped.len(), 1, "a repetition doubled");
    assert_eq!(of(&imported, 0, "gbench/BM/1 bytes_per_second")[0].direction, Direction::Bigger);
    assert_eq!(of(&imported, 0, "gbench/BM/1 odd")[0].direction, Direction::None);
    let summary = of(&imported, 0, "gbench/BM_only real_time")[0].summary.unwrap();
    assert_eq!((summary.rel_se_pct, summary.n_runs), (5.0, 4));
    let failed = of(&imported, 0, "gbench/BM_err real_time")[0];
    assert_eq!((failed.status, failed.reason.as_deref()), (Status::Failed, Some("no PMU")));
}

#[test]
fn corpus_files_have_their_right_readings() {
    let Some(shared) = shared() else { return };
    let data = |name: &str| read_paths(&[shared.join("data/import").join(name)], &Options::default());
    for name in ["hyperfine/v1.15-two.json", "hyperfine/v1.20-two.json"] {
        assert_eq!(of(&data(name).unwrap(), 1, "hyperfine/time").len(), 4, "{name}");
    }
    assert_eq!(of(&data("hyperfine/v2.0-two.json").unwrap(), 1, "hyperfine/time").len(), 3);
    assert_eq!(data("hyperfine/v1.20-params.json").unwrap().records.len(), 4);
    assert_eq!(labels(&data("hyperfine/v2.0-single-run.json").unwrap())[0], "named one (t=1)");
    let single = data("hyperfine/v1.20-single-run.csv").unwrap();
    let time = of(&single, 0, "hyperfine/time")[0];
    assert!(time.value == Some(0.0106869887) && !time.extra.contains_key("stddev"));
    let error = data("derived/hyperfine-truncated.json").unwrap_err().to_string();
    assert!(error.contains("byte 300"), "{error}");
    assert!(data("derived/hyperfine-empty-results.json").is_err());
    let critcmp = data("criterion/critcmp-export-base.json").unwrap();
    assert_eq!(labels(&critcmp), ["base"]);
    assert_eq!(of(&critcmp, 0, "criterion/flat/sleep")[0].extra["estimate"], "mean");
    let benchstat = data("benchstat/compare-2026.txt").unwrap();
    assert_eq!(labels(&benchstat), ["base.txt", "pr.txt"]);
    let decoder = of(&benchstat, 1, "go/Decoder-4")[0];
    assert!((decoder.value.unwrap() - 61.73).abs() < 1e-9 && decoder.extra["median_of"] == 10);
    for name in ["other/google-benchmark-1.7.json", "other/google-benchmark-1.7.csv"] {
        let imported = data(name).unwrap();
        let copies = of(&imported, 0, "gbench/BM_copy/64/min_time:0.050/repeats:3 real_time");
        assert_eq!(copies.len(), 3, "{name}");
    }
    let threads = |start: &str| {
        let folder = std::fs::read_dir(shared.join("seeds")).unwrap();
        let mut paths = folder.map(|e| e.unwrap().path());
        paths.find(|p| p.file_name().unwrap().to_string_lossy().starts_with(start)).unwrap()
    };
    let probe = read_paths(&[threads("004")], &Options::default()).unwrap();
    assert_eq!(probe.records[0].invocations.len(), 8);
    assert_eq!(of(&probe, 0, "tlb-probe/131072 pages randomly cycles")[0].value, Some(75.0));
    let unknown = data("other/cyclictest-2.4.json").unwrap_err().to_string();
    assert!(unknown.contains("formats read: tlbench records"), "{unknown}");
}
