//! The main job: a plan, a warm-up pass, blocks in drawn order, a record.

use std::io::Write;
use std::time::{Duration, Instant};

use harness::{Benchmark, Ended, Interrupt, Invoked, Pace, Session, Variant, block_order};
use indicatif::ProgressBar;
use record::{Footer, Header, Line, Plan, PlannedBenchmark, Record, SCHEMA, Status};
use serde_json::{Map, Value, json};

use crate::output::Output;
use crate::terminal;

/// How thorough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Three short blocks.
    Quick,
    /// Six blocks.
    Default,
    /// Twelve long blocks.
    Full,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Mode::Quick => "quick",
            Mode::Default => "default",
            Mode::Full => "full",
        }
    }

    fn blocks(self) -> u32 {
        match self {
            Mode::Quick => 3,
            Mode::Default => 6,
            Mode::Full => 12,
        }
    }

    /// Budget per unit of benchmark weight, and the most for a whole run, seconds.
    fn budget(self) -> (f64, f64) {
        match self {
            Mode::Quick => (0.11, 28.0),
            Mode::Default => (0.75, 170.0),
            Mode::Full => (5.0, 1500.0),
        }
    }

    fn longest_slice(self) -> Duration {
        Duration::from_millis(match self {
            Mode::Quick => 30,
            Mode::Default => 110,
            Mode::Full => 400,
        })
    }
}

/// A planned run.
pub struct Run<'a> {
    /// First line of its record.
    pub header: Header,
    session: Session,
    benchmarks: Vec<&'a Benchmark>,
    blocks: u32,
    target: Option<f64>,
    budget: Duration,
    pace: Pace,
    done: Vec<(u32, String)>,
    record: Record,
    failed: usize,
    resumed: bool,
    /// Why the remote peer can't be measured against any more.
    lost_peer: Option<String>,
}

/// What a run leaves for the screen.
pub struct RunEnd {
    /// The record as written.
    pub record: Record,
    /// The signal that ended it early.
    pub interrupt: Option<Interrupt>,
    /// Lines with status failed or timeout.
    pub failed: usize,
    /// Whether everything planned was measured.
    pub complete: bool,
    /// What the user must know: what voids the run, kernel warnings.
    pub complaints: Vec<String>,
}

impl<'a> Run<'a> {
    /// Makes the plan.
    #[allow(clippy::too_many_arguments)]
    pub fn plan(
        session: Session,
        benchmarks: Vec<&'a Benchmark>,
        mode: Mode,
        blocks: Option<u32>,
        budget: Option<Duration>,
        target: Option<f64>,
        label: String,
        environment: Value,
    ) -> Self {
        let blocks = blocks.unwrap_or(mode.blocks());
        let weights: Vec<f64> = benchmarks.iter().map(|b| b.weight).collect();
        let (per_weight, most) = mode.budget();
        let scaled = per_weight * weights.iter().sum::<f64>() * f64::from(blocks) / f64::from(mode.blocks());
        let paced = Duration::from_secs_f64(scaled.clamp(0.5, most)).min(budget.unwrap_or(Duration::MAX));
        // Without a target a given budget is used up; with one, what the planned blocks leave is for further ones.
        let (paced, budget) = match (target, budget) {
            (None, Some(given)) => (given, given),
            (None, None) => (paced, paced),
            (Some(_), given) => (paced, given.unwrap_or(paced * 4)),
        };
        let mut extra = Map::new();
        extra.insert("mode".into(), json!(mode.name()));
        extra.insert("target_pct".into(), json!(target.map(|t| t * 100.0)));
        extra.insert("clock".into(), json!(session.clock));
        extra.insert("cycle_ns".into(), json!(session.cycle_ns));
        extra.insert("allowed_cpus".into(), json!(session.topology.allowed));
        let plan = Plan {
            kind: "run".into(),
            seed: Some(session.seed),
            blocks: Some(blocks),
            budget_s: Some(budget.as_secs_f64()),
            configurations: vec![label.clone()],
            benchmarks: benchmarks
                .iter()
                .map(|b| PlannedBenchmark { name: b.name.clone(), metrics: b.metrics() })
                .collect(),
            controlled_order: false,
            extra,
            ..Plan::default()
        };
        let header = Header {
            schema: SCHEMA,
            tool: concat!("tlbench ", env!("CARGO_PKG_VERSION")).into(),
            started: jiff::Timestamp::now().to_string(),
            label,
            plan,
            environment,
            extra: Map::new(),
        };
        let record = Record {
            header: header.clone(),
            warmup: vec![],
            invocations: vec![],
            footer: None,
            skipped: vec![],
        };
        let pace = Pace::new(paced, blocks, mode.longest_slice(), weights);
        Run {
            header,
            session,
            benchmarks,
            blocks,
            target,
            budget,
            pace,
            done: vec![],
            record,
            failed: 0,
            resumed: false,
            lost_peer: None,
        }
    }

