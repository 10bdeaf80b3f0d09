//! `tlbench ab`: two or more states of this machine, interleaved, one verdict table.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use harness::{Coordinator, Session, Signals};
use serde_json::json;

use super::run::{memory_limit, parse_duration};
use crate::exit::Outcome;
use crate::interleave::{self, Design, Interleaved};
use crate::output::Output;
use crate::state::{State, parse_binary, parse_state, parse_variable};
use crate::verdict::VerdictArgs;

/// Compare two or more states of this machine, interleaved in drawn order, with verdicts
#[derive(clap::Args)]
pub struct Args {
    /// Metric names or globs; everything without
    #[arg(value_name = "NAME|GLOB")]
    names: Vec<String>,
    /// Shell command that sets up state A before each of its turns
    #[arg(long, value_name = "CMD")]
    a: Option<String>,
    /// Shell command that sets up state B
    #[arg(long, value_name = "CMD")]
    b: Option<String>,
    /// Set-up of a further state
    #[arg(long, value_name = "STATE=CMD", value_parser = parse_state)]
    state: Vec<(String, String)>,
    /// Shell command that puts back what A changed; always run
    #[arg(long, value_name = "CMD")]
    undo_a: Option<String>,
    /// Shell command that puts back what B changed; always run
    #[arg(long, value_name = "CMD")]
    undo_b: Option<String>,
    /// The same for any state
    #[arg(long, value_name = "STATE=CMD", value_parser = parse_state)]
    undo: Vec<(String, String)>,
    /// Environment variable of A's workers
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_variable)]
    a_env: Vec<(String, String)>,
    /// Environment variable of B's workers
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_variable)]
    b_env: Vec<(String, String)>,
    /// Another build of tlbench whose workers A runs
    #[arg(long, value_name = "PATH")]
    a_bin: Option<PathBuf>,
    /// Another build of tlbench whose workers B runs
    #[arg(long, value_name = "PATH")]
    b_bin: Option<PathBuf>,
    /// The same for any state
    #[arg(long, value_name = "STATE=PATH", value_parser = parse_binary)]
    bin: Vec<(String, PathBuf)>,
    /// Add a third arm equal to A: how much this machine disagrees with itself
    #[arg(long)]
    aa: bool,
    #[command(flatten)]
    pub how: How,
    #[command(flatten)]
    verdict: VerdictArgs,
}

