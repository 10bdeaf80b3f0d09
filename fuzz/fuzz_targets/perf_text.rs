//! Perf stat text.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| tlbench_fuzz::import_behind("\n Performance counter stats for 'true' (10 runs):\n\n", data));
