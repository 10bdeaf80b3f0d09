//! Which format is this? Decided by the first bytes, never by the file's name.

use super::bytes::{decimal, hex, shown};
use super::champsim::Layout;
use super::drmemtrace::{HEADER, LAST_TYPE};
use super::{TraceError, native_binary};

/// Trace formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Our text.
    NativeText,
    /// Our binary (usually inside zstd).
    NativeBinary,
    /// valgrind's lackey.
    Lackey,
    /// Dinero.
    Din,
    /// ChampSim, 64-byte records.
    ChampSim,
    /// ChampSim, 96-byte CloudSuite records.
    CloudSuite,
    /// drmemtrace's `view` text.
    DrView,
    /// drmemtrace's packed records.
    DrMemtrace,
    /// QEMU's execlog plugin.
    ExecLog,
    /// `perf script`.
    PerfScript,
    /// Made by rule; not read from anywhere.
    Generated,
}

impl Format {
    /// All formats that can be read.
    pub const ALL: [Format; 10] = [
        Format::NativeText,
        Format::NativeBinary,
        Format::Lackey,
        Format::Din,
        Format::ChampSim,
        Format::CloudSuite,
        Format::DrView,
        Format::DrMemtrace,
        Format::ExecLog,
        Format::PerfScript,
    ];

    /// The word for `--format`.
    pub fn word(self) -> &'static str {
        match self {
            Format::NativeText => "text",
            Format::NativeBinary => "binary",
            Format::Lackey => "lackey",
            Format::Din => "din",
            Format::ChampSim => "champsim",
            Format::CloudSuite => "cloudsuite",
            Format::DrView => "drview",
            Format::DrMemtrace => "drmemtrace",
            Format::ExecLog => "execlog",
            Format::PerfScript => "perf",
            Format::Generated => "generated",
        }
    }

    /// From a word.
    pub fn parse(word: &str) -> Option<Self> {
        Format::ALL.into_iter().find(|f| f.word() == word)
    }
}

/// Lines looked at before giving up.
const LINES: usize = 200;

/// The format of a trace that begins with `head`.
pub(super) fn detect(head: &[u8], name: &str) -> Result<Format, TraceError> {
    let fail = |reason: String| Err(TraceError::Unknown { name: name.into(), reason });
    let known = || Format::ALL.map(Format::word).join(", ");
    if head.is_empty() {
        return fail("the trace is empty".into());
    }
    if head.starts_with(native_binary::MAGIC) {
        return Ok(Format::NativeBinary);
    }
    if head.iter().all(|&b| b == 0) {
        return fail(format!("the first {} bytes are all zero: no trace", head.len()));
    }
    if memchr::memchr(0, head).is_some() {
        return match (binary(head), swapped(head)) {
            (Some(format), _) => Ok(format),
            (None, Some(reason)) => fail(format!("like ChampSim, but its {reason}")),
            (None, None) => fail(format!(
                "binary, but neither ChampSim nor drmemtrace records nor our magic {}; name it with --format {}",
                shown(native_binary::MAGIC),
                known()
            )),
        };
    }
    let mut first = None;
    for line in head.split(|&b| b == b'\n').take(LINES) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.trim_ascii().is_empty() {
            continue;
        }
        first = first.or(Some(line));
        if let Some(format) = text(line) {
            return Ok(format);
        }
    }
    match first {
        // Comments alone are our own text, and so is a trace of nothing.
        Some(line) if line.starts_with(b"#") => Ok(Format::NativeText),
        Some(line) => {
            fail(format!("begins with {}, which is no known trace format ({})", shown(line), known()))
        }
        None => fail("there are only empty lines".into()),
    }
}

fn binary(head: &[u8]) -> Option<Format> {
    // A drmemtrace file begins with its header record: type, size 0, version.
    if let Some(&[t0, t1, 0, 0, version, 0, 0, 0, 0, 0, 0, 0]) = head.first_chunk::<12>()
        && u16::from_le_bytes([t0, t1]) == HEADER
        && version <= 64
    {
        return Some(Format::DrMemtrace);
    }
    let fits = |layout: Layout| {
        let records: Vec<_> = head.chunks_exact(layout.size()).take(64).collect();
        let good = records.iter().filter(|r| layout.complaint(r).is_none()).count();
        // A damaged record further on is for the reader to report.
        !records.is_empty() && layout.complaint(records[0]).is_none() && good * 4 >= records.len() * 3
    };
    match (fits(Layout::Standard), fits(Layout::CloudSuite)) {
        (true, false) => Some(Format::ChampSim),
        (false, true) => Some(Format::CloudSuite),
        // Short traces may fit both; the standard layout is far more common.
        (true, true) => Some(Format::ChampSim),
        _ => {
            let plausible = |r: &[u8]| u16::from_le_bytes([r[0], r[1]]) <= LAST_TYPE && r[2] as usize <= 128;
            let mut records = head.chunks_exact(12).take(64).peekable();
            (records.peek().is_some() && records.all(plausible)).then_some(Format::DrMemtrace)
        }
    }
}

/// What is wrong with ChampSim records of the other byte order.
fn swapped(head: &[u8]) -> Option<String> {
    let complaint = Layout::Standard.complaint(head.first_chunk::<64>()?)?;
    complaint.ends_with("big-endian order").then_some(complaint)
}

/// The format of which this can be a line; `None` for chatter that decides nothing.
fn text(line: &[u8]) -> Option<Format> {
    if line.starts_with(b"==") || line.starts_with(b"--") && !line.starts_with(b"-----") {
        return Some(Format::Lackey);
    }
    if line.starts_with(b"Output format:") {
        return Some(Format::DrView);
    }
    if let [b' ', b'L' | b'S' | b'M', b' ', ..] | [b'I', b' ', b' ', ..] = line {
        return Some(Format::Lackey);
    }
    let words: Vec<_> = line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()).take(4).collect();
    match words.as_slice() {
        [b"I" | b"R" | b"W" | b"M", access, ..] if memchr::memchr(b',', access).is_some() => {
            Some(Format::NativeText)
        }
        [b"F" | b"S"] | [b"A" | b"F" | b"P" | b"T", _] => Some(Format::NativeText),
        [cpu, pc, ..] if is_item(cpu, decimal) && pc.starts_with(b"0x") && is_item(pc, hex) => {
            Some(Format::ExecLog)
        }
        [record, instruction, place, ..]
            if decimal(record).is_some() && instruction.ends_with(b":") && place.starts_with(b"W") =>
        {
            Some(Format::DrView)
        }
        [task, addr, ip, ..] if is_task(task) && hex(addr).is_some() && hex(ip).is_some() => {
            Some(Format::PerfScript)
        }
        [b"0" | b"1" | b"2" | b"3" | b"4", addr, ..] if hex(addr).is_some() => Some(Format::Din),
        _ => None,
    }
}

/// A number followed by a comma.
fn is_item(word: &[u8], number: fn(&[u8]) -> Option<u64>) -> bool {
    word.strip_suffix(b",").and_then(number).is_some()
}

fn is_task(word: &[u8]) -> bool {
    let Some(at) = memchr::memchr(b'/', word) else { return false };
    let id = |w: &[u8]| w == b"-1" || decimal(w).is_some();
    id(&word[..at]) && id(&word[at + 1..])
}
