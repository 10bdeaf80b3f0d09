//! What machine is this: everything that identifies the machine state a number was measured in.
//!
//! [`collect`] reads `/proc`, `/sys`, the cgroup and `cpuid` into one JSON object (fields: `docs/env.md`), [`diff`]
//! says in which fields two of them differ, [`doctor`] what will add noise, and [`KernelWatch`] whether the kernel
//! complained meanwhile. Everything is read through a [`Root`], which tests replace by a directory.
//! Nothing is ever written. Serial numbers, MAC addresses, UUIDs and secrets are not collected.
//!
//! A known fact is its plain value; an unknown one is `{"value": null, "reason": "..."}`, never 0 or `""`.

#![forbid(unsafe_code)]

mod cgroup;
mod clock;
mod command_line;
mod config;
mod cpu;
mod cpulist;
mod diff;
mod doctor;
mod filesystem;
mod kernel;
mod machine;
mod memory;
mod mounts;
mod now;
mod observers;
mod pmu;
mod power;
mod process;
mod root;
mod scheduler;
mod section;
mod security;
mod sitting;
mod taint;
mod tool;
mod topology;
mod watch;

use std::path::PathBuf;

use serde_json::{Value, json};

pub use cgroup::{memory_cgroup, unified_cgroup};
pub use cpulist::{format_cpu_list, parse_cpu_list};
pub use diff::{Difference, diff, identity};
pub use doctor::{Finding, Severity, doctor};
pub use filesystem::filesystem_type;
pub use root::{Missing, Root};
pub use section::{known, reason_of};
pub use topology::{Cache, Cpu, Node, Placement, Topology};
pub use watch::{KernelReport, KernelWatch};

/// Version of the object's layout; raised when a field is renamed, dropped or changes its meaning.
pub const SCHEMA: u32 = 1;

/// What to collect.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Replace the host name by a short hash, the same on every run of the same host.
    pub hash_host_name: bool,
    /// Directory whose file system is described; the temporary directory when `None`.
    pub directory: Option<PathBuf>,
    /// Keep every option of the kernel's configuration, not only those known to matter.
    pub full_config: bool,
}

/// Reads the environment. Never fails: what can't be read is unknown, with its reason.
pub fn collect(root: &Root, options: &Options) -> Value {
    let topology = Topology::read(root);
    let config = config::Config::read(root);
    let mounts = mounts::read(root);
    let machine = machine::section(root, &mounts);
    let pmu = pmu::section(root, &machine);
    json!({
        "schema": SCHEMA,
        "sitting": sitting::section(root, options.hash_host_name),
        "machine": machine,
        "cpu": cpu::section(root),
        "topology": topology::section(root, &topology),
        "frequency": power::frequency(root, &topology),
        "idle": power::idle(root, &topology),
        "clock": clock::section(root),
        "memory": memory::section(root),
        "kernel": kernel::section(root, &config, options.full_config),
        "mitigations": kernel::mitigations(root),
        "scheduler": scheduler::section(root, &config),
        "security": security::section(root),
        "observers": observers::section(root),
        "pmu": pmu,
        "cgroup": cgroup::section(root, &mounts),
        "process": process::section(root),
        "filesystem": filesystem::section(root, &mounts, options.directory.as_deref()),
        "tool": tool::section(),
        "now": now::section(root, &topology, &mounts),
    })
}
