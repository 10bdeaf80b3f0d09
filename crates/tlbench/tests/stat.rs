//! `stat` as a user runs it: numbers that can't be impossible, failures, hooks, interruptions, nothing left behind.

mod program;

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use program::{Started, json_lines, left_after, scratch_left, tlbench};
use serde_json::Value;

/// Runs `stat` with these words in `place`.
fn stat(place: &Path, words: &[&str]) -> Output {
    tlbench(place).arg("stat").args(words).output().unwrap()
}

/// The JSON document of a run that ended with `code`.
fn document(place: &Path, code: i32, words: &[&str]) -> Value {
    let (ended, document) = judged(place, words);
    assert_eq!(ended, Some(code), "{words:?}");
    document
}

/// The exit code and the JSON document of a run.
fn judged(place: &Path, words: &[&str]) -> (Option<i32>, Value) {
    let output = stat(place, &[&["--json"], words].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code();
    let document = serde_json::from_slice(&output.stdout);
    (code, document.unwrap_or_else(|e| panic!("{words:?}: {e}: {said}")))
}

fn runs(document: &Value, command: usize) -> &Vec<Value> {
    document["commands"][command]["runs"].as_array().unwrap()
}

fn number(run: &Value, field: &str) -> f64 {
    run[field].as_f64().unwrap_or_else(|| panic!("{field} in {run}"))
}

#[test]
fn two_hundred_short_runs_hold_no_impossible_value() {
    let place = tempfile::tempdir().unwrap();
    let cpus = std::thread::available_parallelism().unwrap().get() as f64;
    let document = document(place.path(), 0, &["-r", "200", "--", "true"]);
    assert_eq!(runs(&document, 0).len(), 200);
    for run in runs(&document, 0) {
        let wall = number(run, "wall_s");
        let cpu = number(run, "user_s") + number(run, "sys_s");
        assert!(wall > 0.0 && cpu <= wall * cpus + 1e-6, "{run}");
        assert!(number(run, "max_rss_bytes") > 0.0, "{run}");
        if let Some(clock) = run["counters"]["task-clock"]["value"].as_f64() {
            assert!(clock / 1e3 <= wall * cpus, "{run}");
        }
        for (name, counter) in run["counters"].as_object().unwrap() {
            let counted = counter["value"].is_number() && counter["running_pct"].is_number();
            let told =
                counter["value"].is_null() && counter["reason"].as_str().is_some_and(|r| !r.is_empty());
            assert!(counted || told, "{name}: {counter}");
        }
    }
}

#[test]
fn faults_are_those_that_perf_counts() {
    let place = tempfile::tempdir().unwrap();
    let perf = Command::new("perf")
        .args(["stat", "-x", ",", "-r", "20", "-e", "page-faults", "--", "true"])
        .env("LC_ALL", "C")
        .output();
    let theirs = perf.ok().and_then(|output| {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        text.lines().find_map(|line| line.split(',').next()?.parse::<f64>().ok())
    });
    let Some(theirs) = theirs else {
        println!("skipped: no perf that counts page faults here");
        return;
    };
    let document = document(place.path(), 0, &["-r", "20", "-e", "page-faults", "--", "true"]);
    let ours: f64 =
        runs(&document, 0).iter().map(|run| number(&run["counters"]["page-faults"], "value")).sum::<f64>()
            / 20.0;
    // The environment is padded by up to a page, which may touch one more page of stack.
    assert!((ours - theirs).abs() <= 2.5, "ours {ours}, perf's {theirs}");
}

#[test]
fn peak_memory_is_of_that_run_alone() {
    let place = tempfile::tempdir().unwrap();
    let large = "head -c 60000000 /dev/zero | tail -c 60000000 > /dev/null";
    let (_, document) = judged(place.path(), &["-r", "3", "-w", "0", "--", "true", "--", "sh", "-c", large]);
    for run in runs(&document, 0) {
        assert!(number(run, "max_rss_bytes") < 8e6, "seeded by another process: {run}");
    }
    for run in runs(&document, 1) {
        assert!(number(run, "max_rss_bytes") > 50e6, "{run}");
    }
}

#[test]
fn failures_are_counted_named_and_left_out() {
    let place = tempfile::tempdir().unwrap();
    let failing = document(place.path(), 1, &["-r", "3", "--", "sh", "-c", "exit 7"]);
    assert_eq!(failing["commands"][0]["failed"], 3);
    assert_eq!(runs(&failing, 0)[0]["exit"], 7);
    let killed = document(place.path(), 1, &["-r", "1", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!((&runs(&killed, 0)[0]["signal"], &runs(&killed, 0)[0]["exit"]), (&9.into(), &Value::Null));
    let late = document(place.path(), 1, &["-r", "1", "--timeout", "0.2s", "--", "sleep", "1000"]);
    assert_eq!(runs(&late, 0)[0]["failure"], "time-out");
    document(place.path(), 0, &["-r", "1", "-i", "--", "sh", "-c", "exit 7"]);
    for both in [["false", "--", "true"], ["false", "--", "false"]] {
        let none_good = document(place.path(), 4, &[&["-r", "2", "--"][..], &both].concat());
        assert_eq!(none_good["comparison"]["comparable"], false, "{both:?}");
    }
    let said = stat(place.path(), &["-r", "1", "--", "sh", "-c", "echo broken >&2; exit 1"]);
    assert!(String::from_utf8_lossy(&said.stderr).contains("broken"));
    let missing = stat(place.path(), &["--", "no-such-command-here"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(left_after(place.path(), Duration::from_secs(10)).is_empty());
}

#[test]
fn a_killed_launcher_is_told_and_what_was_measured_is_kept() {
    let place = tempfile::tempdir().unwrap();
    // The first run is to be over when the second kills the launcher: the process of that name beside it.
    let find = "for p in $(cat /proc/$PPID/task/*/children); do \
        read -r name < /proc/$p/comm; [ $name = tlbench-launch ] && kill -9 $p; done";
    let command = format!("if mkdir once; then :; else {find}; fi; exit 0");
    let words = ["-r", "9", "--cleanup", "touch cleaned", "-o", "r.jsonl", "--", "sh", "-c", &command];
    let output = stat(place.path(), &words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("was killed"), "{said}");
    let record = std::fs::read_to_string(place.path().join("r.jsonl")).unwrap();
    let runs = record.lines().filter(|line| line.contains("\"metric\":\"stat/wall\"")).count();
    assert!((1..9).contains(&runs), "{record}");
    assert!(place.path().join("cleaned").exists());
}

#[test]
fn an_unknown_event_is_missing_with_its_reason_and_never_0() {
    let place = tempfile::tempdir().unwrap();
    let document = document(place.path(), 0, &["-r", "1", "-e", "page-faults,nosuch", "--", "true"]);
    let counters = &runs(&document, 0)[0]["counters"];
    assert_eq!(counters["nosuch"]["value"], Value::Null);
    assert!(counters["nosuch"]["reason"].as_str().unwrap().contains("unknown name"));
    assert!(counters["page-faults"].get("value").is_some());
}

#[test]
fn a_command_that_takes_half_as_long_again_is_found_and_compare_repeats_it() {
    let place = tempfile::tempdir().unwrap();
    let spin = |loops: u32| format!("i=0; while [ $i -lt {loops} ]; do i=$((i+1)); done");
    let (short, long) = (spin(30_000), spin(45_000));
    let words = [
        "-r",
        "12",
        "-o",
        "pair.jsonl",
        "--gate",
        "stat/cpu",
        "--",
        "sh",
        "-c",
        &short,
        "--",
        "sh",
        "-c",
        &long,
    ];
    // A busy machine may need a second or third look; an effect of a half must show in one of them.
    let mut tries = 0;
    let found = loop {
        let _ = std::fs::remove_file(place.path().join("pair.jsonl"));
        let (code, document) = judged(place.path(), &words);
        tries += 1;
        assert!(
            matches!(code, Some(1 | 3)) && (code == Some(1) || tries < 5),
            "{code:?} after {tries}: {document}"
        );
        if code == Some(1) {
            break document;
        }
    };
    let row = |document: &Value, name: &str| {
        let rows = document["comparisons"][0]["rows"].as_array().unwrap();
        rows.iter().find(|row| row["metric"] == name).cloned().unwrap()
    };
    let cpu = row(&found["comparison"], "stat/cpu");
    assert_eq!(cpu["verdict"], "worse", "{cpu}");
    let output = tlbench(place.path()).args(["compare", "pair.jsonl", "--json"]).output().unwrap();
    let again: Value = serde_json::from_slice(&output.stdout).unwrap();
    for name in ["stat/cpu", "stat/wall", "stat/max_rss"] {
        let (first, second) = (row(&found["comparison"], name), row(&again, name));
        assert_eq!(first["verdict"], second["verdict"], "{name}");
        for field in ["ratio", "p_adjusted"] {
            // Read from text, a number may differ in its last digit.
            let (first, second) = (number(&first, field), number(&second, field));
            assert!((first - second).abs() <= 1e-12 * first.abs(), "{name} {field} {first} {second}");
        }
    }
}

#[test]
fn equal_commands_are_not_told_apart() {
    let place = tempfile::tempdir().unwrap();
    // One false alarm in twenty tables is allowed for, so one of three may be one.
    let mut alarms = 0;
    for command in ["true", "ls", "date"] {
        let output = stat(place.path(), &["-r", "8", "--json", "--", command, "--", command]);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let counts = &document["comparison"]["comparisons"][0]["counts"];
        let verdicts = number(counts, "better") + number(counts, "worse") + number(counts, "differs");
        alarms += usize::from(verdicts > 0.0);
        assert_eq!(document["commands"][1]["name"], format!("{command} (#2)"));
    }
    assert!(alarms <= 1, "{alarms} of 3");
}

#[test]
fn commands_that_print_differently_are_not_comparable() {
    let place = tempfile::tempdir().unwrap();
    let words = ["-r", "2", "--check-output", "--", "sh", "-c", "echo $$"];
    let output = stat(place.path(), &words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "a single command too: {said}");
    assert!(said.contains("not comparable"), "{said}");
    let words = ["-r", "2", "--check-output", "--", "echo", "1", "--", "echo", "2"];
    let document = document(place.path(), 4, &words);
    assert_eq!(document["comparison"]["comparable"], false);
}

#[test]
fn hooks_run_around_runs_and_parameters_fill_them() {
    let place = tempfile::tempdir().unwrap();
    let words = [
        "-r",
        "2",
        "-w",
        "0",
        "-P",
        "n",
        "1,2",
        "--setup",
        "echo setup{n} >> log",
        "--prepare",
        "echo prepare >> log",
        "--conclude",
        "echo conclude >> log",
        "--cleanup",
        "echo cleanup{n} >> log",
        "-i",
        "--",
        "sh",
        "-c",
        "echo run{n} >> log",
    ];
    let output = stat(place.path(), &words);
    assert!(output.status.code().is_some_and(|code| code < 4), "{output:?}");
    let log = std::fs::read_to_string(place.path().join("log")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines[..2], ["setup1", "setup2"]);
    assert_eq!(lines[lines.len() - 2..], ["cleanup1", "cleanup2"]);
    let middle = &lines[2..lines.len() - 2];
    assert_eq!(middle.len(), 12);
    for turn in middle.chunks(3) {
        assert_eq!((turn[0], turn[2]), ("prepare", "conclude"));
        assert!(turn[1].starts_with("run"));
    }
    let failed = stat(
        place.path(),
        &["-r", "1", "--setup", "exit 3", "--cleanup", "echo put back >> log2", "--", "true"],
    );
    assert_eq!(failed.status.code(), Some(2));
    assert!(place.path().join("log2").exists(), "a failed set-up is cleaned up");
}

#[test]
fn whatever_a_command_leaves_running_is_gone() {
    let place = tempfile::tempdir().unwrap();
    let script = "sleep 1000 & setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &) ; exit 0";
    let document = document(place.path(), 0, &["-r", "2", "--", "sh", "-c", script]);
    assert!(runs(&document, 0).iter().any(|run| number(run, "left_behind") > 0.0));
    assert!(left_after(place.path(), Duration::from_secs(10)).is_empty());
    assert!(scratch_left(place.path()).is_empty());
}

#[test]
fn a_process_tree_that_grows_to_a_limit_is_gone_too() {
    let place = tempfile::tempdir().unwrap();
    let script = "n=0; grow() { n=$((n+1)); [ $n -gt 5 ] && sleep 1000; grow & grow & wait; }; grow";
    let document = document(place.path(), 1, &["-r", "1", "--timeout", "1s", "--", "sh", "-c", script]);
    assert_eq!(runs(&document, 0)[0]["failure"], "time-out");
    assert!(left_after(place.path(), Duration::from_secs(20)).is_empty());
}

#[test]
fn interrupted_runs_end_with_the_signal_and_keep_the_record() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let place = tempfile::tempdir().unwrap();
        let mut command = tlbench(place.path());
        command.args([
            "stat",
            "-r",
            "100000",
            "-o",
            "kept.jsonl",
            "--",
            "sh",
            "-c",
            "sleep 1000 & sleep 0.01",
        ]);
        let mut started = Started::spawn(command);
        let record = place.path().join("kept.jsonl");
        let lines = || std::fs::read_to_string(&record).map_or(0, |text| text.lines().count());
        let begun = std::time::Instant::now();
        while lines() < 30 {
            assert!(begun.elapsed() < Duration::from_secs(120), "no runs");
            std::thread::sleep(Duration::from_millis(5));
        }
        started.signal(signal);
        let status = started.ended(Duration::from_secs(60)).expect("it ends");
        assert_eq!(status.code(), Some(code));
        let kept = json_lines(&std::fs::read(&record).unwrap());
        assert_eq!(kept.last().unwrap()["complete"], false);
        assert!(left_after(place.path(), Duration::from_secs(10)).is_empty());
        assert!(scratch_left(place.path()).is_empty());
    }
}

#[test]
fn killed_outright_it_leaves_no_command_behind() {
    let place = tempfile::tempdir().unwrap();
    let mut command = tlbench(place.path());
    command.args([
        "stat",
        "-r",
        "1",
        "--cleanup",
        "touch cleaned",
        "--",
        "sh",
        "-c",
        "touch begun; sleep 1000 & sleep 1000",
    ]);
    let mut started = Started::spawn(command);
    let begun = std::time::Instant::now();
    while !place.path().join("begun").exists() {
        assert!(begun.elapsed() < Duration::from_secs(120), "no run");
        std::thread::sleep(Duration::from_millis(5));
    }
    started.signal("KILL");
    started.ended(Duration::from_secs(60)).expect("it ends");
    assert!(left_after(place.path(), Duration::from_secs(20)).is_empty());
    assert!(place.path().join("cleaned").exists(), "the janitor cleans up");
}

#[test]
fn much_output_costs_no_memory_and_a_closed_reader_ends_quietly() {
    let place = tempfile::tempdir().unwrap();
    let words = ["-r", "1", "--stdout", "pipe", "--", "sh", "-c", "head -c 300000000 /dev/zero"];
    let document = document(place.path(), 0, &words);
    assert_eq!(runs(&document, 0)[0]["exit"], 0);
    let own = env!("CARGO_BIN_EXE_tlbench");
    let piped = format!("{own} stat -r 1 -- true | true; echo ${{PIPESTATUS[0]}}");
    let output = Command::new("bash").args(["-c", &piped]).current_dir(place.path()).output().unwrap();
    let (said, code) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    assert_eq!(code.trim(), "0", "{said}");
}

#[test]
fn the_screen_and_the_exports_are_read_by_import() {
    let place = tempfile::tempdir().unwrap();
    let words = ["-r", "3", "--export-json", "h.json", "--export-markdown", "h.md", "--", "true"];
    let output = stat(place.path(), &words);
    assert!(output.status.success(), "{output:?}");
    std::fs::write(place.path().join("screen.txt"), &output.stdout).unwrap();
    for (file, metric) in [("h.json", "hyperfine/time"), ("screen.txt", "perf/elapsed")] {
        let imported = record::import::read_paths(&[place.path().join(file)], &Default::default()).unwrap();
        let lines = imported.records.iter().flat_map(|record| &record.invocations);
        assert!(lines.clone().any(|line| line.metric == metric), "{file}: {:?}", lines.collect::<Vec<_>>());
    }
    let markdown = std::fs::read_to_string(place.path().join("h.md")).unwrap();
    assert!(markdown.contains("| `true` |"), "{markdown}");
}

#[test]
fn a_chain_of_execs_is_counted_per_exec() {
    let place = tempfile::tempdir().unwrap();
    assert!(tlbench(place.path()).args(["exec-chain", "3"]).status().unwrap().success());
    let text = stat(place.path(), &["-r", "2", "--per", "20", "--exec-chain", "20", "--", "true"]);
    let screen = String::from_utf8_lossy(&text.stdout);
    assert!(screen.contains("per iteration (20 per run)"), "{screen}");
    let one = document(place.path(), 0, &["-r", "2", "--exec-chain", "20"]);
    if let Some(faults) = runs(&one, 0)[0]["counters"]["page-faults"]["value"].as_f64() {
        // Every exec faults its program in anew.
        assert!(faults > 20.0 * 10.0, "{faults}");
    }
}

#[test]
fn blocks_of_short_commands_hold_several_turns_of_each() {
    let place = tempfile::tempdir().unwrap();
    let (_, document) = judged(place.path(), &["--max-time", "3s", "--", "true", "--", "true"]);
    let in_block = |command: usize, block: u64| {
        runs(&document, command).iter().filter(|run| run["block"] == block).count()
    };
    let blocks = runs(&document, 0).last().unwrap()["block"].as_u64().unwrap();
    for block in 1..=blocks {
        assert_eq!(in_block(0, block), in_block(1, block), "block {block}");
    }
    assert!(in_block(0, 1) > 1, "a launch takes no second");
    // The number of runs asked for is the number made.
    let (_, document) = judged(place.path(), &["-r", "3", "--", "true", "--", "true"]);
    assert_eq!((runs(&document, 0).len(), runs(&document, 1).len()), (3, 3));
}

#[test]
fn a_command_that_wants_the_terminal_is_ended_and_told() {
    let place = tempfile::tempdir().unwrap();
    let own = env!("CARGO_BIN_EXE_tlbench");
    let typed = format!("{own} stat -r 1 -- sh -c 'read x < /dev/tty'");
    let output = Command::new("script")
        .args(["-qec", &typed, "/dev/null"])
        .current_dir(place.path())
        .env("TMPDIR", place.path())
        .stdin(std::process::Stdio::null())
        .output();
    let Ok(output) = output else {
        println!("skipped: no `script` to make a terminal");
        return;
    };
    let screen = String::from_utf8_lossy(&output.stdout);
    assert!(screen.contains("it wants the terminal"), "{screen}");
    assert!(screen.contains("no run ended well"), "{screen}");
    assert!(left_after(place.path(), Duration::from_secs(10)).is_empty());
}
