//! What the targets share.

use record::import::{Options, Source, read};

/// Imports `data` as it is, and behind `opening`, which leads to one reader.
pub fn import_behind(opening: &str, data: &[u8]) {
    for input in [[opening.as_bytes(), data].concat(), data.to_vec()] {
        if let Ok(imported) = read(vec![Source::bytes("fuzz", input)], &Options::default()) {
            let _ = imported.into_one();
        }
    }
}
