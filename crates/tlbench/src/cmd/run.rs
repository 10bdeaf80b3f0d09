//! `tlbench run`: measures this machine, prints a table, writes a record.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use harness::{Benchmark, Coordinator, RemotePeer, Session, Signals};
use record::Record;

use crate::copies;
use crate::exit::Outcome;
use crate::measure::{Mode, Run, RunEnd};
use crate::output::Output;
use crate::select::Selection;

/// Measure this machine: print a table and write a record
#[derive(clap::Args)]
pub struct Args {
    /// Metric names or globs; everything without
    #[arg(value_name = "NAME|GLOB")]
    names: Vec<String>,
    /// About half a minute over everything: three short blocks
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Several minutes: twelve long blocks
    #[arg(long)]
    full: bool,
    /// Blocks, instead of the mode's own number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    blocks: Option<u32>,
    /// Wall-clock budget, e.g. 60s or 5m
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    budget: Option<Duration>,
    /// Go on until the 95 % interval of every metric is within this, e.g. 1%, or the budget ends
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    target: Option<f64>,
    /// Seed of every random order; drawn and recorded without
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Name of the configuration measured
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
    /// Record file, never overwritten (`-`: standard output); without, a new file in ./tlbench-results/
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Finish a record that was interrupted
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "label", "seed", "blocks", "names"])]
    resume: Option<PathBuf>,
    /// Print the table in the columns of the old suites' summary
    #[arg(long, value_enum, value_name = "LAYOUT")]
    layout: Option<super::show::Layout>,
    /// Run N copies of each benchmark at once, each on a CPU of its own while there are enough
    #[arg(short = 'P', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(harness::MOST_COPIES)), conflicts_with_all = ["resume", "scale"])]
    parallel: Option<u32>,
    /// Run 1, 2, 3 … copies at once, up to one per CPU: the scaling curve of the named metrics
    #[arg(long, requires = "names", conflicts_with = "resume")]
    scale: bool,
    /// Print the record as JSON Lines instead of the table
    #[arg(long)]
    json: bool,
    /// Directory for test files, instead of TMPDIR or /tmp; its file system is part of what is measured
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Leave the placement to the scheduler
    #[arg(long)]
    no_pin: bool,
    /// Measure against a `tlbench serve` on another host; without names, only what needs one
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "resume")]
    remote: Option<String>,
    /// The token that `tlbench serve` printed; without, that of the environment variable TLBENCH_TOKEN
    #[arg(long, value_name = "TOKEN", requires = "remote")]
    token: Option<String>,
    /// Replace the host name in the record by a hash
    #[arg(long)]
    hash_host: bool,
}

impl Args {
    /// The named benchmarks in parallel copies; nothing where no copies are asked for.
    fn in_copies(&self, all: &[&Benchmark]) -> anyhow::Result<Vec<Benchmark>> {
        let counts = match self.parallel {
            Some(count) => vec![count],
            None if self.scale => copies::curve(harness::allowed_cpus()?.len() as u32),
            None => return Ok(Vec::new()),
        };
        copies::in_copies(&choose(all, &self.names, false)?, &counts)
    }
}

