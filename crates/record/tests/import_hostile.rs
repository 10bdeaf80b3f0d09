//! Hostile input: every fixture damaged in every way that happens, and inputs made to hurt. Nothing may panic, memory
//! stays bounded, and an error says where.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use record::import::{ImportError, Imported, Options, Source, read};

fn fixtures() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/import");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
}

fn import(bytes: impl Into<Vec<u8>>) -> Result<Imported, ImportError> {
    read(vec![Source::bytes("made", bytes)], &Options::default())
}

fn numbers(imported: &Imported) -> Vec<(String, String, Option<f64>)> {
    let of = |label: &str, i: &record::Invocation| (label.to_owned(), i.metric.clone(), i.value);
    imported.records.iter().flat_map(|r| r.invocations.iter().map(move |i| of(&r.header.label, i))).collect()
}

#[test]
fn every_fixture_reads_in_every_encoding() {
    for (name, bytes) in fixtures() {
        let plain = numbers(&import(bytes.clone()).unwrap_or_else(|error| panic!("{name}: {error}")));
        assert!(!plain.is_empty(), "{name}");
        let text = String::from_utf8(bytes).unwrap();
        let bom = format!("\u{feff}{text}").into_bytes();
        let crlf = text.replace('\n', "\r\n").into_bytes();
        let wide = |order: fn(u16) -> [u8; 2], mark: bool| -> Vec<u8> {
            let mark = if mark { "\u{feff}" } else { "" };
            format!("{mark}{text}").encode_utf16().flat_map(order).collect()
        };
        let mut variants = vec![bom, crlf, wide(u16::to_le_bytes, true), wide(u16::to_be_bytes, true)];
        if text.is_ascii() {
            variants.push(wide(u16::to_le_bytes, false));
            variants.push(wide(u16::to_be_bytes, false));
        }
        for (nth, variant) in variants.into_iter().enumerate() {
            let other = import(variant).unwrap_or_else(|error| panic!("{name} variant {nth}: {error}"));
            assert_eq!(numbers(&other), plain, "{name} variant {nth}");
        }
    }
}

#[test]
fn damaged_fixtures_never_panic() {
    let mut read = 0;
    for (_, bytes) in fixtures() {
        for at in (0..bytes.len()).step_by(3) {
            let _ = import(&bytes[..at]);
            for (byte, length) in [(0u8, 1), (b'9', 1), (b'\n', 1), (0xff, 2), (b'"', 0), (b'-', 0)] {
                let mut damaged = bytes.clone();
                damaged.splice(at..(at + length).min(bytes.len()), [byte]);
                let _ = import(damaged);
                read += 1;
            }
        }
        // halves exchanged, doubled, reversed
        let (first, second) = bytes.split_at(bytes.len() / 2);
        let _ = import([second, first].concat());
        let _ = import([&bytes[..], &bytes[..]].concat());
        let _ = import(bytes.iter().rev().copied().collect::<Vec<_>>());
    }
    assert!(read > 5_000);
}

#[test]
fn all_fixtures_in_one_file_do_not_disturb_each_other_much() {
    let all: Vec<u8> =
        fixtures().into_iter().filter(|(name, _)| name.ends_with(".txt")).flat_map(|(_, b)| b).collect();
    let metrics: Vec<String> = numbers(&import(all).unwrap()).into_iter().map(|n| n.1).collect();
    for wanted in ["lmbench/fork proc", "lmbench/null call", "perf/task-clock", "go/A/b-4", "go/Parse-4"] {
        assert!(metrics.iter().any(|m| m == wanted), "{wanted}: {metrics:?}");
    }
}

/// Endless text of one pattern, without holding it.
struct Pattern {
    pattern: &'static [u8],
    left: usize,
    at: usize,
}

impl Read for Pattern {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = buffer.len().min(self.left);
        for slot in &mut buffer[..n] {
            *slot = self.pattern[self.at % self.pattern.len()];
            self.at += 1;
        }
        self.left -= n;
        Ok(n)
    }
}

/// Peak resident memory of this process, bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kib| kib << 10)
}

#[test]
fn noise_of_any_size_takes_bounded_memory_and_ends_in_a_clear_error() {
    let before = peak();
    for pattern in
        [&b"a line of a log that means nothing, 12 ms\n"[..], b"x", b"\0", b"[", b"> ", b"=20", b"1 2\n"]
    {
        let source = Source::reader("noise", Pattern { pattern, left: 30_000_000, at: 0 });
        let error = read(vec![source], &Options::default()).unwrap_err();
        assert!(matches!(
            error,
            ImportError::Nothing { .. } | ImportError::Damaged { .. } | ImportError::TooLarge { .. }
        ));
        assert!(error.to_string().starts_with("noise: "), "{error}");
    }
    assert!(peak() - before < 100 << 20, "{} MiB more", (peak() - before) >> 20);
}

#[test]
fn empty_blank_and_binary_inputs_are_named() {
    for (bytes, said) in [
        (&b""[..], "empty or blank"),
        (b" \n\n", "empty or blank"),
        (&[0; 5000], "mostly NUL"),
        (b"\x7fELF\x02\x01\x01", "looked at"),
    ] {
        let error = import(bytes).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    let missing = read(vec![Source::path("/nonexistent/file")], &Options::default()).unwrap_err().to_string();
    assert!(missing.contains("/nonexistent/file"), "{missing}");
}
