//! Long CSV.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| tlbench_fuzz::import_behind("config,block,slot,invocation,sample,metric,unit,direction,kind,summary,value,lo,hi,mean,rel_se_pct,n_runs\n", data));
