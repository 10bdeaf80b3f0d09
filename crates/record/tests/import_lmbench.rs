//! LMbench readers: rules on texts made here, and the right readings of the shared corpus when it is present.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use record::import::{Imported, Options, Source, read, read_paths};
use record::{Direction, Invocation, Record, Status};

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

fn files(paths: &[PathBuf]) -> Imported {
    read_paths(paths, &Options::default()).unwrap()
}

fn values<'a>(record: &'a Record, metric: &str) -> Vec<&'a Invocation> {
    record.invocations.iter().filter(|i| i.metric == format!("lmbench/{metric}")).collect()
}

fn only<'a>(imported: &'a Imported, label: &str) -> &'a Record {
    imported.records.iter().find(|r| r.header.label == label).unwrap()
}

const TABLE: &str = "\
                 L M B E N C H  3 . 0   S U M M A R Y
                 ------------------------------------

Basic system parameters
------------------------------------------------------------------------------
Host                 OS Description              Mhz  tlb  cache  mem   scal
                                                     pages line   par   load
                                                           bytes
--------- ------------- ----------------------- ---- ----- ----- ------ ----
board     Linux 5.10.1-      riscv64-linux-gnu   600    16    64 1.9000    1
board     Linux 5.10.1-      riscv64-linux-gnu   600    16    64 2.1000    1

*Local* Communication latencies in microseconds - smaller is better
---------------------------------------------------------------------
Host                 OS 2p/0K  Pipe AF     UDP  RPC/   TCP  RPC/ TCP
                        ctxsw       UNIX         UDP         TCP conn
--------- ------------- ----- ----- ---- ----- ----- ----- ----- ----
board     Linux 5.10.1- 9.310  31.7 44.2             120.4       731.
board     Linux 5.10.1- 9.450  30.9 45.0             121.9       745.

Processor, Processes - times in microseconds - smaller is better
------------------------------------------------------------------------------
Host                 OS  Mhz null null      open slct sig  sig  fork exec sh
                             call  I/O stat clos TCP  inst hndl proc proc proc
--------- ------------- ---- ---- ---- ---- ---- ---- ---- ---- ---- ---- ----
board     Linux 5.10.1-  600 0.71 1.02      31.2 88.1 1.40 9.73 1893 11.K 144K
board     Linux 5.10.1-  600 0.72 1.03      31.5 88.3 1.41 9.80 1902 11.K %4.-
";

#[test]
fn blanks_are_found_by_the_column_and_are_never_zero() {
    let imported = import(TABLE);
    let board = only(&imported, "board");
    assert_eq!(values(board, "TCP latency")[0].value, Some(120.4));
    assert_eq!(values(board, "TCP conn")[1].value, Some(745.0));
    for blank in ["UDP latency", "RPC/UDP latency", "RPC/TCP latency", "stat"] {
        assert!(values(board, blank).is_empty(), "{blank}");
    }
    assert_eq!(values(board, "2p/0K").len(), 2);
    let printed = values(board, "2p/0K")[0].printed.unwrap();
    assert!((printed.lo - 9.305).abs() < 1e-9 && (printed.hi - 9.315).abs() < 1e-9);
    let environment = &board.header.environment;
    assert_eq!(environment["Mhz"], 600);
    assert_eq!(environment["mem par"], serde_json::json!([1.9, 2.1]));
    assert!(board.invocations.iter().all(|i| !i.metric.contains("Mhz")));
    let sh = values(board, "sh proc");
    assert_eq!(sh.len(), 1, "a broken format is no number");
    assert_eq!(sh[0].extra["maybe_tenfold"], true);
    assert_eq!(imported.skipped.len(), 1);
    assert_eq!((imported.skipped[0].line, imported.skipped[0].excerpt.as_str()), (27, "%4.-"));
    assert_eq!(board.header.plan.kind, "import");
    assert_eq!(board.header.tool, "lmbench 3.0");
}

#[test]
fn quoting_crlf_and_marks_between_rows_change_nothing() {
    let plain = import(TABLE);
    let quoted: String = TABLE.lines().map(|line| format!("> > {line}\r\n")).collect();
    let marked =
        TABLE.replace("board     Linux 5.10.1- 9.450", "      ~~~~~~ ??\nboard     Linux 5.10.1- 9.450");
    let prose = format!("Hi all,\nnumbers below.\n\n{TABLE}\nbye\n");
    for text in [quoted, marked, prose] {
        let other = import(&text);
        assert_eq!(other.skipped.len(), 1, "{text}");
        assert_eq!(numbers(&plain), numbers(&other), "{text}");
    }
}

