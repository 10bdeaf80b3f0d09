//! One sitting on this machine: the clock, the CPUs and the coordinator together, invocation by invocation.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use environment::{Root, Topology};
use record::{Invocation, Status};
use serde_json::json;

use crate::clock::cycle_ns;
use crate::copies::merge;
use crate::{
    Benchmark, Clock, Coordinator, CopyOf, Ended, Job, Placement, RemotePeer, Signals, layout_padding,
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

    /// The CPUs each copy of a benchmark gets; the error is the reason to skip it.
    fn cpus(&self, benchmark: &Benchmark) -> Result<Vec<Vec<usize>>, String> {
        let copies = benchmark.copies.unwrap_or(1) as usize;
        match benchmark.placement {
            Placement::Pair(_) if !self.pinned => {
                Err("needs two CPUs of its own, and pinning is off".to_owned())
            }
            _ if !self.pinned => Ok(vec![Vec::new(); copies]),
            // CPU 0 serves most interrupts, so the last allowed ones are taken first.
            Placement::OneCpu => {
                let cpus = self.topology.allowed.iter().rev().cycle().take(copies);
                let cpus: Vec<Vec<usize>> = cpus.map(|&cpu| vec![cpu]).collect();
                if cpus.is_empty() { Ok(vec![Vec::new(); copies]) } else { Ok(cpus) }
            }
            Placement::Pair(class) => {
                let (a, b) = self.topology.pair(class).map_err(|missing| missing.to_string())?;
                Ok(vec![vec![b, a]])
            }
            Placement::AllCpus => Ok(vec![Vec::new(); copies]),
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
        let (mut lines, ended) = match self.cpus(benchmark) {
            Ok(cpus) => self.run_workers(benchmark, variant, slice, &cpus, padding),
            Err(reason) => {
                let skip = |m| Invocation::of(m).without_value(Status::Skipped, reason.clone());
                (benchmark.metrics().iter().map(skip).collect(), None)
            }
        };
        let seconds = started.elapsed().as_secs_f64();
        let wall_ms = (seconds * 1e4).round() / 10.0;
        for line in &mut lines {
            line.witness.insert("invocation_ms".into(), wall_ms.into());
            line.block = Some(block);
            line.slot = Some(slot);
            line.configuration = variant.name.clone();
        }
        Invoked { lines, ended, seconds }
    }

    /// Runs a worker per element of `cpus`; yields the record lines and how they ended: as the first, or as
    /// the last that did not report.
    fn run_workers(
        &mut self,
        benchmark: &Benchmark,
        variant: &Variant,
        slice: Duration,
        cpus: &[Vec<usize>],
        padding: usize,
    ) -> (Vec<Invocation>, Option<Ended>) {
        let jobs: Vec<Job> =
            cpus.iter().enumerate().map(|(n, cpus)| self.job(benchmark, slice, cpus, n as u32)).collect();
        let deadline = slice * 10 + DEADLINE_SLACK;
        let program = variant.program.as_deref().unwrap_or(std::path::Path::new(OWN_PROGRAM));
        self.coordinator.set_program(program);
        let outcomes =
            self.coordinator.invoke(benchmark, &jobs, &variant.environment, padding, deadline, &self.signals);
        let mut lines = Vec::new();
        let mut ended = None;
        for (outcome, cpus) in outcomes.into_iter().zip(cpus) {
            for declared in &benchmark.declared {
                let own = benchmark.worker_metric(&declared.metric.name);
                if let Some(&count) = outcome.iterations.get(&own) {
                    self.iterations.entry(declared.metric.name.clone()).or_insert(count);
                }
            }
            lines.push(annotate(outcome.lines, cpus, padding, outcome.not_pinned.as_deref()));
            if !matches!((&ended, &outcome.ended), (Some(_), Ended::Reported)) {
                ended = Some(outcome.ended);
            }
        }
        let lines = match benchmark.copies {
            Some(_) => merge(benchmark, &lines),
            None => lines.into_iter().flatten().collect(),
        };
        (lines, ended)
    }

    /// The orders of one copy.
    fn job(&self, benchmark: &Benchmark, slice: Duration, cpus: &[usize], number: u32) -> Job {
        let known = |d: &crate::Declared| {
            let name = &d.metric.name;
            Some((benchmark.worker_metric(name), *self.iterations.get(name)?))
        };
        let scratch = self.coordinator.scratch().path();
        let leftovers = self.coordinator.leftovers();
        let copy = benchmark.copies.map(|copies| CopyOf { number, copies, gate: scratch.join("gate") });
        Job {
            benchmark: benchmark.worker_name.clone(),
            iterations: benchmark.declared.iter().filter_map(known).collect(),
            slice_ns: slice.as_nanos() as u64,
            clock: self.clock,
            cycle_ns: self.cycle_ns,
            cpus: cpus.to_vec(),
            allowed: self.topology.allowed.clone(),
            scratch: if copy.is_some() { scratch.join(format!("copy{number}")) } else { scratch.to_owned() },
            ipc_key: leftovers.ipc_key(number),
            cgroup: leftovers.cgroup(number),
            memory_limit: self.memory_limit / u64::from(benchmark.copies.unwrap_or(1).max(1)),
            remote: self.remote.clone().filter(|_| benchmark.remote),
            copy,
        }
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
