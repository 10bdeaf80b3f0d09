//! LMbench summary tables (`make see`) inside any text: mails with quoting, wrapped rulers, prose, `make[1]:` lines.
//!
//! A cell belongs to the column whose right edge it touches. Where blanks were lost on the way, a row is read only as
//! far as its cells can stand in one column each (the digits shown give a column's width away); nothing is guessed.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};

use super::columns::{Column, Meaning, Section, section_of};
use super::row::{self, Row};
use super::{Version, cell};
use crate::import::ImportError;
use crate::import::lines::Line;
use crate::import::number;
use crate::import::sink::{Run, Sink};

/// Lines between a title and its ruler.
const MOST_HEADING_LINES: usize = 8;

/// The section being read.
struct Open {
    section: Section,
    random: bool,
    heading_lines: usize,
    /// The ruler's text, joined when a mailer wrapped it.
    ruler: Option<Vec<u8>>,
    rows: usize,
    /// Rows seen per host and OS.
    seen: HashMap<(String, String), usize>,
}

/// All rows of one host and OS in one summary.
struct Host {
    table: usize,
    host: String,
    os: String,
    runs: Vec<Run>,
    /// Rows per section, to see where rows are missing.
    rows: HashMap<&'static str, usize>,
}

/// Reads the tables of one text.
#[derive(Default)]
pub(in super::super) struct Reader {
    version: Option<Version>,
    table: usize,
    open: Option<Open>,
    hosts: Vec<Host>,
    /// Hashes of rows read, with their quoting depth: a reply quotes them again.
    known: HashMap<u64, u8>,
    copies: usize,
}

impl Reader {
    /// Whether a section is open, so that rows are expected.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Takes a banner or a section title.
    pub fn starts(&mut self, text: &[u8]) -> bool {
        let text = text.trim_ascii();
        if text.starts_with(b"L M B E N C H") {
            let digit = text[13..].iter().find(|b| b.is_ascii_digit());
            self.version = match digit {
                Some(b'2') => Some(Version::V2),
                Some(b'3') => Some(Version::V3),
                _ => Some(Version::Unknown),
            };
            self.table += 1;
            self.open = None;
            return true;
        }
        let Some(section) = section_of(text) else { return false };
        self.open = Some(Open {
            section,
            random: false,
            heading_lines: 0,
            ruler: None,
            rows: 0,
            seen: HashMap::new(),
        });
        true
    }

    /// Takes a line while a section is open; false when it is no part of the table.
    pub fn line(&mut self, line: &Line, sink: &mut Sink) -> Result<bool, ImportError> {
        let Some(open) = &mut self.open else { return Ok(false) };
        let text = line.text;
        let dashes = !text.is_empty() && text.iter().all(|&b| b == b'-' || b == b' ');
        let Some(ruler) = &mut open.ruler else {
            open.heading_lines += 1;
            if dashes && text.contains(&b' ') && row::groups(text).len() >= 3 {
                open.ruler = Some(text.to_vec());
            } else if open.heading_lines > MOST_HEADING_LINES {
                self.open = None;
                return Ok(false);
            } else {
                open.random |= memchr::memmem::find(text, b"Rand").is_some();
            }
            return Ok(true);
        };
        if dashes && open.rows == 0 {
            ruler.push(b' ');
            ruler.extend_from_slice(text);
            return Ok(true);
        }
        let Some(row) = row::Row::of(text, ruler, open.section == Section::Basic) else {
            return Ok(false);
        };
        open.rows += 1;
        let mut hash = DefaultHasher::new();
        (open.section.name(), text).hash(&mut hash);
        let hash = hash.finish();
        if self.known.get(&hash).is_some_and(|&depth| depth < line.depth) {
            self.copies += 1;
            return Ok(true);
        }
        self.known.entry(hash).or_insert(line.depth);
        self.row(&row, line, sink)?;
        Ok(true)
    }

