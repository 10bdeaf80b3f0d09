//! The native binary format; see `reader/native_binary.rs` and docs/trace.md for the layout.

use std::io::{self, BufWriter, Write};

use super::TraceWriter;
use crate::event::{Event, Kind};
use crate::reader::native_binary::{END, MAGIC, SIZE_FOLLOWS, THINNED};

/// Writes native binary.
pub struct BinaryWriter<W: Write> {
    sink: BufWriter<W>,
    records: u64,
    expected: [u64; 2],
}

impl<W: Write> BinaryWriter<W> {
    /// Begins a trace.
    ///
    /// # Errors
    /// The sink fails.
    pub fn new(sink: W, thinned: bool) -> io::Result<Self> {
        let mut sink = BufWriter::new(sink);
        sink.write_all(MAGIC)?;
        sink.write_all(&[if thinned { THINNED } else { 0 }])?;
        Ok(BinaryWriter { sink, records: 0, expected: [0; 2] })
    }

    /// Writes the end record and gives the sink back.
    pub(super) fn end(mut self) -> io::Result<W> {
        let records = self.records;
        self.control(END << 3 | 7, Some(records))?;
        self.sink.into_inner().map_err(io::IntoInnerError::into_error)
    }

    fn access(&mut self, letter: u8, event: &Event) -> io::Result<()> {
        let stream = usize::from(letter != 0);
        let small = event.size > 0 && event.size < u32::from(SIZE_FOLLOWS);
        let code = if small { event.size as u8 } else { SIZE_FOLLOWS };
        self.sink.write_all(&[code << 3 | letter])?;
        if !small {
            number(&mut self.sink, u64::from(event.size))?;
        }
        let distance = event.addr.wrapping_sub(self.expected[stream]) as i64;
        self.expected[stream] = event.addr.wrapping_add(u64::from(event.size));
        number(&mut self.sink, (distance << 1 ^ distance >> 63) as u64)
    }

    fn control(&mut self, tag: u8, value: Option<u64>) -> io::Result<()> {
        self.sink.write_all(&[tag])?;
        value.map_or(Ok(()), |v| number(&mut self.sink, v))
    }
}

impl<W: Write> TraceWriter for BinaryWriter<W> {
    fn write(&mut self, events: &[Event]) -> io::Result<()> {
        for e in events {
            self.records += 1;
            match e.kind {
                Kind::Fetch => self.access(0, e),
                Kind::Read => self.access(1, e),
                Kind::Write => self.access(2, e),
                Kind::Modify => self.access(3, e),
                Kind::AddressSpace => self.control(4, Some(e.addr)),
                Kind::FlushAll => self.control(5, None),
                Kind::FlushPage => self.control(6, Some(e.addr)),
                Kind::Sync => self.control(7, None),
                Kind::Phase => self.control(1 << 3 | 7, Some(e.addr)),
                Kind::Task => self.control(2 << 3 | 7, Some(e.addr)),
            }?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.end()?.flush()
    }
}

fn number(sink: &mut impl Write, mut value: u64) -> io::Result<()> {
    while value >= 0x80 {
        sink.write_all(&[value as u8 | 0x80])?;
        value >>= 7;
    }
    sink.write_all(&[value as u8])
}