/// Runs the command.
pub fn run(mut args: Args) -> Outcome {
    // One thing on standard output: the record or the table.
    args.json |= args.output.as_deref().is_some_and(|path| path == std::path::Path::new("-"));
    let signals = Signals::install().context("installing signal handlers")?;
    let sections = suite::sections();
    let mut all: Vec<&Benchmark> = sections.iter().flat_map(|section| &section.benchmarks).collect();
    let mode = if args.quick {
        Mode::Quick
    } else if args.full {
        Mode::Full
    } else {
        Mode::Default
    };
    let resumed = args.resume.as_ref().map(|path| Resumed::open(path)).transpose()?;
    let copied = match &resumed {
        Some(resumed) => copies::planned(&resumed.record.header.plan.benchmarks, &all),
        None => args.in_copies(&all)?,
    };
    let chosen = match &resumed {
        Some(resumed) => {
            all.extend(&copied);
            resumed.benchmarks(&all)?
        }
        None if copied.is_empty() => choose(&all, &args.names, args.remote.is_some())?,
        None => copied.iter().collect(),
    };
    let chosen = if args.quick && args.names.is_empty() { without_bulky(chosen)? } else { chosen };
    let remote = args.remote_peer()?;
    let coordinator = Coordinator::new(args.dir.as_deref())?;
    let seed = match &resumed {
        Some(resumed) => resumed.record.header.plan.seed.unwrap_or(0),
        None => args.seed.unwrap_or_else(harness::fresh_seed),
    };
    let environment = environment::collect(
        &environment::Root::host(),
        &environment::Options {
            hash_host_name: args.hash_host,
            directory: Some(coordinator.scratch().path().to_owned()),
            ..Default::default()
        },
    );
    let mut session = Session::start(coordinator, signals, seed, memory_limit(&environment));
    session.pinned = !args.no_pin;
    session.remote = remote;
    let label = args.label.clone().unwrap_or_else(|| Output::default_label(&environment));
    let mut run = Run::plan(session, chosen, mode, args.blocks, args.budget, args.target, label, environment);
    let mut output = match &resumed {
        Some(resumed) => {
            resumed.check_same_environment(&run)?;
            run.resume(&resumed.record);
            Output::append(&resumed.path, args.json)?
        }
        None => Output::create(args.output.as_deref(), args.json, &run.header)?,
    };
    let end = run.measure(&mut output)?;
    finish(&end, &output, &args)
}

impl Args {
    /// The remote peer asked for, after checking that it is there and lets us in.
    fn remote_peer(&self) -> anyhow::Result<Option<RemotePeer>> {
        let Some(address) = self.remote.clone() else { return Ok(None) };
        let token = self.token.clone().or_else(|| std::env::var("TLBENCH_TOKEN").ok());
        let token = token.context("--remote needs --token TOKEN, as `tlbench serve` printed it")?;
        let peer = RemotePeer { address, token };
        suite::net::reach(&peer)?;
        Ok(Some(peer))
    }
}

/// The benchmarks that yield a metric selected by `names`. With a remote peer and no names these are the ones that need
/// it; without a peer, those that need one are left out unless nothing else is selected.
pub fn choose<'a>(
    all: &[&'a Benchmark],
    names: &[String],
    with_remote: bool,
) -> anyhow::Result<Vec<&'a Benchmark>> {
    let known: Vec<String> = all.iter().flat_map(|b| b.metrics()).map(|m| m.name).collect();
    let selection = Selection::parse(names, &known)?;
    let selected = |b: &&'a Benchmark| b.metrics().iter().any(|m| selection.selects(&m.name));
    let mut chosen: Vec<&Benchmark> = all.iter().copied().filter(selected).collect();
    if with_remote && names.is_empty() {
        chosen.retain(|b| b.remote);
    } else if !with_remote && chosen.iter().any(|b| !b.remote) {
        chosen.retain(|b| !b.remote);
    }
    Ok(chosen)
}

/// More memory than this is not filled by a quick run over everything: that alone takes up to a second per block.
const BULKY: u64 = 256 << 20;

/// Leaves out, and says so, what would take up much of a quick run.
fn without_bulky(chosen: Vec<&Benchmark>) -> io::Result<Vec<&Benchmark>> {
    let (bulky, chosen): (Vec<_>, Vec<_>) = chosen.into_iter().partition(|b| b.memory > BULKY);
    if !bulky.is_empty() {
        let names: Vec<&str> = bulky.iter().map(|b| b.name.as_str()).collect();
        writeln!(
            io::stderr(),
            "left out by --quick, they fill 256 MiB or more each: {} (name them, or run without --quick)",
            names.join(", ")
        )?;
    }
    Ok(chosen)
}

