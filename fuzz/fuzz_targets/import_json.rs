//! JSON documents: hyperfine, criterion, critcmp, Google Benchmark, perf stat -j.
#![no_main]

use libfuzzer_sys::fuzz_target;
use record::import::{Options, Source, read};

fuzz_target!(|data: &[u8]| {
    let input = [&b"{\""[..], data].concat();
    if let Ok(imported) = read(vec![Source::bytes("fuzz", input)], &Options::default()) {
        let _ = imported.into_one();
    }
    let _ = read(vec![Source::bytes("fuzz", data)], &Options::default());
});
