//! `tlbench sim` and `tlbench trace` as a user and a script see them.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

fn tlbench(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_tlbench")).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn json(arguments: &[&str]) -> Value {
    let (code, out, err) = tlbench(arguments);
    assert_eq!(code, Some(0), "{err}");
    serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}"))
}

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Three user pages and two kernel pages, twice, an invalidation in between.
fn small_trace(folder: &Path) -> String {
    let round = "I 1000,4\nR 2000,4\nW 3ffe,4\nI c0000000,4\nR c0001000,4\n";
    file(folder, "small.tr", &format!("# small\nA 1\n{round}F\n{round}"))
}

#[test]
fn the_document_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let trace = small_trace(folder.path());
    let document = json(&[
        "sim",
        &trace,
        "-m",
        "ppc405gp",
        "--last-level",
        "--pin",
        "0,1",
        "--break-even",
        "--explain",
        "--json",
    ]);
    assert_eq!(document["trace"]["references"], 10);
    assert_eq!(document["trace"]["thinned"], false);
    let rows = document["configurations"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    let (four_k, pinned) = (&rows[0], &rows[1]);
    // The store straddles two pages: 6 lookups per round.
    assert_eq!((&four_k["lookups"], &four_k["walks"]), (&12.into(), &12.into()));
    assert_eq!(four_k["tlbs"][0]["name"], "utlb");
    assert_eq!(four_k["by"]["data"]["kernel"]["flush"], 1);
    assert_eq!(four_k["by"]["instruction"]["user"]["compulsory"], 1);
    assert_eq!(four_k["walk_refs"], Value::Null);
    // 8 user misses at 96 cycles, 4 kernel misses at 102, one clear.
    assert_eq!(four_k["cycles"], 8.0 * 96.0 + 4.0 * 102.0 + 1.0);
    assert_eq!(pinned["walks"], 8);
    assert_eq!(pinned["walks_vs_baseline"], -4.0);
    assert_eq!(pinned["break_even"]["kernel_removed"], 4);
    assert_eq!(pinned["explanation"]["per_flush"][0], 4);
    let no_costs = json(&["sim", &trace, "-m", "mpc850", "--json"]);
    let row = &no_costs["configurations"][0];
    assert_eq!(row["cycles"], Value::Null);
    assert!(row["reason"].as_str().unwrap().contains("[handler]"), "{row}");
}

#[test]
fn machine_files_and_map_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let trace = small_trace(folder.path());
    let machine = r#"{"tlbs":[{"name":"u","serves":"IRW","entries":2,"policy":"plru"}]}"#;
    let machine = file(folder.path(), "mine.json", machine);
    let map =
        file(folder.path(), "kernel.toml", "[[map]]\nbase = \"c0000000\"\nlen = \"16M\"\npage = \"16M\"\n");
    let plain = json(&["sim", &trace, "-m", &machine, "--json"]);
    let large = json(&["sim", &trace, "-m", &machine, "--map", &map, "--json"]);
    assert_eq!(plain["configurations"][0]["name"], "mine");
    assert_eq!(
        (&plain["configurations"][0]["walks"], &large["configurations"][0]["walks"]),
        (&12.into(), &10.into())
    );
}

