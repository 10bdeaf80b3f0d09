//! Files on the command line: records of ours and foreign results, with what was skipped.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use record::Record;
use record::import::{self, Imported, Options};
use report::compare::Named;

/// Reads every path (`-` is standard input, a directory is one configuration) into records; `runs` names runs of a
/// foreign configuration. What was skipped is said on standard error.
pub fn read(paths: &[PathBuf], runs: &[Runs]) -> anyhow::Result<(Vec<Named>, Vec<String>)> {
    let (own, foreign): (Vec<&PathBuf>, Vec<&PathBuf>) = paths.iter().partition(|path| is_record(path));
    let mut named = Vec::new();
    for path in own {
        let record = Record::open(path).with_context(|| path.display().to_string())?;
        for (line, why) in &record.skipped {
            eprintln!("tlbench: {}:{line}: skipped: {why}", path.display());
        }
        named.push(Named { file: file_name(path, paths), record });
    }
    let mut notes = Vec::new();
    if !foreign.is_empty() {
        let foreign: Vec<PathBuf> = foreign.into_iter().cloned().collect();
        let imported = import::read_paths(&foreign, &Options { runs: runs.to_vec(), ..Options::default() })?;
        say_skipped(&imported);
        notes.extend(imported.notes);
        named.extend(
            imported.records.into_iter().map(|record| Named { file: record.header.label.clone(), record }),
        );
    }
    if named.is_empty() {
        bail!("no file given");
    }
    Ok((named, notes))
}

/// Runs of one configuration that are a configuration of their own: numbers from 1, and a name.
pub type Runs = (std::ops::RangeInclusive<usize>, String);

/// `before=1` or `after=2-3`.
pub fn parse_runs(text: &str) -> Result<Runs, String> {
    let wrong = || format!("{text}: write e.g. before=1 or after=2-3");
    let (name, range) = text.rsplit_once('=').ok_or_else(wrong)?;
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    match (first.trim().parse::<usize>(), last.trim().parse::<usize>()) {
        (Ok(first), Ok(last)) if first >= 1 && first <= last && !name.is_empty() => {
            Ok((first..=last, name.to_owned()))
        }
        _ => Err(wrong()),
    }
}

/// Names skipped lines on standard error.
pub fn say_skipped(imported: &Imported) {
    let mut err = std::io::stderr().lock();
    for skipped in &imported.skipped {
        let _ = writeln!(err, "tlbench: skipped {skipped}");
    }
    if imported.skipped_more > 0 {
        let _ = writeln!(err, "tlbench: and {} more lines skipped", imported.skipped_more);
    }
}

/// True for a file that begins like a record of ours.
fn is_record(path: &Path) -> bool {
    use std::io::Read;
    let mut head = [0u8; 24];
    let read = std::fs::File::open(path).and_then(|mut file| {
        if !file.metadata()?.is_file() {
            return Ok(0);
        }
        file.read(&mut head)
    });
    read.is_ok_and(|n| head[..n].starts_with(b"{\"type\":\"header\""))
}

/// The file's name without extension, or its whole path when another argument has the same one.
fn file_name(path: &Path, all: &[PathBuf]) -> String {
    let stem = |p: &Path| p.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let own = stem(path);
    if all.iter().filter(|other| stem(other) == own).count() > 1 { path.display().to_string() } else { own }
}
