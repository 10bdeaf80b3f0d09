//! What would it matter? What a command asks of the kernel, times what each costs.

mod costs;
mod count;
mod show;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use counters::Surroundings;
use serde_json::json;

use self::costs::Costs;
use self::count::{By, Plan};
use self::show::Table;
use super::runner::Runner;
use super::subject::Subject;
use crate::exit::Outcome;
use crate::verdict::VerdictArgs;

/// Runs of either kind without `-r`.
const RUNS: u32 = 5;

/// Options of `--mix`.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Mix {
    /// Count what the command asks of the kernel: faults, system calls by kind, switches, forks, execs
    #[arg(long)]
    pub mix: bool,
    /// What counts system calls, forks and execs
    #[arg(long, value_enum, value_name = "BY", default_value_t, requires = "mix")]
    count_by: By,
    /// Records of `tlbench run` or `ab` that say what each costs; two (or the two states of one) predict the net change
    #[arg(long, value_name = "RECORD", num_args = 1..=2, requires = "mix")]
    costs: Vec<PathBuf>,
    /// Records of `tlbench stat` of this command under either, to put beside the prediction (or one of both)
    #[arg(long, value_name = "RECORD", num_args = 1..=2, requires = "costs")]
    measured: Vec<PathBuf>,
}

/// What `--mix` takes from the options of the command.
pub struct Settings<'a> {
    /// `-r`.
    pub repeat: Option<u32>,
    /// `-i`.
    pub ignore_failure: bool,
    /// What decides over events here.
    pub surroundings: &'a Surroundings,
    /// How changes are judged and shown.
    pub verdict: &'a VerdictArgs,
}

impl Mix {
    /// Counts every subject and prints its table.
    pub fn run(&self, runner: &mut Runner<'_>, subjects: &[Subject], settings: &Settings<'_>) -> Outcome {
        let rules = settings.verdict.rules(Default::default())?;
        let options = settings.verdict.options(&[])?;
        let costs = Costs::read(&self.costs, &rules, &options)?;
        if !self.measured.is_empty() && costs.labels.len() != 2 {
            bail!("--measured stands beside a prediction, which needs the costs of two configurations");
        }
        let measured = match self.measured.as_slice() {
            [] => None,
            paths => Some(costs::measured_change(paths, &rules, &options)?),
        };
        let plan = Plan {
            runs: settings.repeat.unwrap_or(RUNS),
            by: self.count_by,
            surroundings: settings.surroundings,
            ignore_failure: settings.ignore_failure,
        };
        let mut documents = Vec::new();
        for (which, subject) in subjects.iter().enumerate() {
            let Some(counted) = count::count(runner, subject, &plan)? else { break };
            let items = costs::items(&counted, &costs);
            let table = Table {
                command: &subject.command,
                counted: &counted,
                items: &items,
                costs: &costs,
                measured: measured.as_ref(),
            };
            if settings.verdict.json {
                documents.push(table.document());
                continue;
            }
            let mut out = io::stdout().lock();
            if which > 0 {
                writeln!(out)?;
            }
            table.print(&mut out)?;
        }
        if settings.verdict.json {
            println_json(&json!({"commands": documents}))?;
        }
        Ok(runner
            .signals
            .interrupted()
            .map_or(ExitCode::SUCCESS, |signal| ExitCode::from(signal.exit_code())))
    }
}

fn println_json(document: &serde_json::Value) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, document)?;
    Ok(writeln!(out)?)
}
