//! Which format an input is in, by its first bytes.

use super::input::Input;
use super::sink::Sink;
use super::{ImportError, long_csv, text};
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
    let (lines, bytes) = text::read(&mut *input, sink)?;
    if sink.runs.is_empty() {
        let nul = head.iter().filter(|&&b| b == 0).count();
        let what = if nul * 2 > head.len() {
            format!("{bytes} bytes, mostly NUL")
        } else {
            format!("{lines} lines, {bytes} bytes looked at")
        };
        return nothing(input, &what);
    }
    Ok(())
}

fn nothing(input: &Input, what: &str) -> Result<(), ImportError> {
    Err(ImportError::Nothing { file: input.name.clone(), what: what.to_owned() })
}

/// A record's first line is its header.
fn is_record(start: &[u8]) -> bool {
    let head = &start[..start.len().min(256)];
    start.first() == Some(&b'{')
        && (memchr::memmem::find(head, b"\"type\":\"header\"").is_some()
            || memchr::memmem::find(head, b"\"type\": \"header\"").is_some())
}
