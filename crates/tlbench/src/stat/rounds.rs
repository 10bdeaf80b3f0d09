//! Blocks of runs: every command once per block, in drawn and balanced order, until enough is known.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::{Duration, Instant};

use harness::{Interrupt, RunEnd, block_order};
use record::{Footer, Header, Line, Metric, Record};
use report::compare::{Gathered, Named, Rules, gather};
use serde_json::{Map, json};
use stats::Report;

use super::hooks::Hooks;
use super::lines::{Limits, lines, split_is_coarse};
use super::runner::{Run, Runner, failure};
use super::subject::Subject;
use crate::output::Output;
use crate::terminal;

/// How many blocks, until when.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Blocks at most; exactly that many without looks.
    pub blocks: u32,
    /// Looks of a sequential plan; empty for a fixed number of blocks.
    pub looks: Vec<u32>,
    /// Blocks before the first, measured but never used.
    pub warmup: u32,
    /// No further block is begun that would not end by then; `None` for as long as it takes.
    pub max_time: Option<Duration>,
    /// Runs of each command in a block at most: as many as fit into [`LONG_ENOUGH`]. 1 where the user gave the number.
    pub most_turns: u32,
}

/// A block of short commands is made of several turns, until it takes about so long: the value of a block is the mean
/// over its turns, and a run that a neighbour disturbed is one of many.
const LONG_ENOUGH: Duration = Duration::from_secs(2);

/// A kept run and its block.
pub struct Kept {
    /// Block, from 1.
    pub block: u32,
    /// The run.
    pub run: Run,
}

/// What came of it.
pub struct Rounds {
    /// The record as written.
    pub record: Record,
    /// Runs of each subject, failures included, in the order taken.
    pub runs: Vec<Vec<Kept>>,
    /// Blocks finished.
    pub blocks: u32,
    /// Turns begun in them.
    turns: u32,
    /// The signal that ended it early.
    pub interrupt: Option<Interrupt>,
    /// Why the commands can't be compared: what they printed differs.
    pub not_comparable: Vec<String>,
    /// Runs that failed.
    pub failed: usize,
    /// Whether a run was too short for its split into user and system time.
    coarse_split: bool,
}

/// Everything that stays the same over the blocks.
pub struct Sitting<'a> {
    /// The commands.
    pub subjects: &'a [Subject],
    /// Shell commands around the runs.
    pub hooks: &'a Hooks,
    /// What is measured.
    pub metrics: &'a [Metric],
    /// Those of them that can't be counted here.
    pub refused: &'a BTreeSet<String>,
    /// What can be stated.
    pub limits: Limits,
    /// When to stop.
    pub schedule: Schedule,
    /// How verdicts are reached at looks.
    pub rules: &'a Rules<'a>,
    /// The same.
    pub options: &'a stats::Options,
}

