//! `tlbench exec-chain N`: a program that executes itself N times, one after the other.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use anyhow::Context;

use crate::exit::Outcome;

/// Name of the sub-command, which `main` looks for before anything else: what runs before it is part of every exec.
pub const NAME: &str = "exec-chain";

/// Execute this program by itself N times: a workload of exec, page faults and instruction TLB misses for `stat`
#[derive(clap::Args)]
pub struct Args {
    /// How often
    #[arg(value_name = "N")]
    count: u64,
}

/// Runs the command.
pub fn run(args: &Args) -> Outcome {
    next(args.count)
}

/// The fast path of `main`: the rest of a chain, when the arguments are those of one.
pub fn in_chain() -> Option<Outcome> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != NAME {
        return None;
    }
    let left = arguments.next()?.to_str()?.parse().ok()?;
    arguments.next().is_none().then(|| next(left))
}

fn next(left: u64) -> Outcome {
    let Some(left) = left.checked_sub(1) else { return Ok(ExitCode::SUCCESS) };
    let own = std::env::current_exe().context("finding this program")?;
    let error = Command::new(&own).arg(NAME).arg(left.to_string()).exec();
    Err(error).with_context(|| format!("executing {} again", own.display()))
}
