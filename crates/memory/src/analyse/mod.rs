//! From curves to levels: pure functions, no clock and no hardware.

pub mod knee;
pub mod level;
pub mod plateau;
pub mod replacement;
pub mod ways;

pub use level::{Confidence, Level, levels};
pub use ways::{Organisation, organisation};
