//! Go: the benchmark lines of `go test -bench` and the tables of benchstat.
//!
//! A `-count` repeats a benchmark inside one process. A unit that is not Go's own has no direction.

use serde_json::{Value, json};

use super::ImportError;
use super::lines::Line;
use super::number::{Decimal, decimal, text, words};
use super::sink::{Run, Sink};
use crate::{Direction, Invocation, Printed, Unit};

/// Reads the lines of one text.
#[derive(Default)]
pub(super) struct Reader {
    run: Option<Run>,
    table: Option<Table>,
    /// Configurations of benchstat tables, in the order of their columns.
    columns: Vec<Run>,
    environment: serde_json::Map<String, Value>,
}

/// A benchstat table: where its columns begin (in characters) and the unit of each.
struct Table {
    names: Vec<String>,
    starts: Vec<usize>,
    unit: String,
}

/// Unit, direction and factor of a per-operation unit; the name's suffix for all but time.
fn meaning(unit: &str) -> (Unit, Direction, f64, String) {
    let suffix = |unit: &str| format!(" {unit}");
    match unit {
        "ns/op" | "user-ns/op" | "sys-ns/op" => {
            let name = unit.strip_suffix("ns/op").unwrap_or_default().trim_end_matches('-');
            let name = if name.is_empty() { String::new() } else { suffix(name) };
            (Unit::NS, Direction::Smaller, 1.0, name)
        }
        "sec/op" => (Unit::NS, Direction::Smaller, 1e9, String::new()),
        "B/op" => (Unit::BYTES, Direction::Smaller, 1.0, suffix(unit)),
        "allocs/op" => (Unit::COUNT, Direction::Smaller, 1.0, suffix(unit)),
        "MB/s" => (Unit("bytes/s".into()), Direction::Bigger, 1e6, suffix("B/s")),
        "B/s" => (Unit("bytes/s".into()), Direction::Bigger, 1.0, suffix(unit)),
        other => (Unit::from(other.to_owned()), Direction::None, 1.0, suffix(other)),
    }
}

impl Reader {
    /// Takes a line that is Go's or benchstat's; false when it is neither.
    #[inline]
    pub fn line(&mut self, line: &Line, sink: &mut Sink) -> Result<bool, ImportError> {
        let bytes = line.text;
        if bytes.starts_with(b"Benchmark") {
            return self.benchmark(line, sink);
        }
        // a pipe of box drawing: U+2502
        if memchr::memmem::find(bytes, "│".as_bytes()).is_some() {
            return Ok(self.header(&text(bytes)));
        }
        for key in ["goos", "goarch", "pkg", "cpu"] {
            if let Some(rest) = bytes.strip_prefix(key.as_bytes()).and_then(|r| r.strip_prefix(b": ")) {
                if key != "pkg" {
                    self.environment.insert(key.to_owned(), json!(text(rest.trim_ascii())));
                }
                return Ok(true);
            }
        }
        if self.table.is_some() {
            return self.row(line, sink);
        }
        Ok(false)
    }

    /// Whether rows of a table are expected.
    pub fn in_table(&self) -> bool {
        self.table.is_some()
    }

    /// `BenchmarkName-8   1000   123.4 ns/op   45 B/op   3 allocs/op`.
    fn benchmark(&mut self, line: &Line, sink: &mut Sink) -> Result<bool, ImportError> {
        let mut parts = words(line.text);
        let (Some(name), Some(iterations)) = (parts.next(), parts.next()) else { return Ok(false) };
        let Some(iterations) = decimal(iterations).filter(|shown| shown.decimals == 0) else {
            return Ok(false);
        };
        let pairs: Vec<&[u8]> = parts.collect();
        if pairs.len() < 2 || !pairs.len().is_multiple_of(2) {
            sink.skip(line.number, line.text, "a Go benchmark line without pairs of value and unit");
            return Ok(true);
        }
        let name = text(&name[b"Benchmark".len()..]);
        for pair in pairs.chunks(2) {
            let unit = text(pair[1]);
            let Some(shown) = decimal(pair[0]) else {
                sink.skip(line.number, line.text, format!("{unit}: not a finite number"));
                continue;
            };
            sink.count(line.number)?;
            let (to, direction, factor, suffix) = meaning(&unit);
            if direction == Direction::None {
                sink.note(format!("{unit}: the text does not say which way is good"));
            }
            let bare = Invocation::foreign(&format!("go/{name}{suffix}"), to, direction);
            let mut made = valued(bare, shown, factor);
            made.iterations = Some(iterations.value as u64);
            made.per = Some("op".to_owned());
            let run = self.run.get_or_insert_with(|| Run::new("go test"));
            run.invocations.push(made);
        }
        sink.note("go test -count repeats a benchmark inside one process: the spread between processes is not in it");
        Ok(true)
    }

