//! The MMU room: what a program's references would cost on any translation hardware.
//!
//! [`machine`] describes hardware, [`reader`] turns traces into [`event::Event`]s, [`sim`] runs many
//! machines over one stream, [`curve`] gives all sizes of an LRU TLB at once.

#![forbid(unsafe_code)]

pub mod cost;
pub mod curve;
pub mod event;
pub mod explain;
pub mod filter;
pub mod generate;
pub mod machine;
pub mod page;
pub mod policy;
pub mod reader;
pub mod sim;
pub mod thin;
pub mod tlb;
pub mod writer;