    fn row(&mut self, row: &Row, line: &Line, sink: &mut Sink) -> Result<(), ImportError> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let (section, random) = (open.section, open.random);
        let shown = self.version.unwrap_or(Version::Unknown);
        let version = match shown {
            Version::Unknown if row.ruled == section.columns(Version::V2, random).len() => Version::V2,
            version => version,
        };
        let columns = section.columns(version, random);
        let key = (row.host.clone(), row.os.clone());
        let nth = open.seen.entry(key).or_default();
        *nth += 1;
        let nth = *nth;
        let table = self.table;
        let at = self
            .hosts
            .iter()
            .position(|host| host.table == table && host.host == row.host && host.os == row.os);
        let at = at.unwrap_or_else(|| {
            self.hosts.push(Host {
                table,
                host: row.host.clone(),
                os: row.os.clone(),
                runs: vec![],
                rows: HashMap::new(),
            });
            self.hosts.len() - 1
        });
        let host = &mut self.hosts[at];
        host.rows.insert(section.name(), nth);
        while host.runs.len() < nth {
            let mut run = Run::new(shown.tool());
            run.environment.insert("OS".into(), json!(row.os));
            host.runs.push(run);
        }
        let run = &mut host.runs[nth - 1];
        if let Some(description) = &row.description {
            run.environment.insert("description".into(), json!(description));
        }
        for placed in row.place(section, &columns) {
            match placed {
                Ok((token, column)) => put(run, shown, section, &column, token, line, sink)?,
                Err(why) => sink.skip(line.number, line.text, why),
            }
        }
        Ok(())
    }

    /// Hands over all rows as runs of their configurations.
    pub fn finish(self, sink: &mut Sink) {
        if self.copies > 0 {
            sink.note(format!("{} table rows are quoted again later and count once", self.copies));
        }
        let count = |f: &dyn Fn(&Host) -> bool| self.hosts.iter().filter(|h| f(h)).count();
        let labels: Vec<String> = self
            .hosts
            .iter()
            .map(|this| {
                let kernels = count(&|h| h.table == this.table && h.host == this.host && h.os != this.os);
                let tables = count(&|h| h.table != this.table && h.host == this.host && h.os == this.os);
                let os = if kernels > 0 { format!(" {}", this.os) } else { String::new() };
                let table = if tables > 0 { format!(" (table {})", this.table) } else { String::new() };
                format!("{}{os}{table}", this.host)
            })
            .collect();
        for (host, label) in self.hosts.into_iter().zip(labels) {
            let most = host.rows.values().max().copied().unwrap_or(0);
            let mut short: Vec<_> =
                host.rows.iter().filter(|(_, n)| **n < most).map(|(name, _)| *name).collect();
            short.sort_unstable();
            if !short.is_empty() {
                sink.note(format!(
                    "{label}: fewer rows in {} than in other tables; which run a row belongs to is not certain there",
                    short.join(", ")
                ));
            }
            for mut run in host.runs {
                run.configuration = Some(label.clone());
                sink.run(run);
            }
        }
    }
}

/// Puts one cell into its run.
fn put(
    run: &mut Run,
    version: Version,
    section: Section,
    column: &Column,
    token: &[u8],
    line: &Line,
    sink: &mut Sink,
) -> Result<(), ImportError> {
    if token == b"-" {
        return Ok(());
    }
    if column.meaning == Meaning::Environment {
        let value = number::decimal(token).map(|shown| shown.value);
        match value {
            Some(value) if value > 0.0 => {
                run.environment.entry(column.name).or_insert(whole_or_real(value));
            }
            _ => sink.skip(line.number, token, format!("{}: not known to the run", column.name)),
        }
        return Ok(());
    }
    let Some(cell) = cell::read(token, column.width, column.meaning) else {
        let why = format!("{}: not a number the summary script prints on purpose", column.name);
        sink.skip(line.number, token, why);
        return Ok(());
    };
    let name = format!("lmbench/{}", column.name);
    if run.has(&name) {
        return Ok(()); // 2p/0K stands in two tables and is one measurement
    }
    sink.count(line.number)?;
    let (unit, direction) = section.unit();
    let mut invocation = super::value(column.name, unit, direction, version, cell.value, cell.printed);
    if cell.maybe_tenfold {
        invocation.extra.insert("maybe_tenfold".into(), Value::Bool(true));
        sink.note(
            "cells like `123K` in a column of width 4 may stand for ten times as much \
             (the summary script prints 1,234,567 the same way)",
        );
    }
    run.invocations.push(invocation);
    Ok(())
}

/// A JSON integer where the number is one.
pub(in super::super) fn whole_or_real(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 1e15 { json!(value as i64) } else { json!(value) }
}