#[test]
fn tables_say_what_happened() {
    let folder = tempfile::tempdir().unwrap();
    let trace = small_trace(folder.path());
    let svg = folder.path().join("curve.svg");
    let symbols = file(folder.path(), "symbols", "c0000000 T start_kernel\n");
    let (code, out, err) = tlbench(&[
        "sim",
        &trace,
        "--last-level",
        "--pin",
        "0,1",
        "--break-even",
        "--sensitivity",
        "--explain",
        "--symbols",
        &symbols,
        "--curve",
        "entries",
        "--svg",
        svg.to_str().unwrap(),
    ]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    for part in [
        "10 references",
        "simulated, exact",
        "pin=1",
        "wins",
        "start_kernel",
        "user by kernel",
        "lru, every size",
    ] {
        assert!(out.contains(part), "{part:?} is missing in\n{out}");
    }
    assert!(out.lines().all(|l| l.chars().count() <= 100), "{out}");
    assert!(std::fs::read_to_string(svg).unwrap().starts_with("<svg "));
}

#[test]
fn random_replacement_has_a_spread() {
    let document = json(&[
        "sim",
        "--generate",
        "cycle:pages=70,rounds=20",
        "-m",
        "plain-64",
        "--vary",
        "policy=random",
        "--seeds",
        "4",
        "--json",
    ]);
    let seeds = &document["configurations"][0]["seeds"];
    assert_eq!(seeds["walks"].as_array().unwrap().len(), 4);
    assert!(seeds["sd"].as_f64().unwrap() > 0.0);
}

#[test]
fn wrong_input_ends_with_2_and_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let bad = file(folder.path(), "bad.tr", "R 1000,4\nR 2000\n");
    let one = file(folder.path(), "one.tr", "R 1000,4\n");
    let tlb = r#"{"tlbs":[{"name":"u","serves":"IRW","entries":8,"policy":"lru"}],"#;
    let cheap = file(
        folder.path(),
        "cheap.json",
        &format!(r#"{tlb}"walk":{{"kind":"radix","levels":4,"cycles":-5}}}}"#),
    );
    let open = file(folder.path(), "open.toml", "a = [");
    let cases: [(&[&str], &str); 11] = [
        (&["sim", &bad], "line 2 (byte 9)"),
        (&["trace", &bad], "line 2 (byte 9)"),
        (&["sim", "--generate", "cycle", "-m", "zen"], "did you mean zen2"),
        (&["sim", "--generate", "circle"], "patterns are cycle"),
        (&["sim", "--generate", "cycle", "--vary", "entries=0"], "entries = 0"),
        (&["sim"], "no trace"),
        (&["sim", &one, "--vary", "entries=1..1000000000"], "more than 10000 values"),
        (&["sim", &one, "--vary", "entries=5..1"], "from the smaller number up"),
        (&["sim", &one, "-m", &cheap], "walk.cycles"),
        (&["sim", &one, "-m", &open], "line 1, column 6"),
        (&["trace", &one, "-o", &one], "would be overwritten"),
    ];
    for (arguments, expected) in cases {
        let (code, out, err) = tlbench(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {err}");
        assert!(err.contains(expected), "{arguments:?}: {err}");
        assert_eq!(out, "");
    }
    assert_eq!(std::fs::read_to_string(&one).unwrap(), "R 1000,4\n");
}

/// Damage of every kind, as `sim` and `trace` report it.
#[test]
fn damaged_traces_give_position_and_reason() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let whole = folder.path().join("whole.bin").to_str().unwrap().to_owned();
    json(&["trace", "--generate", "zipf:refs=1000", "-o", &whole, "--as", "binary", "--json"]);
    let binary = std::fs::read(&whole).unwrap();
    let mut magic = binary.clone();
    magic[3] ^= 0x20;
    let record = |ip: u64| {
        let mut bytes = [0u8; 64];
        bytes[..8].copy_from_slice(&ip.to_le_bytes());
        bytes
    };
    // Most records are sound, or the format would not be recognised.
    let mut mixed: Vec<u8> = (0..5).flat_map(|i| record(0x40_1000 + 4 * i)).collect();
    mixed.extend(record(0x40_1014_u64.swap_bytes()));
    let cases = [
        (write("cut.bin", &binary[..binary.len() / 2]), "byte", "it is cut"),
        (write("cut.lackey", b"I  04001000,3\n L 1ffe"), "line 2 (byte 14)", "cut"),
        (write("magic.bin", &magic), "magic.bin", "magic"),
        (write("high.tr", b"R 1000,4\nR ffffffffffffffff,2\n"), "line 2 (byte 9)", "passes the end"),
        (write("empty.tr", b"R 1000,0\n"), "line 1 (byte 0)", "0 bytes"),
        (write("mixed.champsim", &mixed), "record 6 (byte 320)", "big-endian"),
        (write("cut.champsim", &mixed[..100]), "record 2 (byte 64)", "cut"),
    ];
    for (path, place, reason) in &cases {
        for command in ["sim", "trace"] {
            let (code, out, err) = tlbench(&[command, path]);
            assert_eq!((code, out.as_str()), (Some(2), ""), "{path}: {err}");
            assert!(err.contains(place) && err.contains(reason), "{path}: {err}");
        }
    }
    // The last address there is, is one.
    let last = write("last.tr", b"R ffffffffffffffff,1\n");
    assert_eq!(json(&["sim", &last, "--json"])["configurations"][0]["walks"], 1);
    // A gigabyte of zeros takes neither the time nor the memory of a gigabyte.
    let zeros = folder.path().join("zeros");
    std::fs::File::create(&zeros).unwrap().set_len(1 << 30).unwrap();
    let (code, _, err) = tlbench(&["sim", zeros.to_str().unwrap()]);
    assert_eq!(code, Some(2));
    assert!(err.contains("zeros") && err.contains("all zero"), "{err}");
}

#[test]
fn long_names_of_configurations_do_not_wrap() {
    let (code, out, err) = tlbench(&[
        "sim",
        "--generate",
        "cycle:pages=70,rounds=3",
        "-m",
        "plain-64",
        "-m",
        "sapphire-rapids",
        "--vary",
        "ways=8,16",
        "--vary",
        "policy=lru,tree-plru",
        "--vary",
        "page=4K,64K",
        "--vary",
        "map=4k",
        "--sensitivity",
    ]);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        out.contains("#16") && out.contains("sapphire-rapids ways=16 policy=tree-plru page=64K map=4k"),
        "{out}"
    );
    assert!(out.lines().all(|l| l.chars().count() <= 100), "{out}");
}