    /// Takes over what an interrupted record already holds.
    pub fn resume(&mut self, record: &Record) {
        for line in record.warmup.iter().chain(&record.invocations) {
            if let Some(iterations) = line.iterations {
                self.session.know_iterations(&line.metric, iterations);
            }
        }
        self.blocks = record.header.plan.blocks.unwrap_or(self.blocks);
        self.done = record
            .invocations
            .iter()
            .filter(|line| line.reason.as_deref() != Some("interrupted"))
            .filter_map(|line| Some((line.block?, line.metric.clone())))
            .collect();
        self.record = record.clone();
        self.record.footer = None;
        self.resumed = true;
    }

    /// Measures: header, warm-up pass, blocks, footer.
    pub fn measure(mut self, output: &mut Output) -> anyhow::Result<RunEnd> {
        let watch = environment::KernelWatch::start(&environment::Root::host());
        let started = Instant::now();
        if !self.resumed {
            output.line(&Line::Header(Box::new(self.header.clone())))?;
        }
        let bar = terminal::progress(self.benchmarks.len() as u64 * u64::from(self.blocks + 1));
        self.warm_up(output, &bar)?;
        let estimate = self.pace.estimate(1, started.elapsed().as_secs_f64());
        let count = self.benchmarks.iter().map(|b| b.metrics().len()).sum::<usize>();
        let clock = &self.session.clock;
        bar.suspend(|| {
            let _ = writeln!(
                std::io::stderr(),
                "{count} metrics, {} blocks, about {estimate:.0} s in all; clock {}: {:.1} ns a stamp, {:.2} ns steps",
                self.blocks,
                clock.name(),
                clock.cost_ns,
                clock.resolution_ns
            );
        });
        let mut block = 1;
        while block <= self.blocks && !self.is_over() {
            self.block(block, None, output, &bar, started)?;
            block += 1;
        }
        while let Some(wide) = self.still_wide(started) {
            if self.is_over() {
                break;
            }
            self.block(block, Some(&wide), output, &bar, started)?;
            block += 1;
        }
        bar.finish_and_clear();
        self.end(output, watch, started)
    }

    fn warm_up(&mut self, output: &mut Output, bar: &ProgressBar) -> anyhow::Result<()> {
        for index in 0..self.benchmarks.len() {
            if self.is_over() {
                break;
            }
            let benchmark = self.benchmarks[index];
            bar.set_message(format!("warm-up: {}", benchmark.name));
            bar.tick();
            let slice = self.pace.warmup_slice(index);
            let invoked = self.session.invoke(benchmark, &Variant::default(), slice, 0, index as u32);
            self.pace.learn(index, invoked.seconds, slice);
            self.look_after_peer(benchmark, &invoked);
            if invoked.lines.iter().all(|line| line.status == Status::Skipped && line.samples.is_none()) {
                self.pace.drop_out(index);
            }
            for line in invoked.lines {
                output.line(&Line::Warmup(Box::new(line.clone())))?;
                self.record.warmup.push(line);
            }
            bar.inc(1);
        }
        Ok(())
    }

