//! What a user sees: rows, numbers with their error, tables.

#![forbid(unsafe_code)]

mod classic;
pub mod compare;
mod grid;
mod number;
mod percent;
pub mod plot;
mod rows;
mod scaling;
mod table;
mod text;

pub use classic::{Entry, classic_layout, classic_metrics};
pub use grid::grid;
pub use number::{readable_unit, significant, with_error};
pub use percent::{percent_of_best, percent_table};
pub use rows::{Row, rows};
pub use scaling::{is_of_copies, scaling_table, split_copies};
pub use table::{Table, section_table};
pub use text::wrapped;
