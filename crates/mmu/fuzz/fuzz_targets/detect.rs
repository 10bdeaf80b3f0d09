//! Recognising formats and compression.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mmu_fuzz::read(data, None));
