//! The memory hierarchy: latency by footprint, what of it is translation, under load, between cores and nodes.

pub mod bandwidth;
pub mod core_to_core;
pub mod decomposition;
pub mod footprint;
pub mod levels;
pub mod line;
pub mod loaded;
pub mod measure;
pub mod numa;
pub mod parallelism;
pub mod ring;
pub mod store;
mod together;

pub use measure::{Options, Report, measure};
