//! The TLB probe: what is measured on the machine, and the report made of it.

mod code;
mod disturbance;
mod empty;
mod hardware;
mod huge;
mod measure;
mod report;
mod sentinel;
mod shootdown;
mod switch;
mod walk;

pub use hardware::{Hardware, huge_page_bytes};
pub use measure::{Options, analyse, measure};
pub use report::{Chunks, Coalescing, Report, Structure, Walk, WalkRow};
pub use shootdown::Shootdown;
pub use switch::AfterSwitch;
