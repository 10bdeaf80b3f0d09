//! Go test -bench and benchstat.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| tlbench_fuzz::import_behind("goos: linux\nBenchmarkX-4 100 10 ns/op\nBenchmark", data));
