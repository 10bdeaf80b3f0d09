//! Files: creating and deleting them, and moving their bytes without a copy through user space.

mod create_delete;
mod splice;

use harness::Benchmark;

/// The section's benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    let mut all = create_delete::benchmarks();
    all.extend(splice::benchmarks());
    all
}
