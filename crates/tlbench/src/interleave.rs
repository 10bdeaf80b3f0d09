//! Several states of this machine in blocks: every state once per block, in a drawn and balanced order.

use std::io::Write;
use std::time::{Duration, Instant};

use harness::{Benchmark, Ended, Interrupt, Pace, Session, block_order};
use record::{Footer, Header, Line, Plan, PlannedBenchmark, Record, SCHEMA, Status};
use report::compare::{Gathered, Named, Rules, gather};
use serde_json::{Map, Value, json};
use stats::Report;

use crate::output::Output;
use crate::state::State;
use crate::terminal;

/// Share of the budget after which the first state's warm-up pass of a design that fits itself tries nothing more.
const MOST_WARM_UP: f64 = 0.1;

/// What is planned.
pub struct Design<'a> {
    /// `ab` or `aa`.
    pub kind: &'static str,
    /// States, the base first.
    pub states: Vec<State>,
    /// What is measured in each.
    pub benchmarks: Vec<&'a Benchmark>,
    /// Looks of a sequential plan; empty for a fixed number of blocks.
    pub looks: Vec<u32>,
    /// Blocks at most.
    pub blocks: u32,
    /// All blocks are measured, whatever the budget.
    pub exactly: bool,
    /// Blocks that must fit into the budget; slices are sized for them.
    pub blocks_in_budget: u32,
    /// Wall-clock budget.
    pub budget: Duration,
    /// Longest slice of a benchmark of weight 1.
    pub longest: Duration,
    /// Stop measuring what is decided.
    pub stop_when_decided: bool,
    /// After the warm-up pass leave out the dearest benchmarks until the blocks fit into the budget.
    pub fit: bool,
}

/// What came of it.
pub struct Interleaved {
    /// The record as written.
    pub record: Record,
    /// The numbers and the verdicts at the last look.
    pub gathered: Gathered,
    /// The verdicts.
    pub report: Report,
    /// Blocks that were finished.
    pub blocks: u32,
    /// Seconds a block took on average.
    pub seconds_per_block: f64,
    /// The signal that ended it early.
    pub interrupt: Option<Interrupt>,
    /// Lines with status failed or timeout.
    pub failed: usize,
}

/// The header of an interleaved run.
pub fn header(design: &Design<'_>, session: &Session, environment: Value) -> Header {
    let names: Vec<String> = design.states.iter().map(|state| state.name.clone()).collect();
    let states: Vec<Value> = design
        .states
        .iter()
        .map(|s| json!({"name": s.name, "set_up": s.set_up, "undo": s.undo, "environment": s.variant.environment, "program": s.variant.program}))
        .collect();
    let mut extra = Map::new();
    extra.insert("states".into(), json!(states));
    extra.insert("clock".into(), json!(session.clock));
    extra.insert("cycle_ns".into(), json!(session.cycle_ns));
    let planned = |b: &&Benchmark| PlannedBenchmark { name: b.name.clone(), metrics: b.metrics() };
    Header {
        schema: SCHEMA,
        tool: concat!("tlbench ", env!("CARGO_PKG_VERSION")).into(),
        started: jiff::Timestamp::now().to_string(),
        label: names.join(" against "),
        plan: Plan {
            kind: design.kind.into(),
            seed: Some(session.seed),
            blocks: Some(design.blocks),
            budget_s: Some(design.budget.as_secs_f64()),
            configurations: names,
            benchmarks: design.benchmarks.iter().map(planned).collect(),
            looks: design.looks.clone(),
            alpha: Some(if design.looks.is_empty() { 0.05 } else { 0.01 }),
            controlled_order: true,
            extra,
        },
        environment,
        extra: Map::new(),
    }
}

