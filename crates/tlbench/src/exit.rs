//! Exit codes (`docs/exit-codes.md`): 0 done, 1 measured but something failed, 2 usage or input error,
//! 130/143 interrupted; comparisons use 0-4.

use std::io::{self, Write};
use std::process::ExitCode;

/// What a command ends with when nothing went wrong in it.
pub type Outcome = anyhow::Result<ExitCode>;

/// Prints an error, if any, and turns the outcome into the process's exit code. A broken pipe is no error.
pub fn code(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "tlbench: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let json = cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        io.or(json) == Some(io::ErrorKind::BrokenPipe)
    })
}
