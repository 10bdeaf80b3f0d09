//! Verdict throughput, as a ratio: comparing a table against sorting the same numbers once.
//!
//! Prints criterion's times of both and, last, their ratio measured in this very run; absolute times depend on the
//! machine and are not judged.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use stats::simulate::Scenario;
use stats::{Layout, Options, Plan, Table, compare};

fn tables() -> Vec<(&'static str, Table)> {
    let blocks = Scenario::aa(10, 1).table();
    let looks = Scenario { plan: Plan::looks(), ..Scenario::aa(32, 1) }.table();
    let unknown = Table { layout: Layout::Unknown, ..blocks.clone() };
    let sittings = Table { layout: Layout::Sittings, ..blocks.clone() };
    vec![("blocks_10", blocks), ("looks_32", looks), ("unknown_10", unknown), ("sittings_10", sittings)]
}

/// Copies and sorts every cell's values: the least that any robust statistic must do.
fn sort_all(table: &Table) -> f64 {
    let mut sum = 0.0;
    for cell in table.metrics.iter().flat_map(|metric| &metric.cells) {
        let mut values: Vec<f64> = cell.observations.iter().map(|o| o.value).collect();
        values.sort_by(f64::total_cmp);
        sum += values[values.len() / 2];
    }
    sum
}

fn time(rounds: u32, mut work: impl FnMut()) -> Duration {
    let start = Instant::now();
    (0..rounds).for_each(|_| work());
    start.elapsed()
}

fn verdicts(c: &mut Criterion) {
    let options = Options::default();
    for (name, table) in tables() {
        c.bench_function(&format!("compare/{name}"), |b| {
            b.iter(|| compare(black_box(&table), &[(0, 1)], &options))
        });
        c.bench_function(&format!("sort/{name}"), |b| b.iter(|| sort_all(black_box(&table))));
        // interleaved rounds, the fastest of each, so that a busy machine slows both alike
        let fastest =
            |work: &mut dyn FnMut()| (0..15).map(|_| time(20, &mut *work)).min().unwrap_or_default();
        let compared = fastest(&mut || {
            black_box(compare(black_box(&table), &[(0, 1)], &options));
        });
        let sorted = fastest(&mut || {
            black_box(sort_all(black_box(&table)));
        });
        println!(
            "ratio/{name}: comparing takes {:.0} times one sort",
            compared.as_secs_f64() / sorted.as_secs_f64()
        );
    }
}

criterion_group!(benches, verdicts);
criterion_main!(benches);