fn finish(end: &RunEnd, output: &Output, args: &Args) -> Outcome {
    if !args.json {
        let mut out = io::stdout().lock();
        let rows = report::rows(&end.record);
        match args.layout {
            Some(super::show::Layout::Lmbench) => {
                super::show::print_classic(&mut out, vec![(end.record.clone(), rows)])?;
            }
            None => super::show::print_tables(&mut out, &end.record, &rows)?,
        }
        if let Some(path) = output.path() {
            writeln!(out, "\nrecord: {}", path.display())?;
        }
    }
    for complaint in &end.complaints {
        writeln!(io::stderr(), "tlbench: {complaint}")?;
    }
    Ok(match end.interrupt {
        Some(interrupt) => ExitCode::from(interrupt.exit_code()),
        None if end.failed > 0 || !end.complete => ExitCode::from(1),
        None => ExitCode::SUCCESS,
    })
}

/// What one benchmark may map: three quarters of what is available, or of the cgroup's limit if that is less.
pub fn memory_limit(environment: &serde_json::Value) -> u64 {
    let available = environment::Root::host()
        .keyed("/proc/meminfo", "MemAvailable")
        .ok()
        .and_then(|text| text.split_ascii_whitespace().next()?.parse::<u64>().ok())
        .map_or(u64::MAX, |kb| kb << 10);
    let cgroup = environment::known(environment, "cgroup.memory_max_bytes")
        .and_then(serde_json::Value::as_f64)
        .map_or(u64::MAX, |bytes| bytes as u64);
    available.min(cgroup) / 4 * 3
}

/// A record to be finished.
struct Resumed {
    path: PathBuf,
    record: Record,
}

impl Resumed {
    fn open(path: &std::path::Path) -> anyhow::Result<Self> {
        let record = Record::open(path).with_context(|| path.display().to_string())?;
        if record.footer.as_ref().is_some_and(|footer| footer.complete) {
            bail!("{}: this record is complete; nothing to resume", path.display());
        }
        if record.header.plan.kind != "run" {
            bail!("{}: only records of `tlbench run` can be resumed", path.display());
        }
        Ok(Resumed { path: path.to_owned(), record })
    }

    fn benchmarks<'a>(&self, all: &[&'a Benchmark]) -> anyhow::Result<Vec<&'a Benchmark>> {
        let planned = &self.record.header.plan.benchmarks;
        planned
            .iter()
            .map(|planned| {
                let found =
                    all.iter().copied().find(|b| b.name == planned.name && b.metrics() == planned.metrics);
                found.with_context(|| {
                    format!(
                        "{}: {} is not defined as it was when the record was begun; start a new run",
                        self.path.display(),
                        planned.name
                    )
                })
            })
            .collect()
    }

    fn check_same_environment(&self, run: &Run) -> anyhow::Result<()> {
        let then = environment::identity(&self.record.header.environment);
        let now = environment::identity(&run.header.environment);
        let differences = environment::diff(&then, &now);
        if differences.is_empty() {
            return Ok(());
        }
        let fields: Vec<&str> = differences.iter().map(|d| d.field.as_str()).take(8).collect();
        bail!(
            "{}: the machine is not as it was ({}); start a new run and compare the two",
            self.path.display(),
            fields.join(", ")
        )
    }
}

/// `90`, `90s`, `1.5m`, `2h` as a duration.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, f64); 4] = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let of_unit = |&(unit, factor): &(&str, f64)| Some((text.strip_suffix(unit)?, factor));
    let (number, factor) = UNITS.iter().find_map(of_unit).unwrap_or((text, 1.0));
    match number.parse::<f64>() {
        Ok(n) if n > 0.0 && n * factor <= 1e7 => Ok(Duration::from_secs_f64(n * factor)),
        _ => Err(format!("{text}: not a time; write e.g. 500ms, 60s, 5m or 2h")),
    }
}

/// `1%` or `1` as 0.01.
pub fn parse_percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').trim().parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        _ => Err(format!("{text}: not a percentage; write e.g. 1%")),
    }
}
