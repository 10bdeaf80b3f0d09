//! LMbench summary tables inside text.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| tlbench_fuzz::import_behind("                 L M B E N C H  2 . 0   S U M M A R Y\n\nLocal Communication latencies in microseconds - smaller is better\n", data));
