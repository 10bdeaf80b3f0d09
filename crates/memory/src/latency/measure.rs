//! The whole report: what `tlbench mem` runs.

use std::time::Instant;

use environment::{Root, Topology};
use harness::{Clock, Signals};
use serde::Serialize;

use crate::backing::page_bytes;
use crate::recording::{Chain, Request, quantile};
use crate::sampler::Sampler;

use super::bandwidth::{Bandwidth, bandwidths};
use super::core_to_core::{PairLatency, matrix};
use super::decomposition::{Decomposition, decompose};
use super::footprint::{Limits, footprints, limits};
use super::levels::{CacheLevel, LatencyPoint, cache_levels};
use super::loaded::{Loaded, loaded};
use super::numa::{NodeLatency, matrix as numa_matrix};
use super::parallelism::{Parallelism, parallelism};
use super::ring::{Pages, Pattern, Ring};
use super::store::{StoreRow, forwarding, stores};

/// What to measure.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Largest footprint, bytes; four times the last-level cache when `None`.
    pub most: Option<u64>,
    /// Finer curves and more pairs of CPUs.
    pub full: bool,
    /// CPUs this process was allowed before it was pinned to one of them.
    pub cpus: Vec<usize>,
    /// Seed of all permutations.
    pub seed: u64,
}

/// The report. The field names are a contract.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Layout version.
    pub schema: u32,
    /// Processor as it names itself.
    pub cpu_claimed: String,
    /// Largest footprint, bytes.
    pub largest_bytes: u64,
    /// Levels found.
    pub levels: Vec<CacheLevel>,
    /// Idle latency by footprint and pattern.
    pub latency: Vec<LatencyPoint>,
    /// Cache and translation parts.
    pub decomposition: Vec<Decomposition>,
    /// Latency under load.
    pub loaded: Vec<Loaded>,
    /// Bandwidth of one CPU.
    pub bandwidth: Vec<Bandwidth>,
    /// Stores.
    pub store: Vec<StoreRow>,
    /// Concurrent misses.
    pub parallelism: Vec<Parallelism>,
    /// Pairs of CPUs.
    pub core_to_core: Vec<PairLatency>,
    /// Nodes.
    pub numa: Vec<NodeLatency>,
    /// What was capped or could not be done.
    pub notes: Vec<String>,
    /// Seconds it took.
    pub seconds: f64,
}

/// Steps of a chain per call.
const STEPS: u64 = 1024;
/// Batches of one point: at memory speed a batch is five chunks only.
const BATCHES: u32 = 4;
/// Most pairs of CPUs without and with `full`.
const PAIRS: (usize, usize) = (28, 496);

/// Median, 10th and 90th percentile of ns per load through `ring`.
pub fn latency_of(sampler: &mut Sampler, ring: &mut Ring) -> (f64, f64, f64) {
    let request = Request { chain: Chain::LoadDistinct, stride: 1, pages: 0 };
    let mut ns = Vec::new();
    for round in 0..BATCHES {
        let batch = sampler.batch(request, round, STEPS as usize, || ring.walk(STEPS));
        ns.extend(batch.chunk_ns.iter().map(|&ns| f64::from(ns)));
    }
    ns.sort_by(f64::total_cmp);
    (quantile(&ns, 0.5), quantile(&ns, 0.1), quantile(&ns, 0.9))
}

