//! tlbench measures what a kernel, CPU and memory system cost, compares two states of a machine, and explains the
//! difference. This crate parses arguments, calls the rooms below it and prints; it measures nothing itself.

#![forbid(unsafe_code)]

mod cli;
mod cmd;
mod copies;
mod exit;
mod inputs;
mod interleave;
mod measure;
mod output;
mod select;
mod stat;
mod state;
mod terminal;
mod verdict;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Workers start here, before any argument is parsed: their start-up is part of every invocation.
    if std::env::args_os().nth(1).is_some_and(|a| a == harness::worker::SUBCOMMAND) {
        return cmd::worker::run();
    }
    if let Some(outcome) = cmd::exec_chain::in_chain() {
        return exit::code(outcome);
    }
    exit::code(cli::run())
}
