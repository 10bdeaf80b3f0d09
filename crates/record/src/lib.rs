//! The data model of a run and its file: JSON Lines, one header, one line per invocation, one footer.
//!
//! A record is the only thing that passes between measuring and comparing; whatever can be imported becomes one.
//! The format is described in `docs/record.md`. [`Writer`] appends and flushes line by line, so that `kill -9`
//! loses at most the line being written; [`Record::read`] accepts such a file.

#![forbid(unsafe_code)]

pub mod import;
mod line;
mod metric;
mod read;
mod write;

pub use line::{Footer, Header, Invocation, Line, Plan, PlannedBenchmark, Printed, SCHEMA, Status, Summary};
pub use metric::{Direction, Estimator, Metric, Unit};
pub use read::{ReadError, Record};
pub use write::Writer;
