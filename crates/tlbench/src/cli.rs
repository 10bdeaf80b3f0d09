//! The command line: one sub-command per file of `cmd`.

use clap::{Parser, Subcommand};

use crate::cmd;
use crate::exit::Outcome;

/// Measures what a kernel, CPU and memory system cost, compares two states of a machine, explains the difference.
#[derive(Parser)]
#[command(name = "tlbench", version, max_term_width = 100, infer_subcommands = false)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(Box<cmd::run::Args>),
    Ab(Box<cmd::ab::Args>),
    Aa(cmd::aa::Args),
    Stat(Box<cmd::stat::Args>),
    ExecChain(cmd::exec_chain::Args),
    Compare(cmd::compare::Args),
    Explain(cmd::explain::Args),
    Import(cmd::import::Args),
    List(cmd::list::Args),
    Show(cmd::show::Args),
    Tlb(cmd::tlb::Args),
    Mem(cmd::mem::Args),
    Env(cmd::env::Args),
    Doctor(cmd::doctor::Args),
    Trace(cmd::trace::Args),
    Serve(cmd::serve::Args),
    Sim(Box<cmd::sim::Args>),
}

/// Parses the command line and runs the command.
pub fn run() -> Outcome {
    match Cli::parse().command {
        Command::Run(args) => cmd::run::run(*args),
        Command::Ab(args) => cmd::ab::run(&args),
        Command::Aa(args) => cmd::aa::run(&args),
        Command::Stat(args) => cmd::stat::run(&args),
        Command::ExecChain(args) => cmd::exec_chain::run(&args),
        Command::Compare(args) => cmd::compare::run(&args),
        Command::Explain(args) => cmd::explain::run(&args),
        Command::Import(args) => cmd::import::run(&args),
        Command::List(args) => cmd::list::run(&args),
        Command::Show(args) => cmd::show::run(&args),
        Command::Tlb(args) => cmd::tlb::run(&args),
        Command::Mem(args) => cmd::mem::run(&args),
        Command::Env(args) => cmd::env::run(&args),
        Command::Doctor(args) => cmd::doctor::run(&args),
        Command::Trace(args) => cmd::trace::run(&args),
        Command::Sim(args) => cmd::sim::run(&args),
        Command::Serve(args) => cmd::serve::run(&args),
    }
}
