//! The whole probe in order: what `tlbench tlb` runs.

use std::time::{Duration, Instant};

use environment::{Root, Topology};
use harness::{Clock, Signals};

use crate::analyse::knee::Step;
use crate::analyse::level::{DEPENDENT, grid_plateaus};
use crate::analyse::{Confidence, Level, Organisation, levels, organisation};
use crate::backing::{page_bytes, spare_mappings};
use crate::claim::{Claim, Kind, claims, processor};
use crate::curve::{Curve, alias_cost};
use crate::recording::{Chain, Recording};
use crate::survey::{MOST_PAGES, Probe, Survey, capacity};

use super::disturbance::disturbance;
use super::hardware::Hardware;
use super::huge::huge_rows;
use super::report::{Chunks, Coalescing, Report, Structure, Walk};
use super::shootdown::shootdowns;
use super::switch::after_switch;
use super::walk::{Caches, LastLevel, concurrent_walks, walk_costs};

/// What to measure.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Also the second level's stride series, the walk table, shoot-downs and every huge page size.
    pub full: bool,
    /// Real-time priority in bursts.
    pub real_time: bool,
    /// Huge page sizes asked for, bytes.
    pub huge: Vec<u64>,
    /// CPUs this process was allowed before it was pinned to one of them.
    pub cpus: Vec<usize>,
    /// Seed of all permutations.
    pub seed: u64,
}

/// Threshold of the stride series, as a share of the step: a set in sixteen shows 7 %.
const STRIDE_THRESHOLD: f64 = 0.15;

/// Pages of the longest jump chain.
const MOST_CODE_PAGES: u32 = 1024;

/// When further rounds of unsettled points end, and a pause between them that lets disturbances pass.
const PATIENCE: Duration = Duration::from_millis(9500);
const FULL_PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(40);

/// Measures this machine on the CPU this thread is pinned to.
pub fn measure(options: &Options, signals: Option<&Signals>) -> Report {
    let started = Instant::now();
    let root = Root::host();
    let topology = Topology::read(&root);
    let clock_source = root.contents("/sys/devices/system/clocksource/clocksource0/current_clocksource").ok();
    let clock = Clock::calibrate(clock_source.as_deref());
    let l1 = topology.caches.iter().find(|c| c.level == 1 && c.kind != "Instruction");
    let l1_lines = l1.and_then(|c| c.bytes).map(|bytes| bytes / 64);
    let mut hardware = Hardware::new(clock, l1_lines, options.seed, signals);
    let mut notes = Vec::new();
    if options.real_time {
        match crate::sampler::real_time_refusal() {
            None => hardware.sampler.real_time = true,
            Some(reason) => {
                notes.push(format!("real-time bursts are not possible, normal priority used: {reason}"))
            }
        }
    }
    let disturbed = disturbance(&hardware.sampler);
    let claims = claims();
    let own_lines = hardware.own_lines;
    let cpu = harness::current_cpu();
    let hypervisor = hypervisor(&root);
    let mut survey = Survey::new(&mut hardware, page_bytes() as u64, own_lines, options.seed);
    survey.loads(MOST_PAGES);
    survey.again();
    survey.single(Chain::Store, own_lines, true);
    survey.again();
    // As far as separate mappings are allowed: the first step lies far below.
    let code_pages = u32::try_from(spare_mappings()).unwrap_or(u32::MAX).min(MOST_CODE_PAGES);
    survey.single(Chain::Instruction, code_pages, true);
    survey.again();
    strides(&mut survey, options.full);
    survey.again();
    let patience = if options.full { FULL_PATIENCE } else { PATIENCE };
    let mut coalesced = None;
    if started.elapsed() < patience {
        coalesced = coalescing(&mut survey);
    } else {
        notes.push("coalescing was not tested: the machine is so busy that the rest took too long".into());
    }
    while started.elapsed() < patience && survey.again() {
        std::thread::sleep(PAUSE);
    }
    let mut report = analyse(&survey.recording, &claims);
    report.coalescing = coalesced;
    for ((chain, stride), reason) in &survey.refused {
        notes.push(format!("{} at stride {stride}: {reason}", chain_words(*chain)));
    }
    let caches =
        Caches { l1: topology.cache_bytes(1), l2: topology.cache_bytes(2), l3: topology.cache_bytes(3) };
    walks(&mut survey, &mut report, caches, options);
    let huge_sizes =
        if options.full && options.huge.is_empty() { vec![2 << 20, 1 << 30] } else { options.huge.clone() };
    report.structures.extend(huge_rows(&mut survey, &huge_sizes, &report.structures, &claims));
    report.chunks = Chunks { own_lines, batches: std::mem::take(&mut survey.recording.batches) };
    drop(survey);
    if options.full && !hardware.interrupted() {
        let others: Vec<usize> =
            options.cpus.iter().copied().filter(|&other| i32::try_from(other) != Ok(cpu)).collect();
        match shootdowns(&hardware.sampler, &others) {
            Ok(rows) => report.shootdown = rows,
            Err(reason) => notes.push(format!("shoot-downs: {reason}")),
        }
        let miss = report.structures.first().and_then(|s| s.penalty_cycles).unwrap_or(7.0);
        let walk = report.walk.costs.first().and_then(|row| row.cycles).unwrap_or(20.0);
        match after_switch(&hardware.sampler, usize::try_from(cpu).ok(), miss, walk) {
            Ok(found) => report.context_switch = Some(found),
            Err(reason) => notes.push(format!("context switch: {reason}")),
        }
    }
    if hardware.sampler.dropped > 0 {
        notes.push(format!(
            "{} batches were taken again because the core clock moved",
            hardware.sampler.dropped
        ));
    }
    report.cpu = usize::try_from(cpu).ok();
    report.hypervisor = hypervisor;
    report.thp = root.chosen("/sys/kernel/mm/transparent_hugepage/enabled").ok();
    report.disturbance_per_ms = disturbed.map(|d| d.0);
    report.disturbance_ns = disturbed.map(|d| d.1);
    report.notes.extend(notes);
    report.seconds = started.elapsed().as_secs_f64();
    report
}

