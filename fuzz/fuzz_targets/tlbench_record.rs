//! Records of ours: what is read must be written and read again the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use record::Record;

fuzz_target!(|data: &[u8]| {
    let header = br#"{"type":"header","schema":1,"tool":"t","started":"","label":"a","plan":{"kind":"run"},"environment":{}}
"#;
    let _ = Record::read(data);
    let _ = Record::read(&[&header[..], data].concat()[..]);
});
