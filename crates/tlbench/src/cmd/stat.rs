//! `tlbench stat`: any command, with counters, alone or against others.

mod simulated;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use counters::{Counters, Linux, Surroundings};
use environment::Root;
use harness::{Clock, Coordinator, Launcher, Signals};
use record::{Header, Metric, Plan, PlannedBenchmark, SCHEMA};
use report::compare::Gathered;
use serde_json::{Map, Value, json};
use stats::Report;

use super::run::parse_duration;
use crate::exit::Outcome;
use crate::output::Output;
use crate::stat::floor::Floor;
use crate::stat::hooks::Hooks;
use crate::stat::lines::{self, Limits};
use crate::stat::mix::{Mix, Settings};
use crate::stat::profile::{self, Profile};
use crate::stat::rounds::{Rounds, Schedule, Sitting};
use crate::stat::runner::{Policy, Runner, Stream};
use crate::stat::subject::{self, Making, Subject};
use crate::stat::{delta, export, json as document, screen, summary};
use crate::verdict::VerdictArgs;

/// Measure commands with counters; several are interleaved and compared
#[derive(clap::Args)]
pub struct Args {
    /// Exactly this many runs of each command; without, until decided or --max-time
    #[arg(short = 'r', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    repeat: Option<u32>,
    /// Runs before the first that counts (1 with several commands)
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1000))]
    warmup: Option<u32>,
    /// Begin no further round of runs that would not end within this time (10 minutes; one command: 1 minute)
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    max_time: Option<Duration>,
    /// Events to count instead of the usual ones, as perf spells them: cycles,{a,b},r1a8,cpu/event=1/,sched:sched_switch
    #[arg(short, long, value_name = "EVENTS")]
    event: Vec<String>,
    /// Iterations of a run: the delta table shows counts per iteration
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    per: Option<u64>,
    /// Name of a command, once per command
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,
    /// Run every command with each of the values in the place of {NAME}
    #[arg(short = 'P', num_args = 2, value_names = ["NAME", "VALUES"])]
    parameter: Vec<String>,
    /// Give each command to a shell as one text (its start-up is measured too)
    #[arg(short = 'S', long, value_name = "SHELL", num_args = 0..=1, require_equals = true, default_missing_value = "/bin/sh")]
    shell: Option<OsString>,
    /// Working directory of the commands
    #[arg(short = 'C', long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Standard input of the commands: null, inherit, or a file
    #[arg(long, value_name = "WHAT", default_value = "null")]
    stdin: OsString,
    /// Standard output of the commands: null, inherit, pipe (read and thrown away), or a file
    #[arg(long, value_name = "WHAT", default_value = "null")]
    stdout: OsString,
    /// Standard error of the commands: pipe (the end is kept and shown when a run fails), null, inherit, or a file
    #[arg(long, value_name = "WHAT", default_value = "pipe")]
    stderr: OsString,
    /// Every run of every command must print the same
    #[arg(long)]
    check_output: bool,
    /// An exit status other than 0 is a result like any other
    #[arg(short, long)]
    ignore_failure: bool,
    /// A run that takes longer is killed and counted as failed
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    timeout: Option<Duration>,
    /// Measure `tlbench exec-chain N`, per exec
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    exec_chain: Option<u64>,
    /// Write hyperfine's JSON to this file
    #[arg(long, value_name = "FILE")]
    export_json: Option<PathBuf>,
    /// Write a Markdown table to this file
    #[arg(long, value_name = "FILE")]
    export_markdown: Option<PathBuf>,
    /// Record file, never overwritten; without, a new file in ./tlbench-results/
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Seed of every random order; drawn and recorded without
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Sample where the CPU time goes: functions, or those whose share moved between the commands
    #[arg(long, conflicts_with = "mix")]
    profile: bool,
    /// Instead of measuring, run each command once under a tracer and simulate its dTLB and iTLB misses on this machine:
    /// a name (`tlbench sim --machines`) or a file; needs no PMU
    #[arg(long, value_name = "MACHINE", conflicts_with_all = ["mix", "profile", "exec_chain"])]
    simulate_tlb: Option<String>,
    #[command(flatten)]
    mix: Mix,
    #[command(flatten)]
    hooks: Hooks,
    #[command(flatten)]
    verdict: VerdictArgs,
    /// The command; further ones after a further --
    #[arg(last = true, value_name = "CMD")]
    words: Vec<OsString>,
}

