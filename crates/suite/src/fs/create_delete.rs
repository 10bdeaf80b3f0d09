//! `fs.create.0k`, `fs.delete.0k`, `.10k`, and each with `.fsync`: small files come and go.
//!
//! Timed: creating is `open(O_CREAT|O_EXCL)`, one `write` of the file's contents (none for 0k), `close`; deleting is
//! `unlink`. With `.fsync` a creation also syncs the file before its close, and a deletion syncs the directory. Per
//! file. At most a hundred files are in the directory at a time; names are eight characters, all of one length.
//! Proof: every call succeeds, the last file has its size, and the directory is empty afterwards.
//! Pitfalls: the file system decides. The record says which one, in which directory, and how large the folios of the
//! written file are in the page cache. Without `.fsync` nothing reaches a disk within the timed window, so later
//! write-back is not in the number.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use environment::Root;
use harness::prelude::*;
use serde_json::{Value, json};

use crate::vm::{folio_bytes, map_file};

/// Most files at a time.
const MOST_FILES: u64 = 100;

/// One benchmark per size and durability.
pub fn benchmarks() -> Vec<Benchmark> {
    [("0k", 0), ("10k", 10 << 10)]
        .into_iter()
        .flat_map(|(label, bytes)| [false, true].map(|fsync| benchmark(label, bytes, fsync)))
        .collect()
}

fn benchmark(label: &str, bytes: usize, fsync: bool) -> Benchmark {
    let suffix = if fsync { ".fsync" } else { "" };
    let create = format!("fs.create.{label}{suffix}");
    let delete = format!("fs.delete.{label}{suffix}");
    let (write, sync) = match (bytes, fsync) {
        (0, false) => ("open(O_CREAT) and close", ""),
        (0, true) => ("open(O_CREAT), fsync and close", ", then fsync of the directory"),
        (_, false) => ("open(O_CREAT), one write and close", ""),
        (_, true) => ("open(O_CREAT), one write, fsync and close", ", then fsync of the directory"),
    };
    let names = (create.clone(), delete.clone());
    Benchmark::new(create.clone(), move |bench| run(bench, &names.0, &names.1, bytes, fsync))
        .metric(
            time(create, "file", format!("{write} of a file of {label}B in the test directory.")).blocking(),
        )
        .metric(
            time(delete, "file", format!("unlink of a file of {label}B in the test directory{sync}."))
                .blocking(),
        )
}

fn run(bench: &mut Bench, create: &str, delete: &str, bytes: usize, fsync: bool) -> Result<(), Stop> {
    let directory = bench.job().scratch.join("files");
    fs::create_dir(&directory).map_err(|e| Stop::unavailable("creating the test directory", &e))?;
    let handle = File::open(&directory).map_err(|e| Stop::unavailable("opening the test directory", &e))?;
    let contents = vec![0x5au8; bytes];
    let paths: Vec<PathBuf> = (0..MOST_FILES).map(|i| directory.join(format!("file{i:04}"))).collect();
    let facts = facts(&directory, &contents);
    for (key, value) in &facts {
        bench.note(create, key, value.clone());
        bench.note(delete, key, value.clone());
    }
    bench.measure_up_to(create, MOST_FILES, |files, timer| {
        let paths = &paths[..files as usize];
        timer
            .time(|| paths.iter().try_for_each(|path| create_file(path, &contents, fsync)))
            .map_err(|e| Stop::unavailable("creating a file", &e))?;
        if let Some(last) = paths.last() {
            let size = fs::metadata(last).map_err(|e| Stop::unavailable("stat of a created file", &e))?.len();
            check(size == contents.len() as u64, "the created file does not have its size")?;
        }
        timer
            .time_as(delete, files as f64, || {
                paths.iter().try_for_each(|path| {
                    fs::remove_file(path)?;
                    if fsync { handle.sync_all() } else { Ok(()) }
                })
            })
            .map_err(|e| Stop::unavailable("deleting a file", &e))?;
        let empty = fs::read_dir(&directory).is_ok_and(|mut entries| entries.next().is_none());
        check(empty, "files are left after deletion")
    })
}

fn create_file(path: &Path, contents: &[u8], fsync: bool) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    if !contents.is_empty() {
        file.write_all(contents)?;
    }
    if fsync { file.sync_all() } else { Ok(()) }
}

/// What decides the number: file system, directory, and the folio size of a file written as the timed ones are.
fn facts(directory: &Path, contents: &[u8]) -> Vec<(&'static str, Value)> {
    let kind = environment::filesystem_type(&Root::host(), directory).map_err(|missing| missing.reason);
    let mut facts = vec![("directory", json!(directory.parent().map(Path::display).map(|d| d.to_string())))];
    match kind {
        Ok(kind) => facts.push(("file_system", json!(kind))),
        Err(reason) => facts.extend([("file_system", Value::Null), ("file_system_reason", json!(reason))]),
    }
    match folio_of_written_file(directory, contents) {
        Ok(bytes) => facts.push(("folio_bytes", json!(bytes))),
        Err(reason) => facts.extend([("folio_bytes", Value::Null), ("folio_reason", json!(reason))]),
    }
    facts
}

fn folio_of_written_file(directory: &Path, contents: &[u8]) -> Result<u64, String> {
    if contents.is_empty() {
        return Err("an empty file has no pages".to_owned());
    }
    let path = directory.join("probe");
    let found = create_file(&path, contents, false).map_err(|e| e.to_string()).and_then(|()| {
        let file = File::open(&path).map_err(|e| e.to_string())?;
        let map = map_file(&file, contents.len(), false).map_err(|stop| stop.to_string())?;
        map.read_byte(0);
        folio_bytes(&map)
    });
    fs::remove_file(&path).ok();
    found
}