/// The stride series of the first level, and with `both` of the second.
fn strides<P: Probe>(survey: &mut Survey<P>, both: bool) {
    let curve = Curve::loads(&survey.recording, 1);
    let found = levels(&curve, 2);
    for (at, (step, level)) in steps(&curve).into_iter().zip(&found).enumerate() {
        if let Some(entries) = level.entries
            && (at == 0 || both)
        {
            survey.strides(&step, entries, STRIDE_THRESHOLD, if at == 0 { 256 } else { 1 << 15 });
        }
    }
}

/// The steps of the first two levels.
fn steps(curve: &Curve) -> Vec<Step> {
    let (coarse, plateaus) = grid_plateaus(curve);
    plateaus.windows(2).take(2).filter_map(|pair| Step::between(&coarse, &pair[0], &pair[1])).collect()
}

/// The knee of freshly faulted pages around the first level's.
fn coalescing<P: Probe>(survey: &mut Survey<P>) -> Option<Coalescing> {
    let curve = Curve::loads(&survey.recording, 1);
    let shared = levels(&curve, 1).first().and_then(|l| l.entries)?;
    let most = survey.recording.own_lines.min(shared * 5);
    survey.single(Chain::LoadDistinct, most, false);
    let own =
        levels(&Curve::of(&survey.recording, Chain::LoadDistinct, 1), 1).first().and_then(|l| l.entries);
    let coalesces = own.map(|own| f64::from(own) > 1.5 * f64::from(shared));
    Some(Coalescing { shared_frames: Some(shared), own_frames: own, coalesces })
}

