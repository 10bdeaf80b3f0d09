//! Reading a record back, also one whose writer was killed.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::{Footer, Header, Invocation, Line, SCHEMA};

/// A whole record in memory.
#[derive(Clone, Debug)]
pub struct Record {
    /// Plan and environment.
    pub header: Header,
    /// Warm-up invocations, excluded from every estimate.
    pub warmup: Vec<Invocation>,
    /// Invocations in the order written.
    pub invocations: Vec<Invocation>,
    /// Present when the run was not killed.
    pub footer: Option<Footer>,
    /// Lines that could not be used, as `(line number from 1, why)`.
    pub skipped: Vec<(usize, String)>,
}

/// Why a file is not a record.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The first line is not a header.
    #[error("line 1: not a tlbench record: {0}")]
    NotARecord(String),
    /// Written by a later version.
    #[error(
        "line 1: record schema {0} is newer than {SCHEMA}, the newest this version reads; update tlbench"
    )]
    Newer(u32),
}

/// A line longer than this is not ours.
const LONGEST_LINE: usize = 64 << 20;

impl Record {
    /// Reads a file.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::read(std::fs::File::open(path)?)
    }

    /// Reads a stream. A damaged or half-written line is skipped and reported in `skipped`.
    pub fn read(from: impl Read) -> Result<Self, ReadError> {
        let mut reader = BufReader::with_capacity(1 << 16, from);
        let mut buffer = Vec::new();
        let mut next = |buffer: &mut Vec<u8>| -> std::io::Result<bool> {
            buffer.clear();
            Ok(reader.by_ref().take(LONGEST_LINE as u64).read_until(b'\n', buffer)? > 0)
        };
        if !next(&mut buffer)? {
            return Err(ReadError::NotARecord("the file is empty".into()));
        }
        let header = match serde_json::from_slice::<Line>(&buffer) {
            Ok(Line::Header(header)) if header.schema > SCHEMA => {
                return Err(ReadError::Newer(header.schema));
            }
            Ok(Line::Header(header)) => *header,
            Ok(_) => return Err(ReadError::NotARecord("the first line is not a header".into())),
            Err(error) => return Err(ReadError::NotARecord(error.to_string())),
        };
        let mut record =
            Record { header, warmup: vec![], invocations: vec![], footer: None, skipped: vec![] };
        let mut number = 1;
        while next(&mut buffer)? {
            number += 1;
            match line(&buffer) {
                Ok(Line::Invocation(invocation)) => record.invocations.push(*invocation),
                Ok(Line::Warmup(invocation)) => record.warmup.push(*invocation),
                Ok(Line::Footer(footer)) => record.footer = Some(footer),
                Ok(Line::Header(_)) => record.skipped.push((number, "a second header".into())),
                Err(error) if buffer.last() != Some(&b'\n') => {
                    record.skipped.push((number, format!("cut off, as by a kill ({error})")));
                }
                Err(error) => record.skipped.push((number, error.to_string())),
            }
        }
        Ok(record)
    }
}

/// Parses one line. Invocations, nearly all lines of a record, are recognised by the type that comes first as our
/// writer puts it: the general way through the tagged [`Line`] buffers every field and takes several times as long.
fn line(text: &[u8]) -> serde_json::Result<Line> {
    let kind = if text.starts_with(b"{\"type\":\"invocation\",") {
        Line::Invocation
    } else if text.starts_with(b"{\"type\":\"warmup\",") {
        Line::Warmup
    } else {
        return serde_json::from_slice(text);
    };
    let mut invocation: Invocation = serde_json::from_slice(text)?;
    invocation.extra.shift_remove("type");
    Ok(kind(Box::new(invocation)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Direction, Unit};

    #[test]
    fn both_ways_to_read_a_line_agree() {
        let mut invocation = Invocation::foreign("m", Unit::NS, Direction::Smaller).with_value(1.5);
        invocation.samples = Some(vec![1.0, 2.0]);
        invocation.extra.insert("later".into(), serde_json::json!({"a": [1]}));
        for written in [Line::Invocation(Box::new(invocation.clone())), Line::Warmup(Box::new(invocation))] {
            let text = serde_json::to_string(&written).unwrap();
            let direct = line(text.as_bytes()).unwrap();
            let general: Line = serde_json::from_str(&text).unwrap();
            assert_eq!(format!("{direct:?}"), format!("{general:?}"));
            // a writer that puts the type elsewhere is read all the same
            let value: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
            let turned: serde_json::Map<_, _> = value.into_iter().rev().collect();
            let turned = serde_json::to_string(&turned).unwrap();
            assert!(!turned.starts_with("{\"type\""));
            assert_eq!(serde_json::to_string(&line(turned.as_bytes()).unwrap()).unwrap(), text);
        }
    }
}
