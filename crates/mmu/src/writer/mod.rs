//! Writing traces in our own formats.

mod binary;
mod text;

use std::io::{self, Write};

pub use binary::BinaryWriter;
pub use text::TextWriter;

use zstd::stream::write::Encoder;

use crate::event::Event;

/// A sink for trace records.
pub trait TraceWriter {
    /// Appends records.
    ///
    /// # Errors
    /// The sink fails.
    fn write(&mut self, events: &[Event]) -> io::Result<()>;

    /// Ends the trace and flushes the sink.
    ///
    /// # Errors
    /// The sink fails.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// The binary format inside zstd.
pub struct CompressedWriter<W: Write>(BinaryWriter<Encoder<'static, W>>);

impl<W: Write> CompressedWriter<W> {
    /// Begins a trace.
    ///
    /// # Errors
    /// The sink or the compressor fails.
    pub fn new(sink: W, thinned: bool) -> io::Result<Self> {
        Ok(CompressedWriter(BinaryWriter::new(Encoder::new(sink, 3)?, thinned)?))
    }
}

impl<W: Write> TraceWriter for CompressedWriter<W> {
    fn write(&mut self, events: &[Event]) -> io::Result<()> {
        self.0.write(events)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.0.end()?.finish()?.flush()
    }
}