    /// One block of all benchmarks, or of those in `only`.
    fn block(
        &mut self,
        block: u32,
        only: Option<&[String]>,
        output: &mut Output,
        bar: &ProgressBar,
        started: Instant,
    ) -> anyhow::Result<()> {
        let at_start = started.elapsed().as_secs_f64();
        for (slot, index) in
            block_order(self.session.seed, block, self.benchmarks.len()).into_iter().enumerate()
        {
            let benchmark = self.benchmarks[index];
            let wanted = only.is_none_or(|names| names.contains(&benchmark.name));
            if !wanted || self.is_done(block, benchmark) {
                bar.inc(1);
                continue;
            }
            let left = self.pace.estimate(block, at_start) - started.elapsed().as_secs_f64();
            bar.set_message(format!("block {block}: {}, {:.0} s left", benchmark.name, left.max(0.0)));
            bar.tick();
            let slice = self.pace.slice(index, block, at_start);
            let invoked = self.session.invoke(benchmark, &Variant::default(), slice, block, slot as u32);
            self.pace.learn(index, invoked.seconds, slice);
            let interrupted = matches!(invoked.ended, Some(Ended::Interrupted(_)));
            if interrupted {
                return Ok(());
            }
            self.look_after_peer(benchmark, &invoked);
            self.keep(invoked, output)?;
            bar.inc(1);
            if self.lost_peer.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Whether to stop early: interrupted, or the remote peer is lost.
    fn is_over(&self) -> bool {
        self.session.interrupted().is_some() || self.lost_peer.is_some()
    }

    /// After a failure against the remote peer, looks whether it is still there; without it each further benchmark would
    /// only wait for its time limit.
    fn look_after_peer(&mut self, benchmark: &Benchmark, invoked: &Invoked) {
        let failed = |line: &record::Invocation| matches!(line.status, Status::Failed | Status::Timeout);
        if let Some(peer) = &self.session.remote
            && benchmark.remote
            && invoked.lines.iter().any(failed)
        {
            self.lost_peer = suite::net::reach(peer).err().map(|error| error.to_string());
        }
    }

    fn is_done(&self, block: u32, benchmark: &Benchmark) -> bool {
        benchmark
            .metrics()
            .iter()
            .all(|metric| self.done.iter().any(|(b, name)| *b == block && *name == metric.name))
    }

    fn keep(&mut self, invoked: Invoked, output: &mut Output) -> anyhow::Result<()> {
        for line in invoked.lines {
            self.failed += usize::from(matches!(line.status, Status::Failed | Status::Timeout));
            output.line(&Line::Invocation(Box::new(line.clone())))?;
            self.record.invocations.push(line);
        }
        Ok(())
    }

    /// Benchmarks whose interval is still wider than the target, while there is time.
    fn still_wide(&self, started: Instant) -> Option<Vec<String>> {
        let target = self.target?;
        if started.elapsed() >= self.budget {
            return None;
        }
        let rows = report::rows(&self.record);
        let wide = |b: &&&Benchmark| {
            b.declared.iter().any(|d| {
                rows.iter().find(|row| row.metric == d.metric.name).is_some_and(|row| {
                    match (row.value, row.half_width()) {
                        (Some(value), Some(half)) => half / value > target,
                        _ => false,
                    }
                })
            })
        };
        let wide: Vec<String> = self.benchmarks.iter().filter(wide).map(|b| b.name.clone()).collect();
        (!wide.is_empty()).then_some(wide)
    }

    fn end(
        mut self,
        output: &mut Output,
        watch: environment::KernelWatch,
        started: Instant,
    ) -> anyhow::Result<RunEnd> {
        let interrupt = self.session.interrupted();
        let report = watch.finish();
        let mut extra = Map::new();
        extra.insert("seconds".into(), json!(started.elapsed().as_secs_f64()));
        extra.insert("kernel".into(), json!(report));
        let mut complaints = Vec::new();
        if let Some(why) = report.void_reason() {
            extra.insert("void".into(), json!(why));
            complaints.push(format!("this run is void: {why}"));
        }
        if let Some(interrupt) = interrupt {
            extra.insert("ended_by".into(), json!(format!("signal {}", interrupt.0)));
            complaints
                .push("interrupted; what was measured is in the record (finish it with run --resume)".into());
        }
        if let Some(lost) = &self.lost_peer {
            extra.insert("ended_by".into(), json!(format!("the remote peer was lost: {lost}")));
            complaints.push(format!("ended early: the remote peer was lost: {lost}"));
        }
        let complete = !self.is_over();
        let footer = Footer { ended: jiff::Timestamp::now().to_string(), complete, extra };
        output.line(&Line::Footer(footer.clone()))?;
        self.record.footer = Some(footer);
        Ok(RunEnd { record: self.record, interrupt, failed: self.failed, complete, complaints })
    }
}