fn numbers(imported: &Imported) -> Vec<(String, Option<f64>)> {
    let all = imported.records.iter().flat_map(|r| &r.invocations);
    all.map(|i| (i.metric.clone(), i.value)).collect()
}

#[test]
fn a_table_quoted_again_in_a_reply_counts_once() {
    let quoted: String = TABLE.lines().map(|line| format!("> {line}\n")).collect();
    let thread = import(&format!("{TABLE}\nRe: numbers\n\n{quoted}"));
    assert_eq!(numbers(&thread), numbers(&import(TABLE)));
    assert!(thread.notes.iter().any(|note| note.contains("quoted again")));
}

#[test]
fn collapsed_blanks_are_not_guessed() {
    let collapsed: String =
        TABLE.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect();
    let imported = import(&collapsed);
    let board = only(&imported, "board");
    // `44.2` and `731.` need a column of width 4, the two `120.4` could be any of four
    assert_eq!(values(board, "TCP conn")[0].value, Some(731.0));
    for name in ["UDP latency", "TCP latency", "RPC/UDP latency", "RPC/TCP latency"] {
        assert!(values(board, name).is_empty(), "{name}");
    }
    assert!(
        imported.skipped.iter().any(|s| s.excerpt.contains("120.4") && s.why.contains("blanks were lost"))
    );
}

const RAW: &str = "\
[lmbench3.0 results for Linux box 6.1.0-9-arm64 #1 SMP Debian aarch64]
[MB: 8]
[MHZ: -1 System too busy]
[SYNC_MAX: 1]
[LMBENCH VERSION: 3.0-a9]
[mount: tmpfs on /tmp type tmpfs (rw,size=64k)]
Simple syscall: 0.1234 microseconds
Simple read: 0.3000 microseconds
Simple write: 0.2000 microseconds
integer add: 0.25 nanoseconds
localhost: RPC: Timed out
STREAM copy bandwidth: 0.00 MB/sec

\"mappings
0.524288 4.321
8.388608 131

\"File system latency
0k\t10\t1000\t-1
10k\t10\t500\t2500

\"size=16k ovr=1.77
2 3.50
96 -0.10

Memory load latency
\"stride=128
0.00098 2.001
0.12500 6.500
8.00000 80.250

Random load latency
\"stride=16
0.00098 2.100
8.00000 95.000

";

#[test]
fn raw_files_give_the_summary_names_and_say_what_failed() {
    let imported = import(RAW);
    let record = only(&imported, "made");
    let one = |name: &str| {
        let found = values(record, name);
        assert_eq!(found.len(), 1, "{name}");
        found[0]
    };
    assert_eq!(one("null call").value, Some(0.1234));
    assert_eq!(one("null I/O").value, Some(0.25));
    assert!(one("integer add").control && !one("null call").control);
    assert_eq!(one("mmap latency").value, Some(131.0));
    assert_eq!(one("mmap latency").extra["curve"], serde_json::json!([[524288, 4.321], [8388608, 131.0]]));
    assert_eq!(one("0K create").value, Some(1000.0));
    assert_eq!(one("10K delete").value, Some(400.0));
    assert_eq!(one("2p/16K").value, Some(3.5));
    assert_eq!(one("L1").value, Some(2.001));
    assert_eq!(one("main mem").value, Some(80.25));
    assert_eq!(one("rand mem").value, Some(95.0));
    for failed in ["0K delete", "STREAM copy bandwidth", "RPC/UDP latency", "RPC/TCP latency", "96p/16K"] {
        assert_eq!((one(failed).status, one(failed).value), (Status::Failed, None), "{failed}");
    }
    assert_eq!(one("null call").definition, 3);
    assert_eq!(record.header.environment["MB"], 8);
    assert!(record.header.environment.get("Mhz").is_none());
    let skipped: Vec<usize> = imported.skipped.iter().map(|s| s.line).collect();
    assert_eq!(skipped, [3, 11]);
}

#[test]
fn several_runs_in_one_file_are_sittings() {
    let imported = import(&RAW.repeat(3));
    let record = only(&imported, "made");
    let calls = values(record, "null call");
    let sittings: Vec<_> = calls.iter().map(|i| i.sitting.clone().unwrap()).collect();
    assert_eq!(sittings, ["made.txt run 1", "made.txt run 2", "made.txt run 3"]);
}

