//! The native text format.

use std::io::{self, BufWriter, Write};

use super::TraceWriter;
use crate::event::{Event, Kind};
use crate::reader::THINNED_NOTE;

/// Writes native text.
pub struct TextWriter<W: Write> {
    sink: BufWriter<W>,
}

impl<W: Write> TextWriter<W> {
    /// Begins a trace; a thinned one says so in a comment.
    ///
    /// # Errors
    /// The sink fails.
    pub fn new(sink: W, thinned: bool) -> io::Result<Self> {
        let mut sink = BufWriter::new(sink);
        if thinned {
            writeln!(
                sink,
                "{THINNED_NOTE}: repeats of the previous page of the fetch or data stream are left out"
            )?;
        }
        Ok(TextWriter { sink })
    }
}

impl<W: Write> TraceWriter for TextWriter<W> {
    fn write(&mut self, events: &[Event]) -> io::Result<()> {
        for e in events {
            let (addr, size) = (e.addr, e.size);
            match e.kind {
                Kind::Fetch => writeln!(self.sink, "I {addr:x},{size}"),
                Kind::Read => writeln!(self.sink, "R {addr:x},{size}"),
                Kind::Write => writeln!(self.sink, "W {addr:x},{size}"),
                Kind::Modify => writeln!(self.sink, "M {addr:x},{size}"),
                Kind::AddressSpace => writeln!(self.sink, "A {addr}"),
                Kind::FlushAll => writeln!(self.sink, "F"),
                Kind::FlushPage => writeln!(self.sink, "F {addr:x}"),
                Kind::Sync => writeln!(self.sink, "S"),
                Kind::Phase => writeln!(self.sink, "P {addr}"),
                Kind::Task => writeln!(self.sink, "T {}/{}", addr >> 32, addr & 0xffff_ffff),
            }?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.sink.flush()
    }
}
