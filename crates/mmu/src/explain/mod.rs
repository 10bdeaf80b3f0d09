//! Names for pages.

mod symbols;

pub use symbols::{SymbolError, Symbols};
