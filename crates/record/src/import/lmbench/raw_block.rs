//! The blocks of raw result files: a title, then rows of numbers until a line that does not begin with a digit.

use serde_json::{Value, json};

use super::summary::whole_or_real;
use super::{US, Version, value};
use crate::import::number::{Decimal, decimal, text, words};
use crate::import::sink::Run;
use crate::{Direction, Invocation, Printed, Status, Unit};

/// What the rows of a block are.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// `size MB/s`; the largest size is the summary's cell.
    Bandwidth(String),
    /// `size us`; the largest size is the summary's cell.
    Mappings,
    /// `0k files creates/s deletes/s`.
    Files,
    /// `procs us` of one working set size.
    Context { size: String, overhead: Option<f64> },
    /// `MB ratio`.
    Parallelism,
    /// `MiB ns` of one stride.
    Memory { random: bool, stride: Option<String> },
    /// Rows of a program started by hand: `size MB/s`, each a result of its own.
    ByHand(String),
    /// Disk and make blocks: known and not read.
    Unread,
}

/// One row.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// The first word as a number: a size, processes, kilobytes.
    key: Decimal,
    /// The size, or the number in the column before the last.
    at: Decimal,
    shown: Decimal,
}

/// A block being read.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub kind: Kind,
    rows: Vec<Row>,
}

/// Rows a curve keeps.
const MOST_ROWS: usize = 100_000;

impl Block {
    /// The block a title opens; a stride line needs to know which memory block it belongs to.
    pub fn of(title: &[u8], before: Option<&Kind>) -> Option<Block> {
        let quoted = title.strip_prefix(b"\"");
        let bare = quoted.unwrap_or(title);
        let bandwidth = |name: &str| Kind::Bandwidth(name.to_owned());
        let kind = match bare {
            b"mappings" => Kind::Mappings,
            b"read bandwidth" => bandwidth("file reread"),
            b"Mmap read bandwidth" => bandwidth("mmap reread"),
            b"libc bcopy unaligned" => bandwidth("bcopy (libc)"),
            b"unrolled bcopy unaligned" => bandwidth("bcopy (hand)"),
            b"Memory read bandwidth" => bandwidth("mem read"),
            b"Memory write bandwidth" => bandwidth("mem write"),
            b"read open2close bandwidth"
            | b"Mmap read open2close bandwidth"
            | b"libc bcopy aligned"
            | b"unrolled partial bcopy unaligned"
            | b"Memory bzero bandwidth"
            | b"Memory partial read bandwidth"
            | b"Memory partial write bandwidth"
            | b"Memory partial read/write bandwidth" => Kind::Bandwidth(text(bare)),
            b"Memory load parallelism" => Kind::Parallelism,
            b"Memory load latency" => Kind::Memory { random: false, stride: None },
            b"Random load latency" => Kind::Memory { random: true, stride: None },
            _ if bare.starts_with(b"File system latency") => Kind::Files,
            _ if bare.starts_with(b"Socket bandwidth using ") && !bare.contains(&b':') => {
                let remote = !bare.ends_with(b" localhost");
                bandwidth(if remote { "remote TCP bandwidth" } else { "TCP bandwidth" })
            }
            _ if bare.starts_with(b"size=") => context(bare)?,
            _ if bare.starts_with(b"stride=") => {
                let random = matches!(before, Some(Kind::Memory { random: true, .. }));
                Kind::Memory { random, stride: Some(text(&bare[7..])) }
            }
            _ if quoted.is_some()
                && [&b"Seek times for "[..], b"Zone bandwidth for ", b"pmake jobs="]
                    .iter()
                    .any(|known| bare.starts_with(known)) =>
            {
                Kind::Unread
            }
            _ => return by_hand(title),
        };
        Some(Block { kind, rows: vec![] })
    }

