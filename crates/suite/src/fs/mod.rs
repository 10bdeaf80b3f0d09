//! Files: creating and deleting them.

mod create_delete;

use harness::Benchmark;

/// The section's benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    create_delete::benchmarks()
}