/// Looks of the sequential plan (`docs/methodology.md`): 1 % each. The last is where 5 % of a short command is found as a
/// rule (`docs/stat.md`).
const LOOKS: [u32; 5] = [8, 12, 16, 24, 30];
/// Runs of each command in a block of short commands, without `-r`.
const MOST_TURNS: u32 = 5;
/// Runs of a single command without `-r`.
const RUNS_ALONE: u32 = 10;
/// Events that wander without meaning: shown, but no gate unless asked for.
const RESTLESS: [&str; 4] =
    ["perf/context-switches", "perf/cpu-migrations", "perf/major-faults", "perf/cgroup-switches"];

/// Runs the command.
pub fn run(args: &Args) -> Outcome {
    if args.verdict.json && args.output.as_deref() == Some(Path::new("-")) {
        bail!("--json and `-o -` both print to standard output; leave one away");
    }
    let subjects = args.subjects()?;
    if let Some(machine) = &args.simulate_tlb {
        let commands: Vec<_> = subjects.into_iter().map(|s| (s.name, s.arguments)).collect();
        return simulated::run(machine, &commands, args.verdict.json);
    }
    let signals = Signals::install().context("installing signal handlers")?;
    let coordinator = Coordinator::new(None)?;
    let root = Root::host();
    let environment = environment::collect(&root, &environment::Options::default());
    let surroundings = Surroundings::read(&root, &environment);
    let groups = if args.event.is_empty() {
        Counters::default_groups(&root, &environment, &surroundings)
    } else {
        counters::parse(&root, &args.event.join(","))?
    };
    let launcher = Launcher::new(coordinator.scratch().path()).context("preparing the launcher")?;
    let source = environment::known(&environment, "clock.source").and_then(Value::as_str);
    let mut runner = Runner {
        coordinator,
        signals,
        clock: Clock::calibrate(source),
        counters: Counters::probe(&Linux, groups, &surroundings),
        policy: args.policy()?,
        seed: args.seed.unwrap_or_else(harness::fresh_seed),
        launcher,
        sampling: false,
        tracing: false,
    };
    if args.mix.mix {
        let settings = Settings {
            repeat: args.repeat,
            ignore_failure: args.ignore_failure,
            surroundings: &surroundings,
            verdict: &args.verdict,
        };
        return args.mix.run(&mut runner, &subjects, &settings);
    }
    let floor = Floor::measure(&mut runner).context("measuring the cost of a launch")?;
    let metrics = lines::metrics(&runner.counters);
    let refused = runner.counters.events().filter(|(_, why)| why.is_some());
    let refused = refused.map(|(event, _)| format!("perf/{event}")).collect();
    let schedule = args.schedule(subjects.len());
    let header = args.header(&subjects, &metrics, &schedule, &runner, floor, environment);
    let mut output = Output::create(args.output.as_deref(), false, &header)?;
    let rules = args.rules()?;
    let options = args.verdict.options(&[])?;
    let sitting = Sitting {
        subjects: &subjects,
        hooks: &args.hooks,
        metrics: &metrics,
        refused: &refused,
        limits: Limits {
            floor,
            tick_ns: lines::tick_ns(&header.environment),
            ignore_failure: args.ignore_failure,
        },
        schedule,
        rules: &rules,
        options: &options,
    };
    let rounds = sitting.measure(&mut runner, header, &mut output)?;
    if subjects.len() == 1 {
        for why in &rounds.not_comparable {
            eprintln!("tlbench: not comparable: {why}");
        }
    }
    let judged = (subjects.len() > 1 && rounds.blocks > 0).then(|| rounds.judge(&rules, &options));
    if let Some(path) = output.path() {
        eprintln!("record: {}", path.display());
    }
    args.export(&subjects, &rounds, judged.as_ref())?;
    let profiles = match args.profile && rounds.interrupt.is_none() {
        true => profile::sample(&mut runner, &subjects),
        false => Vec::new(),
    };
    let code = args.print(&subjects, &rounds, judged.as_ref(), floor, &profiles)?;
    Ok(match rounds.interrupt {
        Some(interrupt) => ExitCode::from(interrupt.exit_code()),
        None => code,
    })
}

