//! Perf stat -x.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| tlbench_fuzz::import_behind("0.60,msec,task-clock,600000,100.00,0.5,CPUs utilized\n", data));
