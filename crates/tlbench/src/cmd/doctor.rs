//! `tlbench doctor`: what will add noise on this machine, and what to do about it.

use std::io::{self, Write};
use std::process::ExitCode;

use environment::{Finding, Options};

use super::env::Source;
use crate::exit::Outcome;
use report::wrapped;

/// Say what will add noise on this machine and what to do about it, changing nothing
#[derive(clap::Args)]
pub struct Args {
    /// Print a JSON array of {severity, field, what, why, todo}
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: Source,
}

/// Runs the command.
pub fn run(args: &Args) -> Outcome {
    let environment = args.source.collect(Options::default())?;
    let findings = environment::doctor(&environment);
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&findings)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    findings.iter().try_for_each(|finding| print(&mut out, finding))?;
    match findings.len() {
        0 => writeln!(out, "Nothing found that would add noise, as far as this user may look.")?,
        1 => writeln!(out, "1 finding; nothing was changed.")?,
        count => writeln!(out, "{count} findings; nothing was changed.")?,
    }
    Ok(ExitCode::SUCCESS)
}

fn print(out: &mut impl Write, finding: &Finding) -> io::Result<()> {
    for (title, text) in
        [(finding.severity.as_str(), &finding.what), ("", &finding.why), ("do", &finding.todo)]
    {
        for (at, line) in wrapped(text, 90).iter().enumerate() {
            writeln!(out, "{:8}{line}", if at == 0 { title } else { "" })?;
        }
    }
    writeln!(out)
}
