//! What the reader targets share.

#![forbid(unsafe_code)]

use std::io::Cursor;

use mmu::reader::{Format, from_read};

/// Reads a trace to its end or its first error, keeping nothing.
pub fn read(data: &[u8], format: Option<Format>) {
    let Ok(mut reader) = from_read(Box::new(Cursor::new(data.to_vec())), "fuzz", format) else { return };
    let mut chunk = Vec::new();
    while let Ok(true) = reader.read(&mut chunk) {}
}