impl Sitting<'_> {
    /// Sets up, measures into `output` (whose header this writes), cleans up.
    pub fn measure(
        &self,
        runner: &mut Runner<'_>,
        header: Header,
        output: &mut Output,
    ) -> anyhow::Result<Rounds> {
        output.line(&Line::Header(Box::new(header.clone())))?;
        let mut rounds = Rounds {
            record: Record { header, warmup: vec![], invocations: vec![], footer: None, skipped: vec![] },
            runs: self.subjects.iter().map(|_| Vec::new()).collect(),
            blocks: 0,
            turns: 0,
            interrupt: None,
            not_comparable: Vec::new(),
            failed: 0,
            coarse_split: false,
        };
        let mut set_up = 0;
        let done = self.blocks(runner, output, &mut rounds, &mut set_up);
        let cleaned = self.hooks.clean_up(runner, &self.subjects[..set_up]);
        rounds.interrupt = runner.signals.interrupted();
        done?;
        cleaned?;
        let mut extra = Map::new();
        extra.insert("blocks".into(), json!(rounds.blocks));
        let complete = rounds.interrupt.is_none();
        let footer = Footer { ended: jiff::Timestamp::now().to_string(), complete, extra };
        output.line(&Line::Footer(footer.clone()))?;
        rounds.record.footer = Some(footer);
        Ok(rounds)
    }

    fn blocks(
        &self,
        runner: &mut Runner<'_>,
        output: &mut Output,
        rounds: &mut Rounds,
        set_up: &mut usize,
    ) -> anyhow::Result<()> {
        for which in 0..self.subjects.len() {
            *set_up = which + 1;
            self.hooks.set_up(runner, self.subjects, which)?;
        }
        let bar = terminal::progress(u64::from(self.schedule.warmup + self.schedule.blocks));
        // The quickest turn so far: the first one reads its files from the disk.
        let mut least = Duration::MAX;
        for _ in 0..self.schedule.warmup {
            let started = Instant::now();
            if self.block(runner, (0, 1), output, rounds)? {
                return Ok(());
            }
            least = least.min(started.elapsed());
            bar.inc(1);
        }
        let started = Instant::now();
        for block in 1..=self.schedule.blocks {
            let elapsed = started.elapsed();
            let next = elapsed + elapsed / block.saturating_sub(1).max(1);
            if block > 1 && self.schedule.max_time.is_some_and(|most| next > most) {
                break;
            }
            bar.set_message(format!("block {block} of at most {}", self.schedule.blocks));
            bar.tick();
            let turns = self.turns(least);
            let begun = Instant::now();
            if self.block(runner, (block, turns), output, rounds)? {
                break;
            }
            least = least.min(begun.elapsed() / turns);
            rounds.blocks = block;
            bar.inc(1);
            if self.schedule.looks.contains(&block) && self.look(rounds, &bar) {
                break;
            }
        }
        bar.finish_and_clear();
        Ok(())
    }

    /// One block: every command once per turn. Block 0 is warm-up. True when the user interrupted.
    fn block(
        &self,
        runner: &mut Runner<'_>,
        (block, turns): (u32, u32),
        output: &mut Output,
        rounds: &mut Rounds,
    ) -> anyhow::Result<bool> {
        let (first, seed) = (rounds.turns + 1, runner.seed);
        if block > 0 {
            rounds.turns += turns;
        }
        let orders = (first..first + turns).flat_map(|turn| self.order(seed, turn));
        for (slot, which) in (0..).zip(orders) {
            let subject = &self.subjects[which];
            self.hooks.prepare(runner, subject)?;
            if runner.signals.interrupted().is_some() {
                return Ok(true);
            }
            let run = runner.run(subject, block, slot)?;
            self.hooks.conclude(runner, subject)?;
            if matches!(run.finished.end, RunEnd::Interrupted(_)) {
                return Ok(true);
            }
            rounds.coarse_split |= split_is_coarse(&run, &self.limits);
            let mut written = Vec::with_capacity(self.metrics.len());
            // What can't be counted at all is said once.
            let said = block > 1 || slot as usize >= self.subjects.len();
            let metrics = self.metrics.iter().filter(|metric| !(said && self.refused.contains(&metric.name)));
            for mut line in lines(&run, metrics, &self.limits, rounds.coarse_split) {
                line.block = Some(block);
                line.slot = Some(slot);
                line.configuration = Some(subject.name.clone());
                let line = Box::new(line);
                written.push(if block == 0 { Line::Warmup(line) } else { Line::Invocation(line) });
            }
            output.lines(&written)?;
            for line in written {
                match line {
                    Line::Warmup(line) => rounds.record.warmup.push(*line),
                    Line::Invocation(line) => rounds.record.invocations.push(*line),
                    _ => {}
                }
            }
            if block > 0 {
                rounds.keep(which, block, run, subject, self.limits.ignore_failure);
            }
        }
        Ok(runner.signals.interrupted().is_some())
    }

    /// How many turns a block has when one takes `least`.
    fn turns(&self, least: Duration) -> u32 {
        let fit = LONG_ENOUGH.as_secs_f64() / least.as_secs_f64();
        (fit as u32).clamp(1, self.schedule.most_turns)
    }

    /// The order of a turn, from 1 on: drawn for odd ones, reversed in the even one after, so that each command is as
    /// often early as late.
    fn order(&self, seed: u64, turn: u32) -> Vec<usize> {
        let mut order = block_order(seed ^ 0x57a7, turn.div_ceil(2), self.subjects.len());
        if turn.is_multiple_of(2) {
            order.reverse();
        }
        order
    }

    /// Looks at what there is; true when all that counts is decided.
    fn look(&self, rounds: &Rounds, bar: &indicatif::ProgressBar) -> bool {
        let (gathered, report) = rounds.judge(self.rules, self.options);
        for (comparison, other) in report.comparisons.iter().zip(1..) {
            let names = (&self.subjects[0].name, &self.subjects[other].name);
            let sentence = report::compare::sentence(comparison, names.0, names.1, true);
            bar.suspend(|| {
                let _ = writeln!(std::io::stderr(), "after {} blocks: {sentence}", rounds.blocks);
            });
        }
        let decided = stats::stopping::decided(&report.comparisons);
        let measured = |cells: &[stats::Cell]| cells.iter().any(|cell| !cell.observations.is_empty());
        let mut that_count =
            gathered.table.metrics.iter().zip(decided).filter(|(m, _)| m.gated && measured(&m.cells));
        that_count.all(|(_, decided)| decided)
    }
}