    /// Takes a row; false when the line ends the block.
    pub fn row(&mut self, line: &[u8]) -> bool {
        if !line.first().is_some_and(u8::is_ascii_digit) {
            // a wait indicator of bw_mem
            return matches!(self.kind, Kind::ByHand(_)) && line.iter().all(|&b| b == b'*');
        }
        let mut parts = words(line);
        let (Some(first), second) = (parts.next(), parts.next()) else { return false };
        let (third, fourth, more) = (parts.next(), parts.next(), parts.next());
        let number = |word: Option<&[u8]>| word.and_then(decimal);
        let row = match &self.kind {
            Kind::Unread => return true,
            Kind::Files => {
                let key = number(first.strip_suffix(b"k"));
                match (key, number(third), number(fourth), more) {
                    (Some(key), Some(creates), Some(deletes), None) => {
                        Row { key, at: creates, shown: deletes }
                    }
                    _ => return false,
                }
            }
            kind => {
                let unit = matches!(kind, Kind::Bandwidth(_)) && third == Some(b"MB/sec");
                match (decimal(first), number(second)) {
                    (Some(key), Some(shown)) if third.is_none() || unit && fourth.is_none() => {
                        Row { key, at: key, shown }
                    }
                    _ => return false,
                }
            }
        };
        if self.rows.len() < MOST_ROWS {
            self.rows.push(row);
        }
        true
    }

    /// Puts what the block holds into the run.
    pub fn finish(mut self, run: &mut Run, version: Version) {
        let rows = std::mem::take(&mut self.rows);
        let Some(last) = rows.last() else { return };
        match &self.kind {
            Kind::Unread => {}
            Kind::Parallelism => {
                run.environment.insert("mem par".into(), whole_or_real(last.shown.value));
            }
            Kind::Files => rows.iter().for_each(|row| files(row, run, version)),
            Kind::Context { size, overhead } => {
                for row in &rows {
                    let name = format!("{}p/{size}", row.key.value);
                    let mut invocation = result(&name, US, version, row.shown);
                    if let Some(overhead) = overhead {
                        invocation.extra.insert("overhead".into(), json!(overhead));
                    }
                    add(run, invocation);
                }
            }
            Kind::ByHand(program) => {
                for row in &rows {
                    let digits = row.key.decimals as usize;
                    let name = format!("{program} {:.digits$} MB", row.key.value);
                    let mut invocation = result(&name, Unit::MB_PER_S, version, row.shown);
                    invocation.extra.insert("bytes".into(), json!(bytes(row.at)));
                    add(run, invocation);
                }
            }
            Kind::Bandwidth(name) => {
                let mut invocation = result(name, Unit::MB_PER_S, version, last.shown);
                curve(&mut invocation, &rows, bytes);
                add(run, invocation);
            }
            Kind::Mappings => {
                let mut invocation = result("mmap latency", US, version, last.shown);
                curve(&mut invocation, &rows, bytes);
                add(run, invocation);
            }
            Kind::Memory { random, stride } => {
                memory(*random, stride.as_deref(), &rows, run, version);
            }
        }
    }
}

/// The first measurement of a metric in a run counts.
fn add(run: &mut Run, invocation: Invocation) {
    if !run.has(&invocation.metric) {
        run.invocations.push(invocation);
    }
}

fn result(name: &str, unit: Unit, version: Version, shown: Decimal) -> Invocation {
    let direction = if unit == Unit::MB_PER_S { Direction::Bigger } else { Direction::Smaller };
    value(name, unit, direction, version, shown.value, shown.rounded())
}

/// `size=16k ovr=1.77`.
fn context(title: &[u8]) -> Option<Kind> {
    let mut parts = words(title);
    let size = parts.next()?.strip_prefix(b"size=")?;
    let overhead =
        parts.next().and_then(|word| word.strip_prefix(b"ovr=")).and_then(decimal).map(|shown| shown.value);
    let number = size.strip_suffix(b"k").unwrap_or(size);
    decimal(number)?;
    Some(Kind::Context { size: format!("{}K", text(number)), overhead })
}

/// `# ./bw_mem 1M rd`: a program started by hand, its output follows.
fn by_hand(line: &[u8]) -> Option<Block> {
    memchr::memmem::find(line, b"bw_mem ")?;
    let mut parts = words(line).skip_while(|word| !word.ends_with(b"bw_mem")).skip(1);
    let mut operation = None;
    let mut size = parts.next()?;
    while size.starts_with(b"-") {
        parts.next();
        size = parts.next()?;
    }
    const OPERATIONS: [&str; 9] = ["rd", "wr", "rdwr", "cp", "frd", "fwr", "fcp", "bzero", "bcopy"];
    if let Some(word) = parts.next() {
        operation = OPERATIONS.iter().find(|known| known.as_bytes() == word);
    }
    let kind = Kind::ByHand(format!("bw_mem {}", operation?));
    Some(Block { kind, rows: vec![] })
}