/// Measures the design into `output`, whose header is written, and decides by `rules` and `options`.
pub fn measure(
    design: &Design<'_>,
    mut session: Session,
    header: Header,
    output: &mut Output,
    rules: &Rules<'_>,
    options: &stats::Options,
) -> anyhow::Result<Interleaved> {
    let started = Instant::now();
    output.line(&Line::Header(Box::new(header.clone())))?;
    let mut record = Record { header, warmup: vec![], invocations: vec![], footer: None, skipped: vec![] };
    let per_state: Vec<f64> = design.benchmarks.iter().map(|b| b.weight).collect();
    let weights: Vec<f64> = design.states.iter().flat_map(|_| per_state.clone()).collect();
    let pace = Pace::new(design.budget, design.blocks_in_budget, design.longest, weights);
    let bar = terminal::progress(u64::from(design.blocks_in_budget + 1));
    let mut turns = Turns {
        design,
        session: &mut session,
        pace,
        failed: 0,
        decided: vec![false; design.benchmarks.len()],
        left_out: vec![false; design.benchmarks.len()],
        started,
        trying: design.fit,
    };
    let mut interrupted = turns.block(0, output, &mut record)?;
    bar.inc(1);
    let warm = started.elapsed().as_secs_f64();
    if design.fit {
        turns.fit(warm);
    }
    let left_out = turns.left_out.iter().filter(|&&out| out).count();
    if left_out > 0 {
        say(&bar, &format!("{left_out} benchmarks left out, the dearest: the others fit into the budget"));
    }
    say(
        &bar,
        &format!(
            "{} states, {} benchmarks; about {:.0} s for {} blocks",
            design.states.len(),
            design.benchmarks.len() - left_out,
            turns.pace.estimate(1, warm),
            design.blocks_in_budget
        ),
    );
    let (mut block, mut judged) = (0, None);
    while !interrupted && block < design.blocks {
        // The next look must fit into what is left of the budget; blocks between looks change no verdict.
        let used = started.elapsed().as_secs_f64();
        let per_block = if block == 0 { 0.0 } else { (used - warm) / f64::from(block) };
        if !design.exactly && used + per_block > design.budget.as_secs_f64() && block > 0 {
            break;
        }
        bar.set_message(format!("block {} of at most {}", block + 1, design.blocks));
        bar.tick();
        interrupted = turns.block(block + 1, output, &mut record)?;
        if interrupted {
            break;
        }
        block += 1;
        bar.inc(1);
        if design.looks.contains(&block) {
            let (gathered, report) = judge(&record, rules, options);
            for (comparison, other) in report.comparisons.iter().zip(1..) {
                let names = (&design.states[0].name, &design.states[other].name);
                let sentence = report::compare::sentence(comparison, names.0, names.1, true);
                say(&bar, &format!("after {block} blocks: {sentence}"));
            }
            turns.mark_decided(&gathered, &report);
            let all = turns.decided.iter().all(|&decided| decided);
            judged = Some((gathered, report));
            if design.stop_when_decided && all {
                break;
            }
        }
    }
    bar.finish_and_clear();
    let failed = turns.failed;
    let interrupt = session.interrupted();
    let seconds_per_block = (started.elapsed().as_secs_f64() - warm) / f64::from(block.max(1));
    let mut extra = Map::new();
    extra.insert("blocks".into(), json!(block));
    extra.insert("seconds".into(), json!(started.elapsed().as_secs_f64()));
    let footer = Footer { ended: jiff::Timestamp::now().to_string(), complete: interrupt.is_none(), extra };
    output.line(&Line::Footer(footer.clone()))?;
    record.footer = Some(footer);
    let (gathered, report) = match judged {
        Some(at_last_look) if design.looks.contains(&block) => at_last_look,
        _ => judge(&record, rules, options),
    };
    Ok(Interleaved { record, gathered, report, blocks: block, seconds_per_block, interrupt, failed })
}

fn say(bar: &indicatif::ProgressBar, text: &str) {
    bar.suspend(|| {
        let _ = writeln!(std::io::stderr(), "{text}");
    });
}

fn judge(record: &Record, rules: &Rules<'_>, options: &stats::Options) -> (Gathered, Report) {
    let gathered = gather(&[Named { file: String::new(), record: record.clone() }], rules);
    let pairs: Vec<(usize, usize)> =
        (1..gathered.table.configurations.len()).map(|other| (0, other)).collect();
    let report = stats::compare(&gathered.table, &pairs, options);
    (gathered, report)
}

/// The state of the blocks being measured.
struct Turns<'d, 'a> {
    design: &'d Design<'a>,
    session: &'d mut Session,
    pace: Pace,
    failed: usize,
    decided: Vec<bool>,
    left_out: Vec<bool>,
    started: Instant,
    /// The first pass of a design that fits itself: it ends when it has taken its share of the budget.
    trying: bool,
}

