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
use super::runner::Runner;
use super::subject::Subject;
use crate::exit::Outcome;

/// Runs of either kind without `-r`.
const RUNS: u32 = 5;

/// Options of `--mix`.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Mix {
    /// Count what the command asks of the kernel: faults, system calls by kind, switches, forks, execs
    #[arg(long)]
    pub mix: bool,
    /// Records of `tlbench run` that say what each costs; two predict the net change from the first to the second
    #[arg(long, value_name = "RECORD", num_args = 1..=2, requires = "mix")]
    costs: Vec<PathBuf>,
    /// Records of `tlbench stat` of this command under either, to put beside the prediction
    #[arg(long, value_name = "RECORD", num_args = 2, requires = "costs")]
    measured: Vec<PathBuf>,
}

impl Mix {
    /// Counts every subject and prints its table.
    pub fn run(
        &self,
        runner: &mut Runner<'_>,
        subjects: &[Subject],
        repeat: Option<u32>,
        surroundings: &Surroundings,
        json: bool,
    ) -> Outcome {
        if self.measured.len() == 2 && self.costs.len() != 2 {
            bail!("--measured stands beside a prediction, which needs two records after --costs");
        }
        let costs: Vec<Costs> =
            self.costs.iter().map(|path| Costs::read(path)).collect::<anyhow::Result<_>>()?;
        let labels: Vec<String> = costs.iter().map(|costs| costs.label.clone()).collect();
        let measured = match self.measured.as_slice() {
            [before, after] => Some(costs::measured_change(before, after)?),
            _ => None,
        };
        let mut documents = Vec::new();
        for subject in subjects {
            let counted = count::count(runner, subject, repeat.unwrap_or(RUNS), surroundings)?;
            let Some(counted) = counted else { break };
            let items = costs::items(&counted, &costs);
            if json {
                documents.push(show::document(&subject.command, &counted, &items, &labels, measured));
                continue;
            }
            let mut out = io::stdout().lock();
            if subject.origin > 0 {
                writeln!(out)?;
            }
            show::print(&mut out, &subject.command, &counted, &items, &labels, measured)?;
        }
        if json {
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
