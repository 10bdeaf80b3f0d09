//! Google Benchmark JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| tlbench_fuzz::import_behind("{\"context\": {}, \"benchmarks\": [{", data));
