//! Trace readers: one file per format, told apart by content.
//!
//! Every reader streams with bounded memory and says position and reason when the input is damaged.

mod bytes;
mod champsim;
mod detect;
mod din;
mod drmemtrace;
mod drview;
mod error;
mod execlog;
mod input;
mod lackey;
mod lines;
pub(crate) mod native_binary;
mod native_text;
mod perf_script;

use std::fs::File;
use std::io::{self, Read};

pub use detect::Format;
pub use error::TraceError;
pub use lines::MAX_LINE;
pub use native_text::THINNED_NOTE;

use crate::event::Event;
use input::Input;

/// Records that one call of [`TraceReader::read`] aims for.
pub const CHUNK: usize = 1 << 14;

/// Largest access a trace may claim, in bytes: a whole mebibyte, beyond any instruction's operand.
pub const MAX_ACCESS: u64 = 1 << 20;

/// A stream of trace records.
pub trait TraceReader {
    /// Replaces the contents of `out` by the next records, about [`CHUNK`]; `false` when the trace has ended.
    ///
    /// # Errors
    /// Position and reason, when the input is damaged or cannot be read.
    fn read(&mut self, out: &mut Vec<Event>) -> Result<bool, TraceError>;

    /// The format being read.
    fn format(&self) -> Format;

    /// Whether the trace says that it was thinned.
    fn thinned(&self) -> bool {
        false
    }

    /// Records the format has and a TLB does not care about (tool chatter, prefetches, markers).
    fn skipped(&self) -> u64 {
        0
    }
}

/// Opens a trace file, `-` for standard input; compression and format are found from the content.
///
/// # Errors
/// The file cannot be read, or its content is no known format.
pub fn open(path: &str, format: Option<Format>) -> Result<Box<dyn TraceReader>, TraceError> {
    let source: Box<dyn Read> = if path == "-" {
        Box::new(io::stdin())
    } else {
        let fail = |e: io::Error| TraceError::Open { name: path.into(), reason: e.to_string() };
        Box::new(File::open(path).map_err(fail)?)
    };
    from_read(source, path, format)
}

/// Reads a trace from any source; `name` stands in errors.
///
/// # Errors
/// As [`open`].
pub fn from_read(
    source: Box<dyn Read>,
    name: &str,
    format: Option<Format>,
) -> Result<Box<dyn TraceReader>, TraceError> {
    let mut input = Input::new(source, name)?;
    let format = match format {
        Some(f) => f,
        None => detect::detect(input.look()?, name)?,
    };
    Ok(match format {
        Format::NativeText => Box::new(lines::LineReader::new(input, native_text::NativeText::default())),
        Format::NativeBinary => Box::new(native_binary::NativeBinary::new(input)?),
        Format::Lackey => Box::new(lines::LineReader::new(input, lackey::Lackey)),
        Format::Din => Box::new(lines::LineReader::new(input, din::Din)),
        Format::ChampSim => Box::new(champsim::ChampSim::new(input, champsim::Layout::Standard)),
        Format::CloudSuite => Box::new(champsim::ChampSim::new(input, champsim::Layout::CloudSuite)),
        Format::DrView => Box::new(lines::LineReader::new(input, drview::DrView::default())),
        Format::DrMemtrace => Box::new(drmemtrace::DrMemtrace::new(input)),
        Format::ExecLog => Box::new(lines::LineReader::new(input, execlog::ExecLog)),
        Format::Generated => {
            let reason = "a generated trace is described, not read".into();
            return Err(TraceError::Unknown { name: name.into(), reason });
        }
        Format::PerfScript => Box::new(lines::LineReader::new(input, perf_script::PerfScript::default())),
    })
}

/// Reads a whole trace into memory, for tests and small files.
///
/// # Errors
/// As [`TraceReader::read`].
pub fn read_all(reader: &mut dyn TraceReader) -> Result<Vec<Event>, TraceError> {
    let (mut all, mut chunk) = (Vec::new(), Vec::new());
    loop {
        let more = reader.read(&mut chunk)?;
        all.extend_from_slice(&chunk);
        if !more {
            return Ok(all);
        }
    }
}

/// Checks an access that a trace claims.
fn checked_access(addr: u64, size: u64) -> Result<u32, String> {
    if size == 0 {
        return Err("an access of 0 bytes".into());
    }
    if size > MAX_ACCESS {
        return Err(format!("an access of {size} bytes; no instruction touches more than {MAX_ACCESS}"));
    }
    if addr.checked_add(size - 1).is_none() {
        return Err(format!("an access of {size} bytes at {addr:x} passes the end of the address space"));
    }
    Ok(size as u32)
}