fn walks(survey: &mut Survey<Hardware>, report: &mut Report, caches: Caches, options: &Options) {
    let last = report.structures.iter().find(|s| s.level == 2 && s.kind == Kind::Unified);
    let Some((entries, miss)) = last.and_then(|s| Some((s.entries?, s.penalty_cycles))) else {
        report.walk.reason = Some("the second level was not resolved".into());
        return;
    };
    if options.full {
        let curve = Curve::loads(&survey.recording, 1);
        let hit = steps(&curve).get(1).map_or(0.0, |s| s.low) + report.alias_cycles.unwrap_or(0.0);
        report.walk.costs = walk_costs(survey, LastLevel { entries, hit, miss }, caches);
        for row in &mut report.walk.costs {
            row.ns = row.cycles.map(|c| c * report.cycle_ns.0);
        }
    }
    match concurrent_walks(&mut survey.probe().sampler, entries, options.seed) {
        Ok(walk) => {
            let costs = std::mem::take(&mut report.walk.costs);
            report.walk = Walk { costs, ..walk };
        }
        Err(reason) => report.walk.reason = Some(reason),
    }
}

/// The report of a recording: pure, so that a stored one can be analysed again.
pub fn analyse(recording: &Recording, claims: &[Claim]) -> Report {
    let page = recording.page_bytes;
    let clocks: Vec<f64> = recording.batches.iter().map(|b| b.cycle_ns).collect();
    let fastest = clocks.iter().copied().fold(f64::MAX, f64::min);
    let slowest = clocks.iter().copied().fold(0.0, f64::max);
    let cycle_ns = crate::recording::median(&clocks);
    let curve = Curve::loads(recording, 1);
    let found = levels(&curve, 2);
    let steps = steps(&curve);
    let mut structures = Vec::new();
    for (at, level) in found.iter().enumerate() {
        let kind = if at == 0 { Kind::Load } else { Kind::Unified };
        let row = Structure::of(kind, at as u8 + 1, page, level, 0, cycle_ns, claims);
        let series = steps.get(at).zip(level.entries).map(|(step, entries)| series(recording, step, entries));
        let hidden = if at == 0 { None } else { found[0].entries };
        let sure = at == 0 && dependent_enough(level);
        structures.push(match series {
            Some(series) if series.len() > 1 => {
                row.organised(organisation(&series).and_then(|o| seen(o, hidden)), sure)
            }
            _ => row,
        });
    }
    if found.len() < 2 {
        let reason = "the curve has no third plateau".to_owned();
        structures.push(Structure::unresolved(Kind::Unified, 2, page, reason, claims));
    }
    structures.push(store_row(recording, cycle_ns, claims));
    structures.push(instruction_row(recording, cycle_ns, claims));
    Report {
        schema: 1,
        cpu_claimed: processor(),
        hypervisor: None,
        cpu: None,
        page_bytes: page,
        thp: None,
        disturbance_per_ms: None,
        disturbance_ns: None,
        cycle_ns: (fastest, slowest),
        alias_cycles: alias_cost(recording),
        structures,
        walk: Walk::default(),
        coalescing: None,
        shootdown: Vec::new(),
        context_switch: None,
        notes: neighbour(recording).into_iter().collect(),
        seconds: 0.0,
        curve: curve.points,
        chunks: Chunks::default(),
    }
}

/// What share of the batches had another hardware thread of the core beside them, when that is worth a line.
fn neighbour(recording: &Recording) -> Option<String> {
    let told: Vec<bool> = recording.batches.iter().filter_map(recording.quiet()).collect();
    let beside = told.iter().filter(|&&quiet| !quiet).count() as f64 / told.len().max(1) as f64;
    (beside > WORTH_A_LINE).then(|| {
        format!(
            "another hardware thread of this core took entries beside {:.0} % of the batches; where a point has others, \
             these do not count",
            100.0 * beside
        )
    })
}

/// A smaller share of disturbed batches is usual on any machine.
const WORTH_A_LINE: f64 = 0.1;

/// The ways of a level can't be counted where the level before holds as many pages as one set does: a chain over them
/// never gets past it.
fn seen(organisation: Organisation, before: Option<u32>) -> Result<Organisation, String> {
    match before {
        Some(before) if f64::from(organisation.ways) <= 1.15 * f64::from(before) => Err(format!(
            "the series ends at {} pages, which the first level of {before} entries holds alone: ways can't be counted",
            organisation.ways
        )),
        _ => Ok(organisation),
    }
}