impl Rounds {
    fn keep(&mut self, which: usize, block: u32, run: Run, subject: &Subject, ignore_failure: bool) {
        if let Some(how) = failure(&run.finished.end, ignore_failure) {
            self.failed += 1;
            if self.failed == 1 {
                let said = String::from_utf8_lossy(&run.finished.complaint);
                eprintln!("tlbench: `{}`: {how}; {}", subject.command, said_or_nothing(&said));
            }
        } else if let Some(printed) = run.output {
            let first = self.runs.iter().flatten().find_map(|kept| kept.run.output);
            if first.is_some_and(|first| first != printed) && self.not_comparable.is_empty() {
                self.not_comparable
                    .push(format!("`{}` printed something else than the first run", subject.command));
            }
        }
        self.runs[which].push(Kept { block, run });
    }

    /// The exit code of a single command, of which there is no verdict.
    pub fn exit_code_alone(&self) -> u8 {
        match (&self.not_comparable[..], self.failed) {
            // As of a comparison (docs/exit-codes.md).
            ([_, ..], _) => 4,
            ([], 0) => 0,
            ([], _) => 1,
        }
    }

    /// Commands of which no run was good.
    fn all_failed(&self) -> Vec<String> {
        let lines = &self.record.invocations;
        let is_good = |name: &&String| {
            lines.iter().any(|line| line.configuration.as_ref() == Some(name) && line.value.is_some())
        };
        let names = self.record.header.plan.configurations.iter();
        names.filter(|name| !is_good(name)).map(|name| format!("every run of `{name}` failed")).collect()
    }

    /// Verdicts on what there is, every command against the first.
    pub fn judge(&self, rules: &Rules<'_>, options: &stats::Options) -> (Gathered, Report) {
        // A metric without any value has no verdict and no place in the table; why is said below it.
        let mut record = self.record.clone();
        let measured: BTreeSet<String> = record
            .invocations
            .iter()
            .filter(|line| line.value.is_some())
            .map(|line| line.metric.clone())
            .collect();
        record.invocations.retain(|line| measured.contains(&line.metric));
        let mut gathered = gather(&[Named { file: String::new(), record }], rules);
        let pairs: Vec<(usize, usize)> =
            (1..gathered.table.configurations.len()).map(|other| (0, other)).collect();
        gathered.not_comparable.extend(self.not_comparable.iter().cloned());
        gathered.not_comparable.extend(self.all_failed());
        let mut options = options.clone();
        options.not_comparable.extend(gathered.not_comparable.iter().cloned());
        let report = stats::compare(&gathered.table, &pairs, &options);
        (gathered, report)
    }
}

/// Lines of a failed command's standard error that are shown.
const MOST_SAID: usize = 3;

fn said_or_nothing(said: &str) -> String {
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    match lines.len() {
        0 => "it said nothing on standard error".into(),
        n => format!("it said: {}", lines[n.saturating_sub(MOST_SAID)..].join("\n")),
    }
}
