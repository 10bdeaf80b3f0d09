//! The worker process: one benchmark, once, in a fresh process.

use std::io::{self, Read, Write};

use record::Invocation;
use serde::{Deserialize, Serialize};

use crate::affinity::pin_to;
use crate::{Bench, Benchmark, Job, Stop, current_cpu};

/// First argument of a worker's command line; hidden from users.
pub const SUBCOMMAND: &str = "__worker";

/// What a worker prints.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    /// Lines for the record.
    pub lines: Vec<Invocation>,
    /// Iterations found, by metric.
    pub iterations: std::collections::BTreeMap<String, u64>,
    /// `None` when pinned as asked, else what is in force.
    pub not_pinned: Option<String>,
    /// CPU at the end.
    pub cpu: i32,
}

/// Reads a [`Job`] from standard input, runs it with the benchmark that `find` yields, prints a [`Report`].
pub fn run<'a>(find: impl FnOnce(&str) -> Option<&'a Benchmark>) -> io::Result<()> {
    let mut text = String::new();
    io::stdin().take(1 << 20).read_to_string(&mut text)?;
    let job: Job = serde_json::from_str(&text)?;
    let benchmark = find(&job.benchmark)
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("no benchmark {}", job.benchmark)))?;
    let not_pinned = if job.cpus.is_empty() { None } else { pin_to(&job.cpus[..1]).err() };
    if job.copy.is_some() {
        std::fs::create_dir(&job.scratch)?;
    }
    // A benchmark that asks for the current directory gets one that is cleaned up.
    std::env::set_current_dir(&job.scratch).ok();
    let mut bench = Bench::new(benchmark, &job);
    let ended = if benchmark.memory > job.memory_limit {
        Err(Stop::skip(format!(
            "needs {} MiB of memory, {} MiB may be used here",
            benchmark.memory >> 20,
            job.memory_limit >> 20
        )))
    } else {
        bench.keep_in_step().and_then(|()| benchmark.run(&mut bench))
    };
    let iterations = bench.iterations().clone();
    let report = Report { lines: bench.finish(ended), iterations, not_pinned, cpu: current_cpu() };
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, &report)?;
    out.write_all(b"\n")?;
    out.flush()
}
