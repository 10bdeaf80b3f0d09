//! `perf stat -j`: one object per line, some of them damaged by perf itself.

use serde_json::{Map, Value};

use super::{Counter, run};
use crate::import::ImportError;
use crate::import::lines::Lines;
use crate::import::number::decimal;
use crate::import::sink::Sink;

/// Whether an input holds perf's objects.
pub(in super::super) fn sniff(head: &[u8]) -> bool {
    let has = |key: &[u8]| memchr::memmem::find(head, key).is_some();
    has(b"\"counter-value\"") && has(b"\"event\"")
}

/// Reads all objects.
pub(in super::super) fn read(from: impl std::io::Read, sink: &mut Sink) -> Result<(), ImportError> {
    let mut lines = Lines::new(from);
    let mut counters = Vec::new();
    loop {
        let line = match lines.next() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(error) => return Err(ImportError::Io { file: sink.file.clone(), error }),
        };
        let trimmed = line.text.trim_ascii();
        if trimmed.is_empty() || trimmed.starts_with(b"#") {
            continue;
        }
        for piece in objects(trimmed) {
            let read = match serde_json::from_slice::<Map<String, Value>>(piece) {
                Ok(object) => counter(&object, line.number),
                Err(error) => Err(format!("not a JSON object ({error})")),
            };
            match read {
                Ok(counter) => {
                    sink.count(line.number)?;
                    counters.push(counter);
                }
                Err(why) => sink.skip(line.number, piece, why),
            }
        }
    }
    run(counters, sink)
}

/// Objects on one line, and what stands between them.
fn objects(line: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let (mut start, mut depth, mut quoted, mut escaped) = (0, 0usize, false, false);
    for (at, &byte) in line.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' if !quoted => {
                if depth == 0 && at > start {
                    found.push(&line[start..at]);
                    start = at;
                }
                depth += 1;
            }
            b'}' if !quoted => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    found.push(&line[start..=at]);
                    start = at + 1;
                }
            }
            _ => {}
        }
    }
    found.push(&line[start..]);
    found.into_iter().map(<[u8]>::trim_ascii).filter(|piece| !piece.is_empty() && *piece != b",").collect()
}

fn counter(object: &Map<String, Value>, line: usize) -> Result<Counter, String> {
    let word = |key: &str| object.get(key).and_then(Value::as_str);
    let number = |key: &str| match object.get(key) {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(shown)) => decimal(shown.trim().as_bytes()).map(|d| d.value),
        _ => None,
    };
    let event = word("event").ok_or("a derived metric without an event")?;
    let held = object.get("counter-value").ok_or("no counter-value")?;
    let mut printed = None;
    let reading = match held {
        Value::String(shown) if shown.starts_with('<') => Err(shown.trim_matches(['<', '>']).to_owned()),
        Value::String(shown) => {
            let shown = decimal(shown.trim().as_bytes()).ok_or("counter-value is no finite number")?;
            printed = (shown.value.fract() != 0.0).then(|| shown.rounded());
            Ok(shown.value)
        }
        Value::Number(number) => Ok(number.as_f64().ok_or("counter-value is no finite number")?),
        _ => return Err("counter-value is no number".to_owned()),
    };
    let place = ["cpu", "core", "die", "socket", "node", "cluster", "thread"]
        .iter()
        .find_map(|key| Some((key, word(key)?)))
        .map(|(key, place)| if *key == "cpu" { format!("CPU{place}") } else { place.to_owned() });
    let utilized = word("metric-unit") == Some("CPUs utilized");
    Ok(Counter {
        line,
        place,
        aggregated: number("aggregate-number").map(|n| n as u64),
        slice: number("interval"),
        reading,
        printed,
        unit: word("unit").unwrap_or_default().to_owned(),
        event: event.to_owned(),
        // named variance, is the relative standard error in per cent, two decimals
        rel_se: number("variance").map(|pct| (pct, 0.005)),
        running_pct: number("pcnt-running").filter(|share| *share > 0.0),
        cpus: utilized.then(|| number("metric-value")).flatten(),
    })
}