#[test]
fn stat_simulates_tlbs_without_a_pmu() {
    let (code, _, err) = tlbench(&["stat", "--simulate-tlb", "no-such-machine", "--", "true"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("no-such-machine"), "{err}");
    if !valgrind() {
        return;
    }
    let document = json(&["stat", "--simulate-tlb", "haswell", "--json", "--", "true", "--", "echo", "a"]);
    assert_eq!((&document["simulated"], &document["machine"]), (&true.into(), &"haswell".into()));
    let commands = document["commands"].as_array().unwrap();
    assert_eq!(commands.len(), 2);
    for command in commands {
        let [data, fetches] = [&command["dtlb"], &command["itlb"]];
        for side in [data, fetches] {
            let walks = side["walks"].as_u64().unwrap();
            assert!(walks > 0 && Some(walks) <= side["level_1_misses"].as_u64(), "{command}");
        }
        assert!(fetches["lookups"].as_u64() >= command["instructions"].as_u64(), "{command}");
    }
    // The same program traced and simulated by the other commands.
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("true.zst").to_str().unwrap().to_owned();
    json(&["trace", "-o", &trace, "--json", "--", "true"]);
    let sim = json(&["sim", &trace, "-m", "haswell", "--json"]);
    let other = &sim["configurations"][0];
    let instructions = |v: &Value| v["instructions"].as_f64().unwrap();
    assert!((instructions(&commands[0]) / instructions(other) - 1.0).abs() < 0.02, "{document} {sim}");
    let (code, out, err) = tlbench(&["stat", "--simulate-tlb", "ppc405gp", "--", "true"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with("simulated") && out.contains("dTLB") && out.contains("iTLB"), "{out}");
}

#[test]
fn traces_are_converted_thinned_and_cut() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (whole, thin) = (at("whole.zst"), at("thin.tr"));
    let counts = json(&["trace", "--generate", "zipf:pages=90,refs=20000,code=1", "-o", &whole, "--json"]);
    assert_eq!(counts["references"], 40_000);
    let thinned = json(&["trace", "--thin", &whole, "-o", &thin, "--json"]);
    assert_eq!((&thinned["read_references"], &thinned["thinned"]), (&40_000.into(), &true.into()));
    assert!(thinned["thinning"]["kept"].as_u64().unwrap() < 21_000);
    // What the note in the file says reaches the simulation.
    assert_eq!(json(&["sim", &thin, "-m", "plain-64", "--json"])["trace"]["thinned"], true);
    let phases = file(
        folder.path(),
        "phases.tr",
        "R 1000,4\nW 7fff0000,4\nR 2000,4\nR 3000,4\nW 7fff0010,4\nR 4000,4\n",
    );
    let part = json(&["trace", &phases, "--mark", "7fff0000", "--phase", "1", "--json"]);
    assert_eq!((&part["references"], &part["phases"]), (&2.into(), &2.into()));
    let first = json(&["trace", &whole, "--limit", "1000", "--json"]);
    assert_eq!(first["references"], 1000);
}

#[test]
fn the_probes_output_is_a_machine_and_can_be_checked() {
    let folder = tempfile::tempdir().unwrap();
    let probe = r#"{"structures":[
        {"kind":"unified","level":1,"page_size_effective":4096,"entries":16,"ways":null,"penalty_cycles":7.0},
        {"kind":"unified","level":2,"page_size_effective":4096,"entries":64,"ways":null,"penalty_cycles":20.0}],
        "curve":[{"pages":8,"p10":5.0,"p50":5.1,"p90":6.0},{"pages":32,"p10":12.0,"p50":12.1,"p90":13.0},
                 {"pages":128,"p10":33.0,"p50":33.0,"p90":40.0}]}"#;
    let probe = file(folder.path(), "tlb.json", probe);
    let points = json(&["sim", "--check", &probe, "--json"]);
    let simulated: Vec<f64> =
        points.as_array().unwrap().iter().map(|p| p["simulated"].as_f64().unwrap()).collect();
    // All hit; all miss the first level; all miss both, which costs the walk.
    assert_eq!(simulated, [5.0, 12.0, 25.0]);
    // As the probe prints it where the instruction TLB was not resolved: fetches are not charged for that.
    let probe = r#"{"structures":[
        {"kind":"load","level":1,"page_size_effective":4096,"entries":16,"ways":null,"penalty_cycles":7.0},
        {"kind":"unified","level":2,"page_size_effective":4096,"entries":64,"ways":null,"penalty_cycles":20.0},
        {"kind":"instruction","level":1,"page_size_effective":4096,"entries":null,"ways":null}]}"#;
    let probe = file(folder.path(), "part.json", probe);
    let generated = "cycle:pages=4,rounds=10,code=1";
    let (code, out, err) = tlbench(&["sim", "--generate", generated, "-m", &probe]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("the first level for fetches is not known"), "{out}");
    let row = &json(&["sim", "--generate", generated, "-m", &probe, "--json"])["configurations"][0];
    assert_eq!((&row["walks"], &row["cycles"]), (&5.into(), &100.0.into()), "{row}");
}

