//! How fast the readers are, as ratios within one run: text logs against a plain count of their lines, records against
//! serde_json's own parse of the same bytes.
//!
//! The aims: logs at no less than a fifth of the speed of the line count, records in no more than three times what
//! serde_json needs. The ratios are printed after criterion's own report.

use std::hint::black_box;
use std::io::{BufRead, BufReader, Cursor};
use std::time::Instant;

use criterion::{Criterion, Throughput};
use record::import::{Options, Source, read};
use record::{Direction, Invocation, Line, Record, Unit};

const PROSE: &str = "\
On Thu, someone wrote about the numbers of the new board, and nobody could repeat them.
> The difference between nothing and 15 % may be chance; show the runs, please.

\tPinned entries reduce the resources of everyone else, that much is certain.
[ 1234.567890] usb 1-1: new high-speed USB device number 2 using xhci_hcd
2026-01-01T00:00:00Z INFO server: request took 12 ms path=/index.html status=200
Select the first option, then the second; Memory is cheap, Process it.
";

const TABLE: &str = "
                 L M B E N C H  3 . 0   S U M M A R Y
                 ------------------------------------

Context switching - times in microseconds - smaller is better
-------------------------------------------------------------------------
Host                 OS  2p/0K 2p/16K 2p/64K 8p/16K 8p/64K 16p/16K 16p/64K
                         ctxsw  ctxsw  ctxsw ctxsw  ctxsw   ctxsw   ctxsw
--------- ------------- ------ ------ ------ ------ ------ ------- -------
board     Linux 5.10.1- 2.1600 2.3800 2.2700 5.7200 6.1200 5.79000 6.28000
";

const RAW: &str = "\
[lmbench3.0 results for Linux box 6.1.0 #1 SMP aarch64]
[MB: 8]
Simple syscall: 0.1234 microseconds
Simple read: 0.3000 microseconds

";

/// A ladder of memory latencies, the bulk of a result file.
fn raw_run() -> String {
    let rows: String =
        (1..400).map(|n| format!("{:.5} {:.3}\n", f64::from(n) * 0.25, 3.0 + f64::from(n) * 0.1)).collect();
    format!("{RAW}Memory load latency\n\"stride=128\n{rows}\n")
}

/// 20 MB of what surrounds a table in a mail box.
fn mails() -> &'static [u8] {
    let mut text = PROSE.repeat(20_000_000 / PROSE.len());
    text.push_str(TABLE);
    text.into_bytes().leak()
}

/// 20 MB of result files, every line of which is a measurement.
fn results() -> &'static [u8] {
    let run = raw_run();
    run.repeat(20_000_000 / run.len()).into_bytes().leak()
}

/// One record of 60 metrics, 10 invocations of 20 samples each.
fn record() -> Vec<u8> {
    let mut text = br#"{"type":"header","schema":1,"tool":"tlbench 0.1.0","started":"","label":"a","plan":{"kind":"run"},"environment":{}}
"#.to_vec();
    for block in 1..=10 {
        for metric in 0..60 {
            let name = format!("section.metric.{metric}");
            let value = 100.0 + f64::from(metric) + f64::from(block) * 0.0137;
            let mut made = Invocation::foreign(&name, Unit::NS, Direction::Smaller).with_value(value);
            made.block = Some(block);
            made.slot = Some(metric as u32);
            made.samples = Some((0..20).map(|n| value * (1.0 + f64::from(n) * 0.001_234)).collect());
            made.witness.insert("involuntary_switches".into(), 0.into());
            text.extend(serde_json::to_vec(&Line::Invocation(Box::new(made))).unwrap_or_default());
            text.push(b'\n');
        }
    }
    text
}

fn count_lines(bytes: &[u8]) -> usize {
    let mut reader = BufReader::with_capacity(1 << 18, Cursor::new(bytes));
    let mut lines = 0;
    loop {
        let Ok(chunk) = reader.fill_buf() else { return lines };
        if chunk.is_empty() {
            return lines;
        }
        lines += memchr::memchr_iter(b'\n', chunk).map(black_box).fold(0, |n, _| n + 1);
        let length = chunk.len();
        reader.consume(length);
    }
}

fn import(bytes: &'static [u8]) -> usize {
    let source = Source::reader("log", Cursor::new(bytes));
    read(vec![source], &Options::default()).map_or(0, |imported| imported.records.len())
}

fn as_values(bytes: &[u8]) -> usize {
    let lines = bytes.split(|&b| b == b'\n').filter(|line| !line.is_empty());
    lines
        .map(|line| {
            serde_json::from_slice::<serde_json::Value>(line)
                .map_or(0, |v| black_box(v).as_object().map_or(0, |o| o.len()))
        })
        .sum()
}

fn as_record(bytes: &[u8]) -> usize {
    Record::read(bytes).map_or(0, |record| record.invocations.len())
}

/// Shortest of several runs, seconds.
fn shortest(f: impl Fn() -> usize) -> f64 {
    let run = |_| {
        let start = Instant::now();
        black_box(f());
        start.elapsed().as_secs_f64()
    };
    (0..7).map(run).fold(f64::INFINITY, f64::min)
}

fn main() {
    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    let mut ratios = Vec::new();
    for (name, bytes) in [("mails", mails()), ("result files", results())] {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function("import", |b| b.iter(|| import(bytes)));
        group.bench_function("count lines", |b| b.iter(|| count_lines(bytes)));
        group.finish();
        let (ours, plain) = (shortest(|| import(bytes)), shortest(|| count_lines(bytes)));
        let megabytes = bytes.len() as f64 / 1e6;
        ratios.push(format!(
            "{name}: {:.0} MB/s, {:.2} of the speed of a line count ({:.0} MB/s)",
            megabytes / ours,
            plain / ours,
            megabytes / plain
        ));
    }
    let bytes = record();
    let mut group = criterion.benchmark_group("record of 60 metrics, 10 invocations, 20 samples");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("Record::read", |b| b.iter(|| as_record(&bytes)));
    group.bench_function("serde_json::Value", |b| b.iter(|| as_values(&bytes)));
    group.finish();
    let (ours, plain) = (shortest(|| as_record(&bytes)), shortest(|| as_values(&bytes)));
    ratios.push(format!(
        "records: {:.2} times what serde_json::Value needs; 1,000 such records in {:.2} s",
        ours / plain,
        ours * 1e3
    ));
    criterion.final_summary();
    println!("\nratios\n{}", ratios.join("\n"));
}