    /// A header line of benchstat: file names, then units.
    fn header(&mut self, line: &str) -> bool {
        let cells: Vec<&str> = line.split('│').skip(1).collect();
        let names: Vec<String> = cells.iter().map(|cell| cell.trim().to_owned()).collect();
        let unit = |cell: &str| cell.split_whitespace().next().unwrap_or_default().to_owned();
        if names.iter().any(|name| name.contains('/') && (name.contains("/op") || name.contains("/s"))) {
            if let Some(table) = &mut self.table {
                table.unit = unit(&names[0]);
            }
            return true;
        }
        let starts = line.chars().enumerate().filter(|(_, c)| *c == '│').map(|(at, _)| at).collect();
        let names = names.into_iter().filter(|name| !name.is_empty()).collect();
        self.table = Some(Table { names, starts, unit: String::new() });
        true
    }

    /// `Decoder-4   61.15n ± 3%   61.73n ± 2%       ~ (p=0.383 n=10)`.
    fn row(&mut self, line: &Line, sink: &mut Sink) -> Result<bool, ImportError> {
        let Some(table) = &self.table else { return Ok(false) };
        let shown = text(line.text);
        let Some(name) = shown.split_whitespace().next() else {
            self.table = None;
            return Ok(true);
        };
        if name == "geomean" || shown.starts_with(['¹', '²', '³', '⁴']) {
            return Ok(true);
        }
        if !shown.contains('±') {
            self.table = None;
            return Ok(false);
        }
        let (to, direction, factor, suffix) = meaning(&table.unit);
        let n = shown.split("n=").nth(1).and_then(|rest| {
            rest.split(|c: char| !c.is_ascii_digit()).next().and_then(|n| n.parse::<u32>().ok())
        });
        let characters: Vec<char> = shown.chars().collect();
        for (at, _) in characters.iter().enumerate().filter(|(_, c)| **c == '±') {
            let before: String = characters[..at].iter().collect();
            let word = before.split_whitespace().next_back().unwrap_or_default();
            let after: String = characters[at + 1..].iter().collect();
            let spread = after.split_whitespace().next().unwrap_or_default();
            let column = table.starts.iter().filter(|start| **start < at).count();
            let Some(configuration) = column.checked_sub(1).and_then(|c| table.names.get(c)) else {
                sink.skip(line.number, line.text, format!("{word}: stands under no file"));
                continue;
            };
            let Some((value, scale)) = scaled(word) else {
                sink.skip(line.number, line.text, format!("{word}: not a number benchstat prints"));
                continue;
            };
            sink.count(line.number)?;
            let bare = Invocation::foreign(&format!("go/{name}{suffix}"), to.clone(), direction);
            let mut made = valued(bare, value, scale * factor);
            made.per = Some("op".to_owned());
            made.extra.insert("median_of".into(), json!(n));
            let pct = decimal(spread.trim_end_matches('%').as_bytes()).map(|shown| shown.value);
            made.extra.insert("ci95_half_pct".into(), json!(pct));
            let at = self.columns.iter().position(|run| run.configuration.as_ref() == Some(configuration));
            let at = at.unwrap_or_else(|| {
                let mut run = Run::new("benchstat");
                run.configuration = Some(configuration.clone());
                self.columns.push(run);
                self.columns.len() - 1
            });
            self.columns[at].invocations.push(made);
        }
        Ok(true)
    }

    /// Hands over what was read.
    pub fn finish(self, sink: &mut Sink) {
        for mut run in self.run.into_iter().chain(self.columns) {
            run.environment.clone_from(&self.environment);
            sink.run(run);
        }
    }
}

fn valued(bare: Invocation, shown: Decimal, factor: f64) -> Invocation {
    if shown.value == 0.0 {
        let mut zero = bare.without_value(crate::Status::Skipped, "printed 0: no ratio can be formed");
        zero.extra.insert("counted".into(), json!(0));
        return zero;
    }
    let mut made = bare.with_value(shown.value * factor);
    let printed = shown.rounded();
    made.printed = made.value.map(|_| Printed { lo: printed.lo * factor, hi: printed.hi * factor });
    made
}

/// `61.15n`, `1.2µ` (three code points are in use), `4.5Ki`: number and factor.
fn scaled(word: &str) -> Option<(Decimal, f64)> {
    let end = word.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(word.len());
    let factor = match &word[end..] {
        "" => 1.0,
        "n" => 1e-9,
        "u" | "µ" | "μ" => 1e-6,
        "m" => 1e-3,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1024.0,
        "Mi" => 1_048_576.0,
        "Gi" => 1_073_741_824.0,
        _ => return None,
    };
    Some((decimal(&word.as_bytes()[..end])?, factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_of_micro() {
        for word in ["1.5u", "1.5µ", "1.5μ"] {
            assert_eq!(scaled(word).map(|(d, f)| d.value * f), Some(1.5e-6), "{word}");
        }
        assert_eq!(scaled("448x"), None);
    }
}
