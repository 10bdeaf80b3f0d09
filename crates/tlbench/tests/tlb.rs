//! `tlbench tlb` as a user runs it. No time is asserted, only that what is written is whole and says the same twice.

mod program;

use std::path::Path;

use program::tlbench;
use serde_json::Value;

fn json(place: &Path, arguments: &[&str]) -> Value {
    let output = tlbench(place).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Every element that is opened is closed again, in order.
fn well_formed(svg: &str) -> bool {
    let mut open: Vec<&str> = Vec::new();
    for tag in svg.split('<').skip(1) {
        let Some((tag, _)) = tag.split_once('>') else { return false };
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return false;
            }
        } else if !tag.ends_with('/') && !tag.starts_with(['?', '!']) {
            open.push(tag.split_whitespace().next().unwrap_or_default());
        }
    }
    open.is_empty()
}

#[test]
fn a_replay_says_what_the_measurement_said() {
    let place = tempfile::tempdir().unwrap();
    let measured = json(place.path(), &["tlb", "--seed", "7", "--plot", "curve.svg", "--json"]);
    let svg = std::fs::read_to_string(place.path().join("curve.svg")).unwrap();
    assert!(svg.contains("<svg") && well_formed(&svg), "{svg}");
    std::fs::write(place.path().join("tlb.json"), measured.to_string()).unwrap();
    let replayed = json(place.path(), &["tlb", "--replay", "tlb.json", "--json"]);
    let structures = |report: &Value| -> Vec<String> {
        let rows = report["structures"].as_array().unwrap().iter();
        let fields = ["kind", "level", "entries", "entries_min", "entries_max", "ways", "sets", "confidence"];
        rows.map(|row| fields.map(|field| row[field].to_string()).join(" ")).collect()
    };
    assert!(structures(&measured).len() >= 4, "{:?}", structures(&measured));
    assert_eq!(structures(&measured), structures(&replayed));
    // Numbers may lose their last bit between text and binary.
    let curve = |report: &Value| -> Vec<f64> {
        report["curve"].as_array().unwrap().iter().map(|point| point["p10"].as_f64().unwrap()).collect()
    };
    let (measured_curve, replayed_curve) = (curve(&measured), curve(&replayed));
    assert_eq!(measured_curve.len(), replayed_curve.len());
    assert!(measured_curve.iter().zip(&replayed_curve).all(|(a, b)| (a / b - 1.0).abs() < 1e-9));
    for row in measured["structures"].as_array().unwrap() {
        assert!(!row["entries"].is_null() || row["reason"].is_string(), "neither number nor reason: {row}");
    }
}

#[test]
fn a_replay_of_something_else_is_an_input_error() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("other.json"), "{\"page_bytes\": 4096}").unwrap();
    let output = tlbench(place.path()).args(["tlb", "--replay", "other.json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("other.json"), "{output:?}");
}

#[test]
fn the_dump_holds_every_access_of_the_histogram() {
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let found =
        json(place.path(), &["tlb", "--histogram", "--size", "4m,8m", "--dump", "times.csv", "--json"]);
    let found = found.as_array().unwrap();
    assert_eq!(found.len(), 4);
    let dump = std::fs::read_to_string(place.path().join("times.csv")).unwrap();
    let mut lines = dump.lines();
    assert_eq!(lines.next(), Some("bytes,order,access,ticks"));
    assert_eq!(lines.clone().count(), 2 * (4 + 8) * 256, "one line per page, size and order");
    assert!(lines.all(|line| line.split(',').count() == 4));
    for distribution in found {
        let shares: f64 =
            distribution["modes"].as_array().unwrap().iter().map(|m| m["share"].as_f64().unwrap()).sum();
        assert!(shares > 0.0 && shares < 1.01, "{distribution}");
        assert!(distribution["average"].as_f64().unwrap() >= distribution["trimmed"].as_f64().unwrap());
    }
}
