//! Every exact count of `../shared/data/sim`; skipped with a note where that folder is absent.

use std::path::{Path, PathBuf};

use mmu::machine::Machine;
use mmu::reader;
use mmu::sim::{Options, Outcome, Simulation};
use serde_json::Value;

fn corpus() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/sim");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no ../shared/data/sim");
    None
}

fn simulate(trace: &Path, machines: Vec<(String, Machine)>, explain: bool) -> Vec<Outcome> {
    let mut reader = reader::open(trace.to_str().unwrap(), None).unwrap();
    let mut simulation =
        Simulation::new(machines, Options { explain, conflicts: explain, ..Options::default() }).unwrap();
    let mut chunk = Vec::new();
    loop {
        let more = reader.read(&mut chunk).unwrap();
        simulation.feed(&chunk).unwrap();
        if !more {
            return simulation.finish().unwrap();
        }
    }
}

fn check(folder: &Path, file: &Path, explain: bool) -> usize {
    let spec: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let cases = spec["cases"].as_array().unwrap();
    let machines = cases
        .iter()
        .map(|c| {
            let what = c["what"].as_str().unwrap();
            (what.to_string(), Machine::from_json(&c["machine"].to_string(), what).unwrap())
        })
        .collect();
    let trace = folder.join(spec["trace"].as_str().unwrap());
    let outcomes = simulate(&trace, machines, explain);
    for (case, got) in cases.iter().zip(&outcomes) {
        let want = &case["expect"];
        let what = format!("{} {}", file.display(), got.name);
        assert_eq!(Some(got.total_lookups()), want["accesses"].as_u64(), "{what}: accesses");
        assert_eq!(Some(got.walks.total()), want["walks"].as_u64(), "{what}: walks");
        let tlbs = want["tlbs"].as_object().unwrap();
        assert_eq!(got.tlbs.len(), tlbs.len(), "{what}");
        for tlb in &got.tlbs {
            let pair = [tlb.lookups, tlb.misses].map(Value::from);
            assert_eq!(tlbs[&tlb.name].as_array().unwrap(), &pair, "{what}: {}", tlb.name);
        }
        if let Some(references) = want.get("walk_refs") {
            assert_eq!(got.walk_refs, references.as_u64(), "{what}: walk_refs");
        }
    }
    cases.len()
}

#[test]
fn every_case_is_exact() {
    let Some(folder) = corpus() else { return };
    let mut cases = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let json = path.extension().is_some_and(|e| e == "json");
        if json && path.file_stem().unwrap() != "formats" {
            cases += check(&folder, &path, false);
            check(&folder, &path, true);
        }
    }
    assert!(cases >= 50, "only {cases} cases found");
    println!("{cases} cases exact");
}

#[test]
fn every_format_is_exact() {
    let Some(folder) = corpus() else { return };
    let spec: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("formats.json")).unwrap()).unwrap();
    let machine = r#"{"tlbs":[{"name":"u","serves":"IRW","entries":4,"policy":"lru"}]}"#;
    let files = spec["files"].as_object().unwrap();
    assert!(files.len() >= 5);
    for (file, want) in files {
        let machine = Machine::from_json(machine, file).unwrap();
        let got = simulate(&folder.join(file), vec![(file.clone(), machine)], false).remove(0);
        assert_eq!(Some(got.references), want["accesses"].as_u64(), "{file}: accesses");
        assert_eq!(Some(got.total_lookups()), want["lookups"].as_u64(), "{file}: lookups");
        assert_eq!(Some(got.walks.total()), want["misses_4lru"].as_u64(), "{file}: misses");
        if let Some(n) = want.get("instructions") {
            assert_eq!(Some(got.instructions), n.as_u64(), "{file}: instructions");
        }
    }
}