/// Measures this machine from the CPU this thread is pinned to.
pub fn measure(options: &Options, signals: Option<&Signals>) -> Report {
    let started = Instant::now();
    let root = Root::host();
    let topology = Topology::read(&root);
    let source = root.contents("/sys/devices/system/clocksource/clocksource0/current_clocksource").ok();
    let mut sampler = Sampler::new(Clock::calibrate(source.as_deref()));
    let limits = limits(&root, &topology, options.most);
    let mut report = Report {
        schema: 1,
        cpu_claimed: crate::claim::processor(),
        largest_bytes: limits.most,
        notes: limits.capped_by.clone().into_iter().collect(),
        ..Report::default()
    };
    let stopped = || signals.is_some_and(|s| s.interrupted().is_some());
    latency_curves(&mut sampler, &mut report, limits.last_level, options, &stopped);
    let claims: Vec<(u32, u64)> = topology
        .caches
        .iter()
        .filter(|c| c.kind != "Instruction")
        .filter_map(|c| Some((c.level, c.bytes?)))
        .collect();
    let random: Vec<LatencyPoint> =
        report.latency.iter().filter(|p| p.pattern == Pattern::Random).cloned().collect();
    report.levels = cache_levels(&random, &claims);
    for bytes in [16 << 20, 64 << 20, 512 << 20].into_iter().filter(|&b| b <= limits.most) {
        if !stopped() {
            report.decomposition.push(decompose(&mut sampler, bytes, limits.last_level, options.seed));
        }
    }
    let me = harness::current_cpu();
    let others: Vec<usize> = options.cpus.iter().copied().filter(|&c| i32::try_from(c) != Ok(me)).collect();
    if !stopped() {
        under_load(&mut sampler, &mut report, &others, &limits, options.seed);
    }
    let inside: Vec<u64> = claims.iter().map(|c| c.1 / 2).chain([limits.most / 2]).collect();
    for &bytes in inside.iter().filter(|&&b| b >= 8 << 10 && b <= limits.most) {
        if stopped() {
            break;
        }
        match bandwidths(&mut sampler, bytes) {
            Ok(rows) => report.bandwidth.extend(rows),
            Err(reason) => report.notes.push(format!("bandwidth: {reason}")),
        }
    }
    report.store.push(forwarding(&mut sampler));
    for &bytes in &inside {
        match stores(&mut sampler, bytes.min(limits.most), options.seed) {
            Ok(row) => report.store.push(row),
            Err(reason) => report.notes.push(format!("stores: {reason}")),
        }
    }
    if !stopped() {
        let most = if options.full { PAIRS.1 } else { PAIRS.0 };
        report.core_to_core = matrix(&sampler.clock, &topology, &options.cpus, most);
        if options.cpus.len() < 2 {
            report.notes.push("core to core: only one CPU may be used".into());
        }
        report.numa = numa_matrix(&mut sampler, &topology, &options.cpus, &limits, options.seed);
    }
    report.seconds = started.elapsed().as_secs_f64();
    report
}

fn latency_curves(
    sampler: &mut Sampler,
    report: &mut Report,
    last_level: u64,
    options: &Options,
    stopped: &impl Fn() -> bool,
) {
    let sizes = footprints(report.largest_bytes, if options.full { 8 } else { 4 });
    for (pattern, every) in [(Pattern::Random, 1), (Pattern::Linear, 4)] {
        for &bytes in sizes.iter().step_by(every) {
            if stopped() {
                return;
            }
            let mut ring = match Ring::new(bytes as usize, pattern, Pages::Base, options.seed) {
                Ok(ring) => ring,
                Err(reason) => {
                    report.notes.push(format!("latency at {} KiB: {reason}", bytes >> 10));
                    return;
                }
            };
            ring.settle(last_level);
            let (ns, p10, p90) = latency_of(sampler, &mut ring);
            report.latency.push(LatencyPoint {
                bytes,
                pattern,
                page_size: page_bytes() as u64,
                ns,
                p10,
                p90,
            });
        }
    }
}

fn under_load(sampler: &mut Sampler, report: &mut Report, others: &[usize], limits: &Limits, seed: u64) {
    let (most, last_level) = (limits.most, limits.last_level);
    let mut ring = match Ring::new((most / 2) as usize, Pattern::Random, Pages::Base, seed) {
        Ok(ring) => ring,
        Err(reason) => {
            report.notes.push(format!("latency under load: {reason}"));
            return;
        }
    };
    ring.settle(last_level);
    report.parallelism.push(parallelism(&sampler.clock, &ring));
    match loaded(sampler, &mut ring, others, most / 4) {
        Ok(rows) => report.loaded = rows,
        Err(reason) => report.notes.push(format!("latency under load: {reason}")),
    }
}
