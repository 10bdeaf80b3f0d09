//! Making and ending processes and threads.

mod child;
mod exec;
mod exec_chain;
mod exit;
mod fork;
mod posix_spawn;
mod program;
mod resident;
mod thread;
mod vfork;

use harness::Benchmark;

/// The section's benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    let mut all = vec![fork::tiny()];
    all.extend(resident::SIZES.into_iter().map(|(name, bytes)| fork::resident(name, bytes)));
    all.extend(
        [("64m", 64 << 20), ("1g", 1 << 30)].into_iter().map(|(name, bytes)| exit::benchmark(name, bytes)),
    );
    all.extend(exec::benchmarks());
    all.extend([vfork::vfork(), vfork::vfork_exec(), posix_spawn::benchmark(), thread::benchmark()]);
    all.push(exec_chain::benchmark());
    all
}
