//! What a user sees: rows, numbers with their error, tables.

#![forbid(unsafe_code)]

pub mod compare;
mod grid;
mod interval;
mod number;
pub mod plot;
mod rows;
mod table;

pub use grid::grid;
pub use interval::center_and_interval;
pub use number::{significant, with_error};
pub use rows::{Row, rows};
pub use table::{Table, section_table};
