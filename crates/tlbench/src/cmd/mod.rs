//! The sub-commands, one file each.

pub mod doctor;
pub mod env;
pub mod list;
pub mod run;
pub mod show;
pub mod worker;
