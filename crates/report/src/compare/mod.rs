//! From records to a comparison: which numbers belong together, and what the answer looks like as text and JSON.

mod gather;
mod history;
mod json;
mod layout;
mod sentence;
mod text;

pub use gather::{Gathered, Named, Rules, gather};
pub use history::history;
pub use json::{comparison_json, document};
pub use sentence::sentence;
pub use text::print_comparison;