/// How long, in which order, where to.
#[derive(clap::Args)]
pub struct How {
    /// Exactly this many blocks and one look, instead of looks at 8, 12, 16, 24 and 32
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub blocks: Option<u32>,
    /// Wall-clock budget, e.g. 60s or 10m
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Duration>,
    /// Seed of every random order; drawn and recorded without
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Record file, never overwritten; without, a new file in ./tlbench-results/
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Directory for test files
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Looks of the sequential plan (`docs/methodology.md`): 1 % each.
const LOOKS: [u32; 5] = [8, 12, 16, 24, 32];
/// Budget without `--budget`.
const DEFAULT_BUDGET: Duration = Duration::from_secs(900);

/// Runs the command.
pub fn run(args: &Args) -> Outcome {
    let states = args.states()?;
    let done = args.how.measure("ab", states, &args.names, &args.verdict, true)?;
    let mut more = json!({"plan": done.record.header.plan, "blocks": done.blocks});
    let mut code = print_code(&done);
    if args.aa {
        let last = done.report.comparisons.len() - 1;
        let check = stats::noise::aa_check(&done.report.comparisons[last]);
        more["false_alarms"] = json!(check.false_alarms);
        if check.rejected {
            eprintln!(
                "tlbench: environment rejected: A differs from itself in {}",
                check.false_alarms.join(", ")
            );
            code = Some(4);
        }
    }
    let printed = args.verdict.print(&done.gathered, &done.report, more)?;
    if args.states()?.iter().any(|state| state.undo.is_some()) {
        eprintln!("tlbench: every change was undone by its undo command");
    }
    Ok(code.map_or(printed, ExitCode::from))
}

/// The exit code that an interruption forces.
pub fn print_code(done: &Interleaved) -> Option<u8> {
    done.interrupt.map(|interrupt| interrupt.exit_code())
}

impl Args {
    fn states(&self) -> anyhow::Result<Vec<State>> {
        let mut states = vec![
            State { set_up: self.a.clone(), undo: self.undo_a.clone(), ..State::named("A") },
            State { set_up: self.b.clone(), undo: self.undo_b.clone(), ..State::named("B") },
        ];
        states[0].variant.environment.clone_from(&self.a_env);
        states[1].variant.environment.clone_from(&self.b_env);
        states[0].variant.program.clone_from(&self.a_bin);
        states[1].variant.program.clone_from(&self.b_bin);
        for (name, command) in &self.state {
            if states.iter().any(|state| state.name == *name) {
                bail!("--state {name}: there is a state of that name already");
            }
            states.push(State { set_up: Some(command.clone()), ..State::named(name) });
        }
        let find = |states: &[State], name: &str| {
            let known: Vec<&str> = states.iter().map(|s| s.name.as_str()).collect();
            states
                .iter()
                .position(|s| s.name == name)
                .with_context(|| format!("no state {name}; there are {}", known.join(", ")))
        };
        for (name, command) in &self.undo {
            let at = find(&states, name)?;
            states[at].undo = Some(command.clone());
        }
        for (name, path) in &self.bin {
            let at = find(&states, name)?;
            states[at].variant.program = Some(path.clone());
        }
        let same = |a: &State, b: &State| {
            a.set_up == b.set_up
                && a.variant.environment == b.variant.environment
                && a.variant.program == b.variant.program
        };
        if states.len() == 2 && same(&states[0], &states[1]) {
            bail!(
                "A and B are the same; say what differs with --a, --b, --a-env, --b-env, --a-bin or --b-bin (or use `tlbench aa`)"
            );
        }
        for state in &mut states {
            if let Some(program) = &mut state.variant.program {
                *program = program.canonicalize().with_context(|| program.display().to_string())?;
            }
        }
        if self.aa {
            let mut again = states[0].clone();
            again.name = "A'".into();
            again.variant.name = Some("A'".into());
            states.push(again);
        }
        Ok(states)
    }
}

impl How {
    /// Measures the states and judges them.
    pub fn measure(
        &self,
        kind: &'static str,
        states: Vec<State>,
        names: &[String],
        verdict: &VerdictArgs,
        stop_when_decided: bool,
    ) -> anyhow::Result<Interleaved> {
        let signals = Signals::install().context("installing signal handlers")?;
        let sections = suite::sections();
        let all: Vec<_> = sections.iter().flat_map(|section| &section.benchmarks).collect();
        let classic = || report::classic_metrics().map(str::to_owned).collect::<Vec<_>>();
        let named = if kind == "aa" && names.is_empty() { classic() } else { names.to_vec() };
        let benchmarks = super::run::choose(&all, &named, false)?;
        let coordinator = Coordinator::new(self.dir.as_deref())?;
        let environment = environment::collect(
            &environment::Root::host(),
            &environment::Options {
                directory: Some(coordinator.scratch().path().to_owned()),
                ..Default::default()
            },
        );
        let seed = self.seed.unwrap_or_else(harness::fresh_seed);
        let session = Session::start(coordinator, signals, seed, memory_limit(&environment));
        // Without looks, the time and not the data ends the run: one look at the end is as valid as a fixed number.
        let looks = if self.blocks.is_some() || !stop_when_decided { Vec::new() } else { LOOKS.to_vec() };
        let blocks = self.blocks.unwrap_or(LOOKS[LOOKS.len() - 1]);
        let design = Design {
            kind,
            states,
            benchmarks,
            blocks,
            exactly: self.blocks.is_some(),
            blocks_in_budget: self.blocks.unwrap_or(LOOKS[1]),
            budget: self.budget.unwrap_or(DEFAULT_BUDGET),
            longest: Duration::from_millis(80),
            looks,
            stop_when_decided,
            fit: kind == "aa",
        };
        let header = interleave::header(&design, &session, environment);
        let mut output = Output::create(self.output.as_deref(), false, &header)?;
        let rules = verdict.rules(Default::default())?;
        let done =
            interleave::measure(&design, session, header, &mut output, &rules, &verdict.options(&[])?)?;
        if done.failed > 0 {
            eprintln!("tlbench: {} invocations failed; the record says why", done.failed);
        }
        if let Some(path) = output.path() {
            eprintln!("record: {}", path.display());
        }
        Ok(done)
    }
}
