//! The binary reader.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| tlbench_fuzz::read_trace(data, Some(mmu::reader::Format::NativeBinary)));
