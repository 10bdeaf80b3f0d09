//! LMbench result files.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| tlbench_fuzz::import_behind("[lmbench3.0 results for Linux box 6.1.0 #1 SMP x86_64]\nSimple syscall: 0.1234 microseconds\n", data));
