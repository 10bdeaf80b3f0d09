//! What misses cost: cycles, their share of the time, and when pinning an entry pays.

mod break_even;
mod model;

pub use break_even::{BreakEven, Verdict, break_even};
pub use model::{Cycles, Scale, cycles};
