//! Text formats: LMbench result files and tables, perf stat text, Go. Begins like nothing else, so that no input is taken for JSON or CSV.
#![no_main]

use libfuzzer_sys::fuzz_target;
use record::import::{Options, Source, read};

fuzz_target!(|data: &[u8]| {
    let input = [&b"text\n"[..], data].concat();
    if let Ok(imported) = read(vec![Source::bytes("fuzz", input)], &Options::default()) {
        let _ = imported.into_one();
    }
    let _ = read(vec![Source::bytes("fuzz", data)], &Options::default());
});
