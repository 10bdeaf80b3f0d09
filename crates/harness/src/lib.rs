//! HOW to time: clock, calibration, pinning, worker processes, witnesses, budgets, block order.
//!
//! Two sides share this crate. The **coordinator** ([`Coordinator`]) re-executes the program as a fresh worker for
//! every invocation, watches its deadline and leaves nothing behind. The **worker** ([`worker`]) pins itself, runs one
//! [`Benchmark`] through a [`Bench`], and prints what it measured. Nothing else reads a clock or starts processes.

mod affinity;
mod bench;
mod benchmark;
mod clock;
mod coordinator;
mod copies;
mod estimate;
mod gate;
mod histogram;
mod janitor;
mod job;
mod launch;
mod leftovers;
mod order;
mod pace;
mod peer;
mod scratch;
mod session;
mod signals;
mod stop;
mod timer;
mod tiny_elf;
mod urgent;
mod witness;
pub mod worker;
mod worker_process;

pub use affinity::{allowed_cpus, current_cpu, pin_to};
pub use bench::Bench;
pub use benchmark::{Benchmark, Declared, Placement, bandwidth, count, time};
pub use clock::{Clock, ClockKind};
pub use coordinator::{Coordinator, Ended, WorkerOutcome};
pub use copies::MOST_COPIES;
pub use environment::Placement as PairClass;
pub use estimate::{declared_number, number_of};
pub use gate::CopyOf;
pub use hdrhistogram::Histogram;
pub use histogram::{decode_histogram, encode_histogram};
pub use job::{Job, RemotePeer};
pub use launch::{Finished, Held, Launcher, Order, Redirection, RunEnd, Usage, Watch, find_program};
pub use leftovers::{Leftovers, memory_cgroup_below, remove_cgroups};
pub use order::{block_order, fresh_seed, layout_padding};
pub use pace::Pace;
pub use peer::Peer;
pub use scratch::Scratch;
pub use session::{Invoked, Session, Variant};
pub use signals::{Interrupt, Signals};
pub use stop::{Stop, check, cvt};
pub use timer::Timer;
pub use tiny_elf::TinyProgram;
pub use urgent::Urgent;
pub use witness::{MachineCounts, Witness};

/// What a benchmark file imports.
pub mod prelude {
    pub use crate::{
        Bench, Benchmark, Declared, PairClass, Peer, Placement, Stop, Timer, bandwidth, check, count, cvt,
        time,
    };
    pub use record::{Direction, Estimator, Metric, Unit};
}
