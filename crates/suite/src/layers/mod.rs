//! What stands between a program and a system call: a null call with a filter or a probe attached.

mod probe;
mod seccomp;

use harness::Benchmark;
use harness::prelude::*;

/// The section's benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    let mut all = seccomp::benchmarks();
    all.extend(probe::benchmarks());
    all
}

/// A null call under a layer, `name`, and what the layer adds to the bare call, `added`.
fn layered(
    name: &'static str,
    added: &'static str,
    doc: &str,
    run: impl Fn(&mut Bench) -> Result<(), Stop> + Send + Sync + 'static,
) -> Benchmark {
    Benchmark::new(name, run).metric(time(name, "call", format!("A raw getppid {doc}."))).metric(time(
        added,
        "call",
        format!("What {name} takes more than the bare call measured before in the same process."),
    ))
}

/// The 25th percentile of bare null calls, ns: measured before the layer is there.
fn bare_ns(bench: &Bench) -> f64 {
    const CALLS: u64 = 1000;
    let clock = bench.job().clock;
    let samples: Vec<f64> = (0..40)
        .map(|_| {
            let start = clock.stamp();
            for _ in 0..CALLS {
                std::hint::black_box(getppid());
            }
            clock.ns(clock.stamp() - start) / CALLS as f64
        })
        .collect();
    harness::declared_number(Estimator::P25, &samples).unwrap_or(0.0)
}

/// Measures null calls under the layer; yields how many there were.
fn measure(bench: &mut Bench, name: &'static str, added: &'static str, bare_ns: f64) -> Result<u64, Stop> {
    let parent = getppid();
    let mut made = 1;
    bench.measure(name, |calls, timer| {
        let start = timer.stamp();
        let mut right = true;
        for _ in 0..calls {
            right &= getppid() == parent;
        }
        let end = timer.stamp();
        timer.add(start, end);
        timer.also(added, timer.ns(end - start) / calls as f64 - bare_ns);
        made += calls;
        check(right, "getppid does not name the parent")
    })?;
    bench.note(name, "bare_ns", bare_ns);
    Ok(made)
}

#[inline(always)]
fn getppid() -> i64 {
    // SAFETY: getppid has no arguments.
    unsafe { libc::syscall(libc::SYS_getppid) }
}