impl Turns<'_, '_> {
    /// Leaves out the dearest benchmarks until the planned blocks leave time for samples. One always stays.
    fn fit(&mut self, elapsed: f64) {
        let (states, count) = (self.design.states.len(), self.design.benchmarks.len());
        let leave_out = |turns: &mut Self, index: usize| {
            turns.left_out[index] = true;
            (0..states).for_each(|s| turns.pace.forget(s * count + index));
        };
        // Not tried: the warm-up pass ended before.
        for index in (0..count).filter(|&i| self.left_out[i]).collect::<Vec<_>>() {
            leave_out(self, index);
        }
        let cost = |index: usize| -> f64 { (0..states).map(|s| self.pace.least(s * count + index)).sum() };
        let mut tried: Vec<usize> = (0..count).filter(|&i| !self.left_out[i]).collect();
        tried.sort_by(|&a, &b| cost(b).total_cmp(&cost(a)));
        for &dearest in &tried[..tried.len().saturating_sub(1)] {
            if !self.pace.is_crowded(elapsed) {
                break;
            }
            leave_out(self, dearest);
        }
    }

    /// One block: every state once. Block 0 is the warm-up pass. True when the user interrupted.
    fn block(&mut self, block: u32, output: &mut Output, record: &mut Record) -> anyhow::Result<bool> {
        let elapsed = self.started.elapsed().as_secs_f64();
        let mut slot = 0;
        for state in self.order_of_states(block) {
            let entered = &self.design.states[state];
            entered.enter(self.session)?;
            let turn = self.turn(state, block, &mut slot, elapsed, output, record);
            self.trying = false;
            entered.leave(self.session)?;
            if turn? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Every state of the design in the order of `block`: drawn for odd blocks, reversed in the even one after, so that
    /// each state is as often early as late.
    fn order_of_states(&self, block: u32) -> Vec<usize> {
        let pair = block.div_ceil(2);
        let mut order = block_order(self.session.seed ^ 0x5eed, pair, self.design.states.len());
        if block.is_multiple_of(2) {
            order.reverse();
        }
        order
    }

    fn turn(
        &mut self,
        state: usize,
        block: u32,
        slot: &mut u32,
        elapsed: f64,
        output: &mut Output,
        record: &mut Record,
    ) -> anyhow::Result<bool> {
        let count = self.design.benchmarks.len();
        // The same order of benchmarks in every state of a block: what runs before a benchmark is the same too.
        for index in block_order(self.session.seed, block, count) {
            if self.trying && self.started.elapsed() > self.design.budget.mul_f64(MOST_WARM_UP) {
                self.left_out[index] = true;
            }
            if self.left_out[index] || (self.decided[index] && self.design.stop_when_decided) {
                continue;
            }
            let weight = state * count + index;
            let slice = if block == 0 {
                self.pace.warmup_slice(weight)
            } else {
                self.pace.slice(weight, block, elapsed)
            };
            let variant = &self.design.states[state].variant;
            let invoked = self.session.invoke(self.design.benchmarks[index], variant, slice, block, *slot);
            *slot += 1;
            self.pace.learn(weight, invoked.seconds, slice);
            if matches!(invoked.ended, Some(Ended::Interrupted(_))) {
                return Ok(true);
            }
            for line in invoked.lines {
                self.failed += usize::from(matches!(line.status, Status::Failed | Status::Timeout));
                if block == 0 {
                    output.line(&Line::Warmup(Box::new(line.clone())))?;
                    record.warmup.push(line);
                } else {
                    output.line(&Line::Invocation(Box::new(line.clone())))?;
                    record.invocations.push(line);
                }
            }
        }
        Ok(self.session.interrupted().is_some())
    }

    /// Marks benchmarks all of whose metrics are decided in every comparison.
    fn mark_decided(&mut self, gathered: &Gathered, report: &Report) {
        let decided = stats::stopping::decided(&report.comparisons);
        for (benchmark, done) in self.design.benchmarks.iter().zip(&mut self.decided) {
            let names: Vec<String> = benchmark.metrics().into_iter().map(|m| m.name).collect();
            let mut own =
                gathered.table.metrics.iter().zip(&decided).filter(|(m, _)| names.contains(&m.name));
            *done = own.all(|(_, decided)| *decided);
        }
    }
}