impl Args {
    fn subjects(&self) -> anyhow::Result<Vec<Subject>> {
        let commands = match self.exec_chain {
            Some(count) => {
                let own = std::env::current_exe().context("finding this program")?;
                let chain =
                    vec![own.into_os_string(), super::exec_chain::NAME.into(), count.to_string().into()];
                let mut commands = vec![chain];
                if !self.words.is_empty() {
                    commands.extend(subject::split(&self.words)?);
                }
                commands
            }
            None if self.words.is_empty() => bail!("no command; write `tlbench stat -- CMD`"),
            None => subject::split(&self.words)?,
        };
        self.hooks.check(commands.len())?;
        let parameters = subject::parameters(&self.parameter)?;
        let directory = self.directory()?;
        let making = Making {
            parameters: &parameters,
            names: &self.name,
            shell: self.shell.as_deref(),
            directory: directory.as_deref(),
        };
        making.subjects(&commands)
    }

    fn directory(&self) -> anyhow::Result<Option<PathBuf>> {
        let absolute = |path: &PathBuf| path.canonicalize().with_context(|| path.display().to_string());
        self.directory.as_ref().map(absolute).transpose()
    }

    fn policy(&self) -> anyhow::Result<Policy> {
        if self.check_output && self.stdout != "null" {
            bail!("--check-output reads the standard output itself; leave --stdout away");
        }
        Ok(Policy {
            directory: self.directory()?,
            stdin: stream(&self.stdin),
            stdout: stream(&self.stdout),
            stderr: stream(&self.stderr),
            timeout: self.timeout,
            check_output: self.check_output,
        })
    }

    fn schedule(&self, subjects: usize) -> Schedule {
        let several = subjects > 1;
        let most = if several { LOOKS[LOOKS.len() - 1] } else { RUNS_ALONE };
        let patience = Duration::from_secs(if several { 600 } else { 60 });
        Schedule {
            blocks: self.repeat.unwrap_or(most),
            looks: if several && self.repeat.is_none() { LOOKS.to_vec() } else { Vec::new() },
            warmup: self.warmup.unwrap_or(u32::from(several)),
            max_time: self.max_time.or(self.repeat.is_none().then_some(patience)),
            most_turns: if several && self.repeat.is_none() { MOST_TURNS } else { 1 },
        }
    }

