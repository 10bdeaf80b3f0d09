//! WHAT is timed. One file per benchmark, folders named after the sections people know.
//!
//! A benchmark file is all you read to know a number: what is timed, how, per what, its pitfalls, and the proof that
//! the work was done. A new benchmark is one new file plus one line in its folder's list.

mod bw;
mod bw_mem;
mod ctx;
mod fs;
mod futex;
mod ipc;
mod layers;
mod memory;
pub mod net;
mod ns;
mod ops;
mod placed;
mod proc;
mod readiness;
mod sched;
mod shared;
mod signal;
mod switches;
mod sys;
mod syscall;
mod team;
mod time;
mod uring;
mod vm;
mod waiting;
mod wake;

use harness::Benchmark;

/// A group of benchmarks that is printed together.
pub struct Section {
    /// Title above the table.
    pub title: &'static str,
    /// Its benchmarks in the order of the table.
    pub benchmarks: Vec<Benchmark>,
}

/// Every section, in the order printed.
pub fn sections() -> Vec<Section> {
    vec![
        Section { title: "System parameters", benchmarks: sys::benchmarks() },
        Section { title: "System calls", benchmarks: syscall::benchmarks() },
        Section { title: "Select, poll, epoll", benchmarks: readiness::benchmarks() },
        Section { title: "Signals", benchmarks: signal::benchmarks() },
        Section { title: "Processes and threads", benchmarks: proc::benchmarks() },
        Section { title: "Context switch", benchmarks: ctx::benchmarks() },
        Section { title: "Wake-up", benchmarks: wake::benchmarks() },
        Section { title: "Scheduler under load", benchmarks: sched::benchmarks() },
        Section { title: "Local communication", benchmarks: ipc::benchmarks() },
        Section { title: "Network over loopback", benchmarks: net::benchmarks() },
        Section { title: "Files", benchmarks: fs::benchmarks() },
        Section { title: "Memory map", benchmarks: vm::benchmarks() },
        Section { title: "Futexes", benchmarks: futex::benchmarks() },
        Section { title: "io_uring and epoll", benchmarks: uring::benchmarks() },
        Section { title: "Filters and probes", benchmarks: layers::benchmarks() },
        Section { title: "Time", benchmarks: time::benchmarks() },
        Section { title: "Namespaces and cgroups", benchmarks: ns::benchmarks() },
        Section { title: "Bandwidth", benchmarks: bw::benchmarks() },
        Section { title: "Memory bandwidth", benchmarks: bw_mem::benchmarks() },
        Section { title: "Arithmetic (controls)", benchmarks: ops::benchmarks() },
        Section { title: "Network to another host", benchmarks: net::remote_benchmarks() },
        Section { title: "Bandwidth to another host", benchmarks: bw::remote_benchmarks() },
        Section { title: "Memory and TLB", benchmarks: memory::benchmarks() },
    ]
}
