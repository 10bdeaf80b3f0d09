//! What a user sees: rows, numbers with their error, tables.

#![forbid(unsafe_code)]

pub mod compare;
mod grid;
mod number;
pub mod plot;
mod rows;
mod table;
mod text;

pub use grid::grid;
pub use number::{readable_unit, significant, with_error};
pub use rows::{Row, rows};
pub use table::{Table, section_table};
pub use text::wrapped;