/// The name used here for a row of the reference tables.
fn name(section: &str, metric: &str) -> String {
    match section {
        "local comm latency" if metric == "2p/0K ctxsw" => "2p/0K".into(),
        "local comm latency" if metric != "TCP conn" => format!("{metric} latency"),
        "local comm bandwidth" if ["Pipe", "AF UNIX", "TCP"].contains(&metric) => {
            format!("{metric} bandwidth")
        }
        "integer ops" => format!("integer {metric}"),
        "int64 ops" => format!("int64 {metric}"),
        "float ops" | "double ops" => {
            let family = section.trim_end_matches(" ops");
            format!("{family} {}", if metric == "bogo" { "bogomflops" } else { metric })
        }
        _ => metric.into(),
    }
}

/// Every cell of a reference table with its interval; returns how many were compared and how many were not read.
fn against_reference(
    seed: &str,
    reference: &str,
    label: impl Fn(&str) -> (String, usize),
) -> (usize, Vec<String>) {
    let Some(shared) = shared() else { return (0, vec![]) };
    let seed = std::fs::read_dir(shared.join("seeds"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .find(|p| p.file_name().unwrap().to_string_lossy().starts_with(seed))
        .unwrap();
    let imported = files(&[seed]);
    let mut table = csv::Reader::from_path(shared.join("data/compare").join(reference)).unwrap();
    let (mut compared, mut unread) = (0, Vec::new());
    for row in table.deserialize::<BTreeMap<String, String>>() {
        let row = row.unwrap();
        let environment = ["tlb pages", "mem par", "scal load", "cache line bytes", "Mhz"];
        if row["value"].is_empty() || environment.contains(&row["metric"].as_str()) {
            continue;
        }
        let (label, first) = label(&row["config"]);
        let run: usize = row["run"].parse().unwrap();
        let record = only(&imported, &label);
        let name = name(&row["section"], &row["metric"]);
        let at = format!("{name} of {} run {run}", row["config"]);
        let suffix = format!(" run {}", ordinal(&imported, &label) + first + run);
        let found: Vec<_> = values(record, &name)
            .into_iter()
            .filter(|i| i.sitting.as_ref().unwrap().ends_with(&suffix))
            .collect();
        if found.is_empty() {
            unread.push(name);
            continue;
        }
        assert_eq!(found.len(), 1, "{at}");
        let number = |field: &str| row[field].parse::<f64>().unwrap();
        let printed = found[0].printed.unwrap();
        assert_eq!(found[0].value, Some(number("value")), "{at}");
        let close = |a: f64, b: f64| (a - b).abs() <= 2e-9 * b.abs().max(1.0);
        if row["interval_rule"].starts_with("inverse") && !close(printed.lo, number("lo")) {
            // several rates print like this cell: ours is the cell's interval, which holds the reference's middle
            let middle = (number("lo") + number("hi")) / 2.0;
            assert!(printed.lo <= middle && middle <= printed.hi, "{at}");
        } else {
            assert!(close(printed.lo, number("lo")) && close(printed.hi, number("hi")), "{at}: {printed:?}");
        }
        let bigger = if found[0].direction == Direction::Bigger { "bigger" } else { "smaller" };
        assert_eq!((row["direction"].as_str(), row["unit"].as_str()), (bigger, &*found[0].unit.0), "{at}");
        compared += 1;
    }
    (compared, unread)
}

/// Runs of configurations before `label` in the file.
fn ordinal(imported: &Imported, label: &str) -> usize {
    let sittings = |r: &Record| {
        let mut all: Vec<_> = r.invocations.iter().map(|i| i.sitting.clone()).collect();
        all.sort();
        all.dedup();
        all.len()
    };
    imported.records.iter().take_while(|r| r.header.label != label).map(sittings).sum()
}

#[test]
fn the_2002_thread_reads_cell_by_cell() {
    let (compared, unread) = against_reference("000", "seed000_lmbench2.csv", |c| (c.to_owned(), 0));
    assert_eq!(unread, Vec::<String>::new());
    assert!(compared == 0 || compared == 369, "{compared}");
}

#[test]
fn the_2011_thread_reads_cell_by_cell_without_guessing() {
    let label = |c: &str| ("kup4k".to_owned(), usize::from(c == "patched"));
    let (compared, mut unread) = against_reference("003", "seed003_lmbench3.csv", label);
    unread.sort();
    unread.dedup();
    if compared > 0 {
        assert_eq!(unread, ["TCP latency", "UDP latency"], "their columns can't be told apart");
        assert_eq!(compared, 177);
    }
}

/// Every cell of a summary against the raw run it was made from.
fn agree(raw: &Record, summary: &Record, nth: usize) -> usize {
    let suffix = format!(" run {}", nth + 1);
    let mut cells: Vec<&Invocation> = summary.invocations.iter().collect();
    if cells.iter().any(|i| i.sitting.as_ref().unwrap().contains(" run ")) {
        cells.retain(|i| i.sitting.as_ref().unwrap().ends_with(&suffix));
    }
    for cell in &cells {
        let at = &cell.metric;
        let raw = raw.invocations.iter().find(|i| &i.metric == at).unwrap_or_else(|| panic!("{at}"));
        let (value, cell) = (raw.value.unwrap(), cell.printed.unwrap());
        let slack = 1e-9 * value;
        assert!(cell.lo - slack <= value && value <= cell.hi + slack, "{at}: {value} not in {cell:?}");
    }
    cells.len()
}

#[test]
fn raw_and_summary_of_the_same_runs_agree() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("data/lmbench");
    let summary = files(&[folder.join("summary-3.0-a9-from-kylin-n90-host-5rows.txt")]);
    for nth in 0..5 {
        let raw = files(&[folder.join(format!("kylin-n90-host/host-N5-iter{}.txt", nth + 1))]);
        assert!(agree(&raw.records[0], &summary.records[0], nth) > 50);
    }
    for (raw, summary) in [
        ("raw-3.0-a4-vm-loaded-run0.txt", "summary-3.0-a4-vm-loaded-run0.txt"),
        ("raw-crafted-mount-size64-swallows-header.txt", "summary-3.0-a4-from-crafted-mount-size64.txt"),
    ] {
        let (raw, summary) = (files(&[folder.join(raw)]), files(&[folder.join(summary)]));
        assert!(agree(&raw.records[0], &summary.records[0], 0) > 20);
    }
}

#[test]
fn corpus_files_have_their_right_readings() {
    let Some(shared) = shared() else { return };
    let data = |name: &str| files(&[shared.join("data").join(name)]);
    let wrapped = data("lmbench/summary-2.0-softlimit-mailwrapped-2009.txt");
    let soft = only(&wrapped, "softlimit");
    assert_eq!(values(soft, "16p/64K")[0].value, Some(10.7), "the last column moved left");
    assert_eq!(values(soft, "page fault")[0].value, Some(6.0), "five decimals need the widest column");
    assert!(values(soft, "prot fault").is_empty());
    assert_eq!(values(soft, "sh proc")[0].value, Some(6241.0), "the ruler is wrapped");

    let moved = data("lmbench/summary-3.0-a4-redacted-long-host.txt");
    let moved = only(&moved, "example-vm");
    assert_eq!(values(moved, "TCP latency")[0].value, Some(17.3));
    assert_eq!(values(moved, "TCP conn")[0].value, Some(14.0));
    assert!(values(moved, "RPC/TCP latency").is_empty());
    assert_eq!(values(moved, "rand mem")[0].value, Some(164.5));

    let kernels = data("lmbench/summary-3.0-early-alpha-lucent-2003.txt");
    assert_eq!(kernels.records.len(), 3);
    let second = only(&kernels, "lucent.rd Linux 2.4.20");
    assert!(values(second, "2p/64K").is_empty() && values(second, "8p/16K").is_empty());
    assert_eq!(values(second, "8p/64K")[0].value, Some(14.7));
    assert!(values(second, "TCP bandwidth").is_empty());
    assert_eq!(values(second, "main mem")[0].value, Some(136.7));

    let hand = data("import/lmbench/bw_mem-starred-riscv-2020.txt");
    let last = hand.records[0].invocations.last().unwrap();
    assert_eq!((last.value, last.unit.to_string()), (Some(437.99), "MB/s".into()));
    assert_eq!(last.extra["bytes"], 879 << 20);
    assert_eq!(data("import/lmbench/lat_mem_rd-mail-2020.txt").records[0].invocations.len(), 25);

    let thousands = data("import/lmbench/summary-3.0-k-suffix-2024.txt");
    let fork = values(only(&thousands, "guest1"), "fork proc")[1];
    assert_eq!((fork.value, &fork.extra["maybe_tenfold"]), (Some(144_000.0), &true.into()));

    let run = data("import/lmbench/raw-3.0-os-part-2025.txt");
    let rpc = values(&run.records[0], "RPC/TCP latency")[0];
    assert_eq!((rpc.status, rpc.value), (Status::Failed, None));
}
