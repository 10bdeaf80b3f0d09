//! Replays the seeds of the fuzzers: every file of `fuzz_corpus/FORMAT` through the reader of that format.

use std::path::Path;

use mmu::machine::Machine;
use mmu::reader::{Format, open};

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect()
}

#[test]
fn the_corpus_gives_records_or_a_place_and_a_reason() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz_corpus");
    let mut formats = 0;
    for folder in files(&corpus) {
        let name = folder.file_name().unwrap().to_str().unwrap();
        if name == "machine" {
            for file in files(&folder) {
                Machine::from_text(&std::fs::read_to_string(&file).unwrap(), "corpus").unwrap();
            }
            continue;
        }
        let format = Format::parse(name);
        assert!(format.is_some() || name == "detect", "{name} is no format");
        formats += 1;
        for file in files(&folder) {
            let path = file.to_str().unwrap();
            let outcome = open(path, format).and_then(|mut reader| {
                let mut chunk = Vec::new();
                while reader.read(&mut chunk)? {}
                Ok(chunk.len())
            });
            match outcome {
                Ok(records) => assert!(path.ends_with("plain") && records > 0, "{path}: {records} records"),
                Err(e) => {
                    assert!(!path.ends_with("plain"), "{e}");
                    assert!(e.to_string().contains("byte"), "{path}: {e}");
                }
            }
        }
    }
    assert_eq!(formats, Format::ALL.len() + 1, "a reader has no corpus");
}