/// Exact bytes of a size in decimal MB: six decimals are exact, two decimals are a whole number of MiB where one fits.
fn bytes(size: Decimal) -> u64 {
    let whole = (size.value * 1e6).round();
    let mebi = (whole / 1_048_576.0).round() * 1_048_576.0;
    if size.decimals < 6 && mebi > 0.0 && (mebi - whole).abs() <= 5_001.0 {
        mebi as u64
    } else {
        whole as u64
    }
}

/// Bytes of a size in MiB with five decimals: `0.00049` is 512.
fn mebibytes(size: Decimal) -> u64 {
    ((size.value * 1_048_576.0 / 512.0).round() * 512.0) as u64
}

/// Keeps all sizes beside the largest, which is the result.
fn curve(invocation: &mut Invocation, rows: &[Row], bytes: fn(Decimal) -> u64) {
    if let Some(last) = rows.last() {
        invocation.extra.insert("bytes".into(), json!(bytes(last.at)));
    }
    let points: Vec<Value> = rows.iter().map(|row| json!([bytes(row.at), row.shown.value])).collect();
    invocation.extra.insert("curve".into(), Value::Array(points));
}

fn memory(random: bool, stride: Option<&str>, rows: &[Row], run: &mut Run, version: Version) {
    let Some(last) = rows.last() else { return };
    let mut cell = |name: &str, row: &Row, whole: bool| {
        let mut invocation = result(name, Unit::NS, version, row.shown);
        if whole {
            curve(&mut invocation, rows, mebibytes);
        }
        add(run, invocation);
    };
    match (random, stride) {
        (false, Some("128")) => {
            // the rows the summary looks up: 1 KiB and 128 KiB
            for (name, size) in [("L1", 0.00098), ("L2", 0.125)] {
                if let Some(row) = rows.iter().find(|row| row.key.value == size) {
                    cell(name, row, false);
                }
            }
            cell("main mem", last, true);
        }
        (true, Some("16")) => cell("rand mem", last, true),
        (_, stride) => {
            let kind = if random { "Random" } else { "Memory" };
            let stride = stride.map_or(String::new(), |stride| format!(" stride={stride}"));
            cell(&format!("{kind} load latency{stride}"), last, true);
        }
    }
}

/// Creates and deletes per second become microseconds per file, as the summary shows them.
fn files(row: &Row, run: &mut Run, version: Version) {
    let size = row.key.value;
    for (what, rate) in [("create", row.at), ("delete", row.shown)] {
        let name = format!("{size}K {what}");
        let invocation = if rate.value > 0.0 {
            let half = 0.5 * 10f64.powi(-(rate.decimals as i32));
            let printed = Printed { lo: 1e6 / (rate.value + half), hi: 1e6 / (rate.value - half) };
            value(&name, US, Direction::Smaller, version, 1e6 / rate.value, printed)
        } else {
            Invocation::foreign(&format!("lmbench/{name}"), US, Direction::Smaller)
                .without_value(Status::Failed, format!("printed {} files per second", rate.value))
        };
        add(run, invocation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_become_exact_bytes() {
        let size = |text: &str| bytes(decimal(text.as_bytes()).unwrap());
        assert_eq!(size("0.001437"), 1437);
        assert_eq!(size("10.000000"), 10_000_000);
        assert_eq!((size("1.05"), size("67.11"), size("921.70")), (1 << 20, 64 << 20, 879 << 20));
        let mebi = |text: &str| mebibytes(decimal(text.as_bytes()).unwrap());
        assert_eq!((mebi("0.00049"), mebi("0.00098"), mebi("0.12500")), (512, 1024, 131_072));
    }

    #[test]
    fn a_mount_option_is_no_context_block() {
        assert!(Block::of(b"[mount: tmpfs on /dev/shm type tmpfs (rw,size=64k)]", None).is_none());
        let block = Block::of(b"\"size=16k ovr=1.77", None).unwrap();
        assert_eq!(block.kind, Kind::Context { size: "16K".into(), overhead: Some(1.77) });
    }
}
