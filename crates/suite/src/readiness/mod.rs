//! Asking which of many descriptors is ready: select, poll, epoll.

mod descriptors;
mod epoll;
mod poll;
mod select;

use descriptors::{Descriptors, Kind, SIZES};
use harness::prelude::*;

/// The section's benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    Kind::ALL
        .into_iter()
        .flat_map(|kind| [select::benchmark(kind), poll::benchmark(kind), epoll::benchmark(kind)])
        .collect()
}

/// A benchmark of `call` (`select`, ...) with two metrics for each size: none ready with a zero timeout, and `.block`.
fn family(
    call: &'static str,
    kind: Kind,
    run: impl Fn(&mut Bench, Kind) -> Result<(), Stop> + Send + Sync + 'static,
) -> Benchmark {
    let mut benchmark = Benchmark::new(format!("{call}.{kind}"), move |bench| run(bench, kind));
    let definition = match kind {
        // Were FIFOs.
        Kind::File => 2,
        Kind::Tcp => 1,
    };
    for size in SIZES {
        let on = format!("{size} distinct {}", kind.words());
        benchmark = benchmark
            .metric(
                time(
                    format!("{call}.{kind}.{size}"),
                    "call",
                    format!("{call} on {on}, none ready, zero timeout."),
                )
                .definition(definition),
            )
            .metric(
                time(
                    format!("{call}.{kind}.{size}.block"),
                    "call",
                    format!(
                        "{call} on {on} without a time limit, the last one ready: registers at every wait queue."
                    ),
                )
                .definition(definition),
            );
    }
    benchmark.parts(2 * SIZES.len() as u32).weight(3.0)
}

/// Measures `call` on every size that the descriptor limit allows: first with none ready, then `.block`.
/// `measure(bench, metric, descriptors, blocking)` times one metric.
fn each_size(
    bench: &mut Bench,
    call: &str,
    kind: Kind,
    mut measure: impl FnMut(&mut Bench, &str, &[i32], bool) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let descriptors = Descriptors::open(bench, kind)?;
    let fds = descriptors.numbers();
    for size in SIZES {
        let name = format!("{call}.{kind}.{size}");
        let block = format!("{name}.block");
        let Some(part) = fds.get(..size) else {
            bench.absent(&name, descriptors.too_few(size));
            bench.absent(&block, descriptors.too_few(size));
            continue;
        };
        measure(bench, &name, part, false)?;
        descriptors.make_ready(size - 1)?;
        measure(bench, &block, part, true)?;
        descriptors.empty(size - 1)?;
        for (metric, ready) in [(&name, 0), (&block, 1)] {
            bench.note(metric, "descriptors", size);
            bench.note(metric, "ready", ready);
            bench.note(metric, "object", kind.words());
        }
    }
    Ok(())
}
