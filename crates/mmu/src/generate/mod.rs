//! Reference patterns made by rule: what a trace would show if the program were this simple.

mod pattern;
mod spec;

pub use spec::{GeneratorError, Pattern};

use crate::event::Event;
use crate::reader::{CHUNK, Format, TraceError, TraceReader};
use pattern::Source;

/// A generated trace.
pub struct Generator {
    source: Source,
    code: Option<u64>,
    left: u64,
}

/// Where generated data and code lie.
pub(crate) const DATA: u64 = 0x1000_0000;
pub(crate) const CODE: u64 = 0x40_0000;

impl Generator {
    /// From a description such as `cycle:pages=64,rounds=10`; see [`Pattern::parse`].
    ///
    /// # Errors
    /// The description is not understood.
    pub fn parse(text: &str) -> Result<Self, GeneratorError> {
        Ok(Self::new(&Pattern::parse(text)?))
    }

    /// From a parsed description.
    pub fn new(pattern: &Pattern) -> Self {
        Generator {
            source: Source::new(pattern),
            code: pattern.code.then_some(CODE),
            left: pattern.references(),
        }
    }
}

impl TraceReader for Generator {
    fn read(&mut self, out: &mut Vec<Event>) -> Result<bool, TraceError> {
        out.clear();
        while self.left > 0 && out.len() < CHUNK {
            if let Some(code) = self.code {
                out.push(Event::access(crate::event::Kind::Fetch, code, 4));
            }
            out.push(Event::access(crate::event::Kind::Read, self.source.next(), 4));
            self.left -= 1;
        }
        Ok(self.left > 0)
    }

    fn format(&self) -> Format {
        Format::Generated
    }
}
