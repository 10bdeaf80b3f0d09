//! What the targets share.

use std::io::Cursor;

use mmu::reader::{Format, from_read};
use record::import::{Options, Source, read};

/// Imports `data` as it is, and behind `opening`, which leads to one reader.
pub fn import_behind(opening: &str, data: &[u8]) {
    for input in [[opening.as_bytes(), data].concat(), data.to_vec()] {
        if let Ok(imported) = read(vec![Source::bytes("fuzz", input)], &Options::default()) {
            let _ = imported.into_one();
        }
    }
}

/// Reads a trace to its end or its first error, keeping nothing.
pub fn read_trace(data: &[u8], format: Option<Format>) {
    let Ok(mut reader) = from_read(Box::new(Cursor::new(data.to_vec())), "fuzz", format) else { return };
    let mut chunk = Vec::new();
    while let Ok(true) = reader.read(&mut chunk) {}
}
