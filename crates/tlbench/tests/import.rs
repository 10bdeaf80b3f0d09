//! `tlbench import` as a script sees it.

mod program;

use program::{json_lines, tlbench};

const CSV: &str = "config,metric,unit,direction,value\nA,m,us,smaller,1.5\nB,m,us,smaller,1.6\n";

#[test]
fn everything_read_is_0_a_skipped_line_1_nothing_2() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    write("good.csv", CSV);
    write("odd.csv", &format!("{CSV}A,m,us,smaller,fast\n"));
    write("none.txt", "no numbers here\n");
    for (file, code, said) in [
        ("good.csv", 0, "2 numbers of 2 configurations"),
        ("odd.csv", 1, "odd.csv:4"),
        ("none.txt", 2, "formats read"),
    ] {
        let output = format!("{file}.jsonl");
        let run = tlbench(place.path()).args(["import", file, "-o", &output]).output().unwrap();
        let err = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(code), "{file}: {err}");
        assert!(err.contains(said), "{file}: {err}");
        assert_eq!(place.path().join(&output).exists(), code < 2, "{file}");
    }
    let again = tlbench(place.path()).args(["import", "good.csv", "-o", "good.csv.jsonl"]).output().unwrap();
    assert_eq!(again.status.code(), Some(2), "never overwritten");
}

#[test]
fn the_record_written_is_read_again_with_its_configurations() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("good.csv"), CSV).unwrap();
    let run = tlbench(place.path()).args(["import", "good.csv", "-o", "-"]).output().unwrap();
    let lines = json_lines(&run.stdout);
    assert_eq!(lines[0]["plan"]["kind"], "import");
    assert_eq!(lines[0]["plan"]["configurations"], serde_json::json!(["A", "B"]));
    assert_eq!((&lines[1]["configuration"], &lines[1]["value"]), (&"A".into(), &1.5.into()));
    assert_eq!(lines.last().unwrap()["type"], "footer");
    let record = record::Record::read(&run.stdout[..]).unwrap();
    assert_eq!((record.invocations.len(), record.skipped.len()), (2, 0));
}
