//! What the coordinator asks of one worker.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Clock, CopyOf};

/// One invocation's orders, passed to the worker as JSON on its standard input.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Benchmark to run.
    pub benchmark: String,
    /// Iterations per sample by metric, from the warm-up pass; calibrated anew where missing.
    pub iterations: BTreeMap<String, u64>,
    /// Time to spend on samples, ns.
    pub slice_ns: u64,
    /// The machine's clock, calibrated once by the coordinator.
    pub clock: Clock,
    /// One core clock cycle, ns: the shortest any single operation can take.
    pub cycle_ns: f64,
    /// CPUs to use: the first for the timed side, the second for its peer; empty when pinning is off.
    pub cpus: Vec<usize>,
    /// All CPUs the run may use.
    pub allowed: Vec<usize>,
    /// Directory for the benchmark's files; emptied after the invocation.
    pub scratch: PathBuf,
    /// Key of the System V objects it may create; removed after the invocation.
    pub ipc_key: i32,
    /// Cgroup v2 directory it may create, with cgroups directly below it; removed after the invocation. `None` where no
    /// such hierarchy is mounted.
    pub cgroup: Option<PathBuf>,
    /// Memory it may map, bytes.
    pub memory_limit: u64,
    /// The peer on another host, for benchmarks that need one.
    #[serde(default)]
    pub remote: Option<RemotePeer>,
    /// Its place among the copies started together, where there are several.
    #[serde(default)]
    pub copy: Option<CopyOf>,
}

impl Job {
    /// Orders with nothing in them but a benchmark's name and the clock; for callers to fill in.
    pub fn bare(benchmark: &str, clock: Clock) -> Self {
        Job {
            benchmark: benchmark.to_owned(),
            iterations: BTreeMap::new(),
            slice_ns: 0,
            clock,
            cycle_ns: 0.1,
            cpus: Vec::new(),
            allowed: Vec::new(),
            scratch: PathBuf::new(),
            ipc_key: 0,
            cgroup: None,
            memory_limit: u64::MAX,
            remote: None,
            copy: None,
        }
    }
}

/// A `tlbench serve` on another host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RemotePeer {
    /// `HOST:PORT`.
    pub address: String,
    /// The token it printed.
    pub token: String,
}
