//! The sub-commands, one file each.

pub mod aa;
pub mod ab;
pub mod compare;
pub mod doctor;
pub mod env;
pub mod exec_chain;
pub mod explain;
pub mod import;
pub mod list;
pub mod mem;
mod mem_table;
pub mod run;
pub mod serve;
pub mod show;
pub mod sim;
pub mod stat;
pub mod tlb;
mod tlb_histogram;
mod tlb_table;
pub mod trace;
pub mod worker;
