//! TLB and memory-hierarchy probes: page backing, timed chains, curves, and what levels the curves show.
//!
//! The **probe** measures points ([`survey::Probe`]) into a [`recording::Recording`] of raw chunks; the **analysis**
//! ([`analyse`]) turns a recording into levels without a clock or hardware, so that a stored recording can be analysed
//! again and a simulated table can be put in the hardware's place.

pub mod analyse;
pub mod backing;
pub mod claim;
pub mod curve;
pub mod histogram;
pub mod kernel;
pub mod latency;
pub mod plot;
pub mod recording;
pub mod sampler;
pub mod survey;
pub mod tlb;
