//! `tlbench compare`: verdicts on stored numbers, ours and other tools'.

use std::path::PathBuf;

use anyhow::{Context, bail};
use report::compare::{Gathered, gather, history};
use serde_json::json;

use crate::exit::Outcome;
use crate::inputs;
use crate::verdict::VerdictArgs;

/// Compare records and results of other tools, with verdicts that hold
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub from: From,
    #[command(flatten)]
    pub verdict: VerdictArgs,
}

/// Which numbers, which pairs.
#[derive(clap::Args)]
pub struct From {
    /// Records, results of other tools, directories of either (one configuration each), or - for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The configuration the others are compared with; without, one called A, base, baseline, before, old or control,
    /// or else the first (by name where the order was drawn)
    #[arg(long, value_name = "LABEL")]
    base: Option<String>,
    /// Compare every pair
    #[arg(long)]
    all_pairs: bool,
    /// Names for runs of a file that holds one configuration, e.g. before=1 after=2-3
    #[arg(long, value_name = "NAME=RUNS", value_parser = inputs::parse_runs, num_args = 1..)]
    runs: Vec<inputs::Runs>,
    /// Earlier records of one configuration on this machine: what sittings differ by
    #[arg(long, value_name = "FILE", num_args = 1..)]
    history: Vec<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args) -> Outcome {
    let (gathered, pairs) = args.from.read(&args.verdict)?;
    let options = args.verdict.options(&gathered.not_comparable)?;
    let report = stats::compare(&gathered.table, &pairs, &options);
    args.verdict.print(&gathered, &report, json!({}))
}

impl From {
    /// Reads the files and finds the pairs.
    pub fn read(&self, verdict: &VerdictArgs) -> anyhow::Result<(Gathered, Vec<(usize, usize)>)> {
        let known = match self.history.as_slice() {
            [] => Default::default(),
            files => history(&inputs::read(files, &[])?.0),
        };
        let rules = verdict.rules(known)?;
        let (records, mut notes) = inputs::read(&self.files, &self.runs)?;
        let mut gathered = gather(&records, &rules);
        if let Some(runs) = self.first_against_later(&records, &gathered) {
            notes.push(format!(
                "one configuration ({}): its first run is the base, the later ones are compared with it; --runs names them",
                gathered.table.configurations[0].name
            ));
            gathered = gather(&inputs::read(&self.files, &runs)?.0, &rules);
        }
        gathered.notes.extend(notes);
        // The plan of an interleaved run names its base first, and so does the table.
        let planned = matches!(&records[..], [one] if one.record.header.plan.controlled_order);
        let pairs = self.pairs(&gathered, planned)?;
        if gathered.table.metrics.is_empty() {
            bail!("no metric is left to compare; check --only");
        }
        Ok((gathered, pairs))
    }

    /// How to read a foreign file again that holds several runs of a single configuration.
    fn first_against_later(
        &self,
        records: &[report::compare::Named],
        gathered: &Gathered,
    ) -> Option<Vec<inputs::Runs>> {
        let [one] = records else { return None };
        let [configuration] = gathered.table.configurations.as_slice() else { return None };
        if one.record.header.plan.kind != "import" || !self.runs.is_empty() {
            return None;
        }
        let runs: std::collections::BTreeSet<_> =
            one.record.invocations.iter().map(|line| &line.sitting).collect();
        let name = |which: &str| format!("{}, {which}", configuration.name);
        match runs.len() {
            0 | 1 => None,
            2 => Some(vec![(1..=1, name("run 1")), (2..=2, name("run 2"))]),
            n => Some(vec![(1..=1, name("run 1")), (2..=n, name(&format!("runs 2-{n}")))]),
        }
    }

    fn pairs(&self, gathered: &Gathered, planned: bool) -> anyhow::Result<Vec<(usize, usize)>> {
        let names: Vec<&str> = gathered.table.configurations.iter().map(|c| c.name.as_str()).collect();
        let base = match &self.base {
            None if planned => 0,
            None => default_base(&names, gathered.table.layout.controlled()),
            Some(wanted) => find(&names, wanted)
                .with_context(|| format!("no configuration {wanted}; there are: {}", names.join(", ")))?,
        };
        if names.len() < 2 {
            bail!("only one configuration ({}); give another file to compare it with", names.join(", "));
        }
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.remove(base);
        order.insert(0, base);
        Ok(if self.all_pairs {
            (0..order.len())
                .flat_map(|i| (i + 1..order.len()).map(move |j| (i, j)))
                .map(|(i, j)| (order[i], order[j]))
                .collect()
        } else {
            order[1..].iter().map(|&other| (base, other)).collect()
        })
    }
}

/// The base nobody named. Where the order of runs was drawn, which configuration stands first in a file is chance.
fn default_base(names: &[&str], drawn_order: bool) -> usize {
    const BASES: [&str; 6] = ["a", "base", "baseline", "before", "old", "control"];
    let called = names.iter().position(|name| BASES.contains(&name.to_ascii_lowercase().as_str()));
    let by_name = || (0..names.len()).min_by_key(|&i| names[i]);
    called.or_else(|| drawn_order.then(by_name).flatten()).unwrap_or(0)
}

/// The configuration of that name, or the only one that begins like it.
fn find(names: &[&str], wanted: &str) -> Option<usize> {
    names.iter().position(|name| *name == wanted).or_else(|| {
        let mut like = names.iter().enumerate().filter(|(_, name)| name.starts_with(wanted));
        match (like.next(), like.next()) {
            (Some((at, _)), None) => Some(at),
            _ => None,
        }
    })
}
