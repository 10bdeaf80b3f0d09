//! CSV: the long form, whose header is given so that the rows are reached.
#![no_main]

use libfuzzer_sys::fuzz_target;
use record::import::{Options, Source, read};

fuzz_target!(|data: &[u8]| {
    let input = [&b"config,block,slot,invocation,sample,metric,unit,direction,kind,summary,value,lo,hi,mean,rel_se_pct,n_runs\n"[..], data].concat();
    if let Ok(imported) = read(vec![Source::bytes("fuzz", input)], &Options::default()) {
        let _ = imported.into_one();
    }
    let _ = read(vec![Source::bytes("fuzz", data)], &Options::default());
});