    fn rules(&self) -> anyhow::Result<report::compare::Rules<'static>> {
        let mut rules = self.verdict.rules(Default::default())?;
        if rules.gate.is_none() {
            rules.gate = Some(Box::new(|name: &str| !RESTLESS.contains(&name)));
        }
        Ok(rules)
    }

    fn header(
        &self,
        subjects: &[Subject],
        metrics: &[Metric],
        schedule: &Schedule,
        runner: &Runner<'_>,
        floor: Option<Floor>,
        environment: Value,
    ) -> Header {
        let names: Vec<String> = subjects.iter().map(|subject| subject.name.clone()).collect();
        let command = |subject: &Subject| json!({"name": subject.name, "command": subject.command, "program": subject.program});
        let mut extra = Map::new();
        extra.insert("commands".into(), subjects.iter().map(command).collect());
        extra.insert("clock".into(), json!(runner.clock));
        extra.insert("launch".into(), json!(floor));
        extra.insert("per".into(), json!(self.iterations()));
        Header {
            schema: SCHEMA,
            tool: concat!("tlbench ", env!("CARGO_PKG_VERSION")).into(),
            started: jiff::Timestamp::now().to_string(),
            label: if names.len() == 1 { names[0].clone() } else { "stat".into() },
            plan: Plan {
                kind: "stat".into(),
                seed: Some(runner.seed),
                blocks: Some(schedule.blocks),
                budget_s: schedule.max_time.map(|time| time.as_secs_f64()),
                configurations: names,
                benchmarks: vec![PlannedBenchmark { name: "stat".into(), metrics: metrics.to_vec() }],
                looks: schedule.looks.clone(),
                alpha: Some(if schedule.looks.is_empty() { 0.05 } else { 0.01 }),
                controlled_order: true,
                extra,
            },
            environment,
            extra: Map::new(),
        }
    }

    /// Iterations of a run, from `--per` or the chain's length.
    fn iterations(&self) -> Option<u64> {
        self.per.or(self.exec_chain)
    }

    fn export(
        &self,
        subjects: &[Subject],
        rounds: &Rounds,
        judged: Option<&(Gathered, Report)>,
    ) -> anyhow::Result<()> {
        if let Some(path) = &self.export_json {
            export::hyperfine(path, subjects, rounds, self.ignore_failure)?;
        }
        if let Some(path) = &self.export_markdown {
            let comparisons = judged.map_or(&[][..], |(_, report)| &report.comparisons);
            export::markdown(path, subjects, rounds, comparisons, self.ignore_failure)?;
        }
        Ok(())
    }

    fn print(
        &self,
        subjects: &[Subject],
        rounds: &Rounds,
        judged: Option<&(Gathered, Report)>,
        floor: Option<Floor>,
        profiles: &[Profile],
    ) -> Outcome {
        let mut out = io::stdout().lock();
        let code = judged.map_or(rounds.exit_code_alone(), |(_, report)| report.exit_code);
        let code = ExitCode::from(code);
        if self.verdict.json {
            let comparison = judged.map(|(gathered, report)| report::compare::document(gathered, report));
            let whole = json!({
                "commands": document::commands(subjects, rounds, self.ignore_failure),
                "launch": floor,
                "comparison": comparison,
                "profile": profile::document(subjects, profiles),
            });
            serde_json::to_writer_pretty(&mut out, &whole)?;
            writeln!(out)?;
            return Ok(code);
        }
        let per_command: Vec<_> =
            subjects.iter().map(|subject| summary::summaries(&rounds.record, &subject.name)).collect();
        for ((subject, summaries), runs) in subjects.iter().zip(&per_command).zip(&rounds.runs) {
            let failed = rounds_failed(runs, self.ignore_failure);
            let good = runs.len() - failed;
            if good == 0 {
                writeln!(out, "`{}`: no run ended well", subject.name)?;
            } else if judged.is_none() || failed > 0 {
                screen::print(&mut out, &subject.name, good, summaries, floor)?;
                if let Some(per) = self.iterations() {
                    delta::print_alone(&mut out, summaries, per as f64)?;
                }
            }
            if failed > 0 {
                writeln!(out, "  {failed} of {} runs failed and are left out", runs.len())?;
            }
        }
        let Some((gathered, report)) = judged else {
            profile::print(&mut out, subjects, profiles)?;
            return Ok(code);
        };
        drop(out);
        self.verdict.print(gathered, report, json!({}))?;
        let mut out = io::stdout().lock();
        writeln!(out)?;
        let others: Vec<(&str, Vec<summary::Summary>)> = subjects
            .iter()
            .zip(per_command.iter().cloned())
            .skip(1)
            .map(|(s, m)| (s.name.as_str(), m))
            .collect();
        let per = self.iterations().unwrap_or(1) as f64;
        delta::print(&mut out, (&subjects[0].name, &per_command[0]), &others, &report.comparisons, per)?;
        screen::reasons(&mut out, &per_command[0])?;
        profile::print(&mut out, subjects, profiles)?;
        Ok(code)
    }
}

fn rounds_failed(runs: &[crate::stat::rounds::Kept], ignore_failure: bool) -> usize {
    runs.iter()
        .filter(|kept| crate::stat::runner::failure(&kept.run.finished.end, ignore_failure).is_some())
        .count()
}

fn stream(word: &OsStr) -> Stream {
    match word.to_str() {
        Some("null") => Stream::Null,
        Some("inherit") => Stream::Inherit,
        Some("pipe") => Stream::Pipe,
        _ => Stream::File(word.into()),
    }
}