/// Skips, with a note, where there is no valgrind.
fn valgrind() -> bool {
    let found = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !found {
        println!("skipped: no valgrind");
    }
    found
}

#[test]
fn a_command_is_traced_through_a_pipe() {
    if !valgrind() {
        return;
    }
    let counts = json(&["trace", "--json", "--", "echo", "the command's own words"]);
    assert!(counts["references"].as_u64().unwrap() > 50_000, "{counts}");
    assert!(counts["fetches"].as_u64() > counts["loads"].as_u64());
    let (code, _, err) = tlbench(&["trace", "--", "no-such-program-anywhere"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("no such program"), "{err}");
}

#[test]
fn an_interrupted_trace_leaves_nothing_behind() {
    if !valgrind() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("cut.zst");
    // A name of its own, so that the test sees only its own process.
    let program = folder.path().join("endless");
    std::fs::copy("/bin/sh", &program).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_tlbench"))
        .args(["trace", "--json", "-o"])
        .arg(&output)
        .arg("--")
        .arg(&program)
        .args(["-c", "while :; do :; done"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while std::fs::metadata(&output).map_or(0, |m| m.len()) < 1000 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let counts: Value = serde_json::from_str(&out).unwrap();
    assert!(counts["references"].as_u64().unwrap() > 0);
    // The file is whole, and the traced program is gone.
    let again = json(&["trace", output.to_str().unwrap(), "--json"]);
    assert_eq!(again["references"], counts["references"]);
    let name = program.to_str().unwrap();
    let alive = || {
        std::fs::read_dir("/proc").unwrap().flatten().any(|p| {
            std::fs::read(p.path().join("cmdline")).is_ok_and(|c| String::from_utf8_lossy(&c).contains(name))
        })
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    while alive() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!alive(), "the traced program is still running");
}
