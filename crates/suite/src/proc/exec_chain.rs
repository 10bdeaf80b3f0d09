//! `proc.exec_chain`: a program that executes itself again and again.
//!
//! Timed: chains of 50 successive `execve` calls of the tiny static program by itself, each with a shorter argument, and
//! per chain one fork and one wait. Per exec: the whole time over the 50 execs, so a fiftieth of a fork is in it. `.faults`
//! is the page faults per exec. This is the exec loop that kernel mailing lists argue with, on a program that does not
//! change with this one.
//! Proof: each chain ends with status 0, which it does only after the last exec; a chain has at least a fault per exec.

use harness::prelude::*;

use super::child;
use super::program::Program;

/// Execs in one chain.
const LENGTH: u64 = 50;

/// The benchmark.
pub fn benchmark() -> Benchmark {
    Benchmark::new("proc.exec_chain", run)
        .metric(
            time(
                "proc.exec_chain",
                "exec",
                "execve of a tiny static program by itself, 50 in a row per fork.",
            )
            .blocking(),
        )
        .metric(
            count("proc.exec_chain.faults", "exec", "Page faults of the chain over its execs.")
                .direction(Direction::Smaller)
                .estimator(Estimator::Median),
        )
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    // The program stops at an empty argument: one exec from us, then one for each character.
    let argument = "x".repeat(LENGTH as usize - 1);
    let program = Program::tiny(bench, "proc.exec_chain", Some(&argument))?;
    bench.note("proc.exec_chain", "execs_per_fork", LENGTH);
    bench.measure("proc.exec_chain", |iterations, timer| {
        let mut faults = 0;
        timer.time(|| {
            (0..iterations).try_for_each(|_| {
                let pid = child::fork()?;
                if pid == 0 {
                    program.execute();
                }
                faults += child::reap(pid)?;
                Ok::<(), Stop>(())
            })
        })?;
        let execs = iterations * LENGTH;
        check(faults >= execs, &format!("{faults} faults in {execs} execs"))?;
        timer.worked(execs as f64);
        timer.also("proc.exec_chain.faults", faults as f64 / execs as f64);
        Ok(())
    })
}