/// Whether a miss costs what it does in a chain of dependent accesses.
fn dependent_enough(level: &Level) -> bool {
    level.penalty_cycles.is_some_and(|p| p >= DEPENDENT)
}

/// The groups of rounds put the level at the same place, whatever its shape.
fn agreed(level: &Level) -> bool {
    level.interval.is_some_and(|(least, most)| f64::from(most - least) <= 0.05 * f64::from(most))
}

fn series(recording: &Recording, step: &Step, entries: u32) -> Vec<(u32, f64)> {
    let mut series = vec![(1, f64::from(entries))];
    for power in 1..16 {
        match capacity(recording, 1 << power, step, STRIDE_THRESHOLD) {
            Some(found) => series.push((1 << power, found)),
            None => break,
        }
    }
    series
}

fn store_row(recording: &Recording, cycle_ns: f64, claims: &[Claim]) -> Structure {
    let curve = Curve::of(recording, Chain::Store, 1);
    let page = recording.page_bytes;
    match levels(&curve, 1).first() {
        Some(level) if !curve.points.is_empty() => {
            Structure::of(Kind::Store, 1, page, level, 0, cycle_ns, claims)
        }
        _ => Structure::unresolved(Kind::Store, 1, page, "no store chain was measured".into(), claims),
    }
}

fn instruction_row(recording: &Recording, cycle_ns: f64, claims: &[Claim]) -> Structure {
    let curve = Curve::of(recording, Chain::Instruction, 1);
    let control = Curve::of(recording, Chain::InstructionPacked, 1);
    let page = recording.page_bytes;
    if curve.points.is_empty() {
        let reason = "no jump chain was measured".into();
        return Structure::unresolved(Kind::Instruction, 1, page, reason, claims);
    }
    let found = levels(&curve, 1);
    let mut row = Structure::of(Kind::Instruction, 1, page, &found[0], 0, cycle_ns, claims);
    // The same jumps packed side by side must stay flat where the paged ones step.
    if let (Some(entries), Some(penalty), Some(next)) =
        (row.entries, row.penalty_cycles, found[0].next_plateau)
    {
        let before = control.level(4, entries);
        let after = control.level(next.0, next.1.min(entries * 3));
        if after - before > penalty / 3.0 {
            let reason = format!(
                "the same jumps packed in few pages slow down too, from {before:.1} to {after:.1} cycles: branch \
                 predictor or cache, not pages"
            );
            row = Structure::unresolved(Kind::Instruction, 1, page, reason, claims);
        } else if row.confidence == Confidence::Low && !dependent_enough(&found[0]) && !agreed(&found[0]) {
            let reason = format!(
                "disturbed: the step of {penalty:.1} cycles is small and the rounds do not agree where it is"
            );
            row = Structure::unresolved(Kind::Instruction, 1, page, reason, claims);
        }
    }
    row
}

fn chain_words(chain: Chain) -> &'static str {
    match chain {
        Chain::Load => "pointer chain",
        Chain::LoadAliased => "zero-page chain",
        Chain::LoadScattered => "scattered zero-page chain",
        Chain::LoadDistinct => "pointer chain on own pages",
        Chain::Store => "store chain",
        Chain::Instruction => "jump chain",
        Chain::InstructionPacked => "packed jump chain",
        Chain::Huge => "huge page chain",
        Chain::HugeSplinter => "splinter test",
    }
}

fn hypervisor(root: &Root) -> Option<String> {
    let flags = root.contents("/proc/cpuinfo").ok()?;
    let present = flags.lines().any(|l| l.starts_with("flags") && l.split(' ').any(|f| f == "hypervisor"));
    present.then(|| {
        root.text("/sys/hypervisor/type")
            .or_else(|_| root.text("/sys/class/dmi/id/sys_vendor"))
            .unwrap_or_else(|_| "a hypervisor".into())
    })
}
