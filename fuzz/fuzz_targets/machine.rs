//! Machine descriptions, TOML and JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &str| {
    let _ = mmu::machine::Machine::from_text(data, "fuzz");
});
