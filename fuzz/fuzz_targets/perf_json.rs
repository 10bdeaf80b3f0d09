//! Perf stat -j.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| tlbench_fuzz::import_behind("{\"counter-value\" : \"0.6\", \"unit\" : \"msec\", ", data));
