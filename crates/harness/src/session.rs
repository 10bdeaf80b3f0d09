//! One sitting on this machine: the clock, the CPUs and the coordinator together, invocation by invocation.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use environment::{Root, Topology};
use record::{Invocation, Status};
use serde_json::json;

use crate::clock::cycle_ns;
use crate::{
    Benchmark, Clock, Coordinator, Ended, Job, Placement, RemotePeer, Signals, WorkerOutcome, layout_padding,
};

/// A worker may take this much longer than its slice before it is killed, for set-up and slow machines.
const DEADLINE_SLACK: Duration = Duration::from_secs(20);

/// This very program, also after its file was replaced.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// What differs between the configurations of one sitting, seen from a worker.
#[derive(Clone, Debug, Default)]
pub struct Variant {
    /// Name in the record; `None` when the header's label says it.
    pub name: Option<String>,
    /// Environment variables added.
    pub environment: Vec<(String, String)>,
    /// Another binary of this program to run workers of.
    pub program: Option<std::path::PathBuf>,
}

/// One sitting.
pub struct Session {
    /// The calibrated clock.
    pub clock: Clock,
    /// One core clock cycle, ns.
    pub cycle_ns: f64,
    /// CPUs and caches.
    pub topology: Topology,
    /// Seed of every random draw.
    pub seed: u64,
    /// Whether workers are pinned.
    pub pinned: bool,
    /// The peer on another host, if there is one.
    pub remote: Option<RemotePeer>,
    coordinator: Coordinator,
    signals: Signals,
    iterations: BTreeMap<String, u64>,
    memory_limit: u64,
}

/// One invocation's lines and how long it took.
pub struct Invoked {
    /// Record lines, with block and slot.
    pub lines: Vec<Invocation>,
    /// How the worker ended; `None` when it was not started.
    pub ended: Option<Ended>,
    /// Wall-clock time, seconds.
    pub seconds: f64,
}

impl Session {
    /// Starts a sitting. `memory_limit` is what one benchmark may map, bytes.
    pub fn start(coordinator: Coordinator, signals: Signals, seed: u64, memory_limit: u64) -> Self {
        let root = Root::host();
        let source = root.contents("/sys/devices/system/clocksource/clocksource0/current_clocksource").ok();
        let clock = Clock::calibrate(source.as_deref());
        Session {
            cycle_ns: cycle_ns(&clock),
            clock,
            topology: Topology::read(&root),
            seed,
            pinned: true,
            remote: None,
            coordinator,
            signals,
            iterations: BTreeMap::new(),
            memory_limit,
        }
    }

    /// The interruption received, if any.
    pub fn interrupted(&self) -> Option<crate::Interrupt> {
        self.signals.interrupted()
    }

    /// Iteration counts known from an earlier part of this run (a resumed record).
    pub fn know_iterations(&mut self, metric: &str, iterations: u64) {
        self.iterations.insert(metric.to_owned(), iterations);
    }

    /// The coordinator, to run workers of another binary.
    pub fn coordinator(&mut self) -> &mut Coordinator {
        &mut self.coordinator
    }

    /// The CPUs a benchmark gets; the error is the reason to skip it.
    fn cpus(&self, placement: Placement) -> Result<Vec<usize>, String> {
        match placement {
            Placement::Pair(_) if !self.pinned => {
                Err("needs two CPUs of its own, and pinning is off".to_owned())
            }
            _ if !self.pinned => Ok(Vec::new()),
            // CPU 0 serves most interrupts, so the last allowed one is taken.
            Placement::OneCpu => Ok(self.topology.allowed.last().copied().into_iter().collect()),
            Placement::Pair(class) => {
                let (a, b) = self.topology.pair(class).map_err(|missing| missing.to_string())?;
                Ok(vec![b, a])
            }
            Placement::AllCpus => Ok(Vec::new()),
        }
    }

    /// Runs `benchmark` once in a fresh process for about `slice`.
    pub fn invoke(
        &mut self,
        benchmark: &Benchmark,
        variant: &Variant,
        slice: Duration,
        block: u32,
        slot: u32,
    ) -> Invoked {
        let started = Instant::now();
        let padding = layout_padding(self.seed, block, slot);
        let outcome = match self.cpus(benchmark.placement) {
            Ok(cpus) => Ok(self.run_worker(benchmark, variant, slice, cpus, padding)),
            Err(reason) => Err(reason),
        };
        let (mut lines, ended) = match outcome {
            Ok((outcome, cpus)) => {
                for (metric, &count) in &outcome.iterations {
                    self.iterations.entry(metric.clone()).or_insert(count);
                }
                (annotate(outcome.lines, &cpus, padding, outcome.not_pinned.as_deref()), Some(outcome.ended))
            }
            Err(reason) => {
                let skip = |m| Invocation::of(m).without_value(Status::Skipped, reason.clone());
                (benchmark.metrics().iter().map(skip).collect(), None)
            }
        };
        for line in &mut lines {
            line.block = Some(block);
            line.slot = Some(slot);
            line.configuration = variant.name.clone();
        }
        Invoked { lines, ended, seconds: started.elapsed().as_secs_f64() }
    }

    fn run_worker(
        &mut self,
        benchmark: &Benchmark,
        variant: &Variant,
        slice: Duration,
        cpus: Vec<usize>,
        padding: usize,
    ) -> (WorkerOutcome, Vec<usize>) {
        let iterations = benchmark
            .declared
            .iter()
            .filter_map(|d| Some((d.metric.name.clone(), *self.iterations.get(&d.metric.name)?)))
            .collect();
        let job = Job {
            benchmark: benchmark.name.clone(),
            iterations,
            slice_ns: slice.as_nanos() as u64,
            clock: self.clock,
            cycle_ns: self.cycle_ns,
            cpus: cpus.clone(),
            allowed: self.topology.allowed.clone(),
            scratch: self.coordinator.scratch().path().to_owned(),
            ipc_key: self.coordinator.leftovers().ipc_key(),
            cgroup: self.coordinator.leftovers().cgroup().map(ToOwned::to_owned),
            memory_limit: self.memory_limit,
            remote: self.remote.clone().filter(|_| benchmark.remote),
        };
        let deadline = slice * 10 + DEADLINE_SLACK;
        let program = variant.program.as_deref().unwrap_or(std::path::Path::new(OWN_PROGRAM));
        self.coordinator.set_program(program);
        let outcome =
            self.coordinator.invoke(benchmark, &job, &variant.environment, padding, deadline, &self.signals);
        (outcome, cpus)
    }
}

/// Adds where and how the worker ran to its lines.
fn annotate(
    mut lines: Vec<Invocation>,
    cpus: &[usize],
    padding: usize,
    not_pinned: Option<&str>,
) -> Vec<Invocation> {
    for line in lines.iter_mut().filter(|line| line.status == Status::Ok) {
        line.witness.insert("cpus".into(), json!(cpus));
        line.witness.insert("environment_padding".into(), json!(padding));
        if let Some(reason) = not_pinned {
            line.witness.insert("not_pinned".into(), json!(reason));
        }
    }
    lines
}
