//! The hidden sub-command a coordinator re-executes this program with.

use std::process::ExitCode;

/// Runs the one benchmark named by the job on standard input.
pub fn run() -> ExitCode {
    let sections = suite::sections();
    let mut benchmarks = sections.iter().flat_map(|section| &section.benchmarks);
    match harness::worker::run(|name| benchmarks.find(|b| b.name == name)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(70)
        }
    }
}
