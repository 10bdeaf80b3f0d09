//! The cloudsuite reader.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mmu_fuzz::read(data, Some(mmu::reader::Format::CloudSuite)));
