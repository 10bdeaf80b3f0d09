//! perf events of a child and of everything it starts; says why when one can't be had.
//!
//! [`parse`] turns words as `perf stat -e` takes them into [`Event`]s in groups; [`Counters`] tries each once
//! ([`Counters::probe`]), so that what can't be counted is known with its reason before the first run, and then counts
//! run after run ([`Counters::attach`], [`Attached::read`]). All system calls go through [`Kernel`], which tests
//! replace by a recorded one: this crate's hardware paths have been run against recordings only (`docs/stat.md`).

mod cache;
mod counters;
mod event;
mod kernel;
mod names;
mod page_walk;
mod parse;
mod pmu;
mod reason;
mod sample;
mod syscalls;
mod trace;
mod tracepoint;

pub use counters::{Attached, Counters, DEFAULT_HARDWARE, DEFAULT_SOFTWARE, Reading, Value};
pub use event::{Attribute, Event, Group, Spec};
pub use kernel::{Descriptor, Kernel, Linux, Times};
pub use parse::{ParseError, parse};
pub use reason::Surroundings;
pub use sample::{Note, Sampler};
pub use syscalls::{SYSCALL_KINDS, SyscallKind};
pub use trace::{SyscallTracer, Tally};
