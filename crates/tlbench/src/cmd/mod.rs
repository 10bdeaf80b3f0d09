//! The sub-commands, one file each.

pub mod list;
pub mod run;
pub mod show;
pub mod worker;
