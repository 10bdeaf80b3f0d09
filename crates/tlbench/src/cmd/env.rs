//! `tlbench env`: what machine this is, and what differs between two.

mod screen;

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use environment::{Options, Root};
use serde_json::Value;

use crate::exit::Outcome;

/// No file is read beyond this; an environment is some 15 kB, and only the first line of a record is looked at.
const MAX_BYTES: u64 = 64 << 20;

/// Show what identifies this machine's state, or what differs between two
#[derive(clap::Args)]
pub struct Args {
    /// Print only the fields that differ between two files: records, or outputs of `env --json` (`-`: standard input)
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    diff: Option<Vec<PathBuf>>,
    /// Print JSON: one object, or with --diff an array of {field, a, b}
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: Source,
    /// Replace the host name by a hash
    #[arg(long, conflicts_with = "diff")]
    hash_host: bool,
    /// Keep every option of the kernel's configuration, so that --diff can compare them
    #[arg(long, conflicts_with = "diff")]
    full_config: bool,
    /// Say for each unknown fact why it is unknown
    #[arg(long, conflicts_with = "json")]
    reasons: bool,
}

/// Where facts are read from; shared with `tlbench doctor`.
#[derive(clap::Args)]
pub struct Source {
    /// Directory whose file system is described, instead of TMPDIR or /tmp
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Read proc/, sys/ and so on below this directory (a copy taken elsewhere) instead of this machine's
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

impl Source {
    /// Collects the environment.
    pub fn collect(&self, options: Options) -> anyhow::Result<Value> {
        let root = match &self.root {
            None => Root::host(),
            Some(directory) if directory.is_dir() => Root::at(directory),
            Some(directory) => bail!("{}: not a directory that can be read", directory.display()),
        };
        Ok(environment::collect(&root, &Options { directory: self.dir.clone(), ..options }))
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Outcome {
    let mut out = io::stdout().lock();
    if let Some([a, b]) = args.diff.as_deref() {
        let differences = environment::diff(&read(a)?, &read(b)?);
        if args.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&differences)?)?;
        } else {
            screen::print_differences(&mut out, &differences)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let environment = args.source.collect(Options {
        hash_host_name: args.hash_host,
        full_config: args.full_config,
        directory: None,
    })?;
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&environment)?)?;
    } else {
        screen::print_environment(&mut out, &environment, args.reasons)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The environment in a file: the whole of it, or that of a record's header, its first line.
fn read(path: &Path) -> anyhow::Result<Value> {
    let name = path.display();
    let source: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path).with_context(|| name.to_string())?)
    };
    let reader = BufReader::new(source.take(MAX_BYTES));
    let first = serde_json::Deserializer::from_reader(reader).into_iter::<Value>().next();
    let first = first.with_context(|| format!("{name}: the file is empty"))?;
    let mut first = first
        .with_context(|| format!("{name}: not JSON; give a record or the output of `tlbench env --json`"))?;
    let environment = first.get_mut("environment").map(Value::take).unwrap_or(first);
    if !["kernel", "machine", "cpu"]
        .iter()
        .any(|section| environment.get(section).is_some_and(Value::is_object))
    {
        bail!(
            "{name}: no environment in it; give a record of `tlbench run` or the output of `tlbench env --json`"
        );
    }
    Ok(environment)
}
