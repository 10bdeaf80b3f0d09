//! Which format an input is in, by its first bytes.

use super::input::Input;
use super::sink::Sink;
use super::{ImportError, google, hyperfine, json, long_csv, perf, text};
use crate::Record;

/// Reads one input with the reader its content asks for.
pub(super) fn read_one(
    input: &mut Input,
    sink: &mut Sink,
    records: &mut Vec<Record>,
) -> Result<(), ImportError> {
    if let Some(encoding) = input.recoded {
        sink.note(format!("read as {encoding}"));
    }
    let head = input.head.clone();
    let start = head.trim_ascii_start();
    if is_record(start) {
        let record = Record::read(&mut *input)
            .map_err(|error| ImportError::Record { file: input.name.clone(), error })?;
        for (line, why) in &record.skipped {
            sink.skip(*line, b"", why.clone());
        }
        records.push(record);
        return Ok(());
    }
    if start.is_empty() {
        return nothing(input, "the file is empty or blank");
    }
    if let Some(header) = long_csv::header(start) {
        return long_csv::read(input, header, sink);
    }
    if perf::json::sniff(&head) {
        perf::json::read(&mut *input, sink)?;
        return something(input, sink, "perf stat -j without a count");
    }
    if let Some(shape) = perf::csv::sniff(&head) {
        perf::csv::read(&mut *input, shape, sink)?;
        return something(input, sink, "perf stat -x without a count");
    }
    if hyperfine::is_csv(start) {
        hyperfine::read_csv(input, sink)?;
        return something(input, sink, "hyperfine CSV without a number");
    }
    if google::is_csv(start) {
        return google::read_csv(input, sink);
    }
    if is_json(start) {
        return json::read(input, sink);
    }
    let (lines, bytes) = text::read(&mut *input, sink)?;
    if sink.runs.is_empty() {
        let nul = head.iter().filter(|&&b| b == 0).count();
        let refused = memchr::memmem::find(&head, b"event syntax error").is_some();
        let what = if refused {
            "perf refused an event and measured nothing".to_owned()
        } else if nul * 2 > head.len() {
            format!("{bytes} bytes, mostly NUL")
        } else {
            format!("{lines} lines, {bytes} bytes looked at")
        };
        return nothing(input, &what);
    }
    Ok(())
}

fn something(input: &Input, sink: &Sink, otherwise: &str) -> Result<(), ImportError> {
    if sink.runs.is_empty() { nothing(input, otherwise) } else { Ok(()) }
}

fn nothing(input: &Input, what: &str) -> Result<(), ImportError> {
    Err(ImportError::Nothing { file: input.name.clone(), what: what.to_owned() })
}

/// A JSON document begins with a brace, or with a bracket that no LMbench header or mail begins with.
fn is_json(start: &[u8]) -> bool {
    let next = start.get(1..).unwrap_or_default().trim_ascii_start().first();
    match start.first() {
        Some(b'{') => matches!(next, Some(b'"' | b'}')),
        Some(b'[') => matches!(next, Some(b'{' | b'[' | b']' | b'"')),
        _ => false,
    }
}

/// A record's first line is its header.
fn is_record(start: &[u8]) -> bool {
    let head = &start[..start.len().min(256)];
    start.first() == Some(&b'{')
        && (memchr::memmem::find(head, b"\"type\":\"header\"").is_some()
            || memchr::memmem::find(head, b"\"type\": \"header\"").is_some())
}
