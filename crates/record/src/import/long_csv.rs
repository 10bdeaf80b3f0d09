//! Long CSV: one number per line under a header that names at least `config`, `metric` and `value` or `mean`.

use std::collections::{HashMap, HashSet};

use super::ImportError;
use super::input::Input;
use super::number::{decimal, text};
use super::perf;
use super::sink::{Run, Sink};
use crate::{Direction, Estimator, Invocation, Printed, Status, Summary, Unit};

/// Samples of all invocations together.
const MOST_SAMPLES: usize = 50_000_000;
const FORMAT: &str = "long CSV";

/// Fields understood; others are ignored with a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Field {
    Config,
    Block,
    Slot,
    Invocation,
    Run,
    Sample,
    Section,
    Metric,
    Unit,
    Direction,
    Kind,
    Summary,
    Value,
    Lo,
    Hi,
    Mean,
    RelSe,
    Runs,
}

impl Field {
    fn of(name: &str) -> Option<Field> {
        Some(match name {
            "config" | "configuration" => Field::Config,
            "block" => Field::Block,
            "slot" => Field::Slot,
            "invocation" => Field::Invocation,
            "run" => Field::Run,
            "sample" => Field::Sample,
            "section" => Field::Section,
            "metric" => Field::Metric,
            "unit" => Field::Unit,
            "direction" => Field::Direction,
            "kind" => Field::Kind,
            "summary" => Field::Summary,
            "value" => Field::Value,
            "lo" => Field::Lo,
            "hi" => Field::Hi,
            "mean" => Field::Mean,
            "rel_se_pct" => Field::RelSe,
            "n_runs" => Field::Runs,
            _ => return None,
        })
    }
}

/// A header line understood.
pub(super) struct Header {
    delimiter: u8,
    fields: Vec<Option<Field>>,
    unknown: Vec<String>,
    twice: Option<String>,
}

/// The header in the first line of `head`, when it is one.
pub(super) fn header(head: &[u8]) -> Option<Header> {
    let line = head.split(|&b| b == b'\n').next()?.trim_ascii();
    let delimiter = *[b',', b';', b'\t'].iter().find(|d| line.contains(d))?;
    let names: Vec<String> = line
        .split(|&b| b == delimiter)
        .map(|name| text(name).trim().trim_matches('"').to_ascii_lowercase())
        .collect();
    let fields: Vec<Option<Field>> = names.iter().map(|name| Field::of(name)).collect();
    let has = |field| fields.contains(&Some(field));
    if !(has(Field::Config) && has(Field::Metric) && (has(Field::Value) || has(Field::Mean))) {
        return None;
    }
    let mut seen = HashSet::new();
    let twice = names.iter().zip(&fields).find(|(_, field)| field.is_some_and(|f| !seen.insert(f)));
    let twice = twice.map(|(name, _)| name.clone());
    let unknown = names.iter().zip(&fields).filter(|(_, f)| f.is_none()).map(|(n, _)| n.clone());
    Some(Header { delimiter, unknown: unknown.collect(), fields, twice })
}

/// One line's fields by name.
struct Row<'a> {
    record: &'a csv::ByteRecord,
    at: &'a HashMap<Field, usize>,
}

impl<'a> Row<'a> {
    fn get(&self, field: Field) -> Option<&'a [u8]> {
        let held = self.record.get(*self.at.get(&field)?)?.trim_ascii();
        (!held.is_empty()).then_some(held)
    }

    /// A number, or what stands there instead.
    fn number(&self, field: Field) -> Result<Option<f64>, String> {
        let Some(held) = self.get(field) else { return Ok(None) };
        match decimal(held) {
            Some(shown) => Ok(Some(shown.value)),
            None => Err(format!("{field:?} is not a finite number")),
        }
    }

    fn index(&self, field: Field) -> Result<Option<u32>, String> {
        match self.number(field)? {
            None => Ok(None),
            Some(n) if n >= 0.0 && n.fract() == 0.0 && n < f64::from(u32::MAX) => Ok(Some(n as u32)),
            Some(n) => Err(format!("{field:?} {n} is not a count")),
        }
    }
}

/// Everything of one configuration.
struct Collected {
    run: Run,
    sections: Vec<String>,
}

/// Reads the whole table.
pub(super) fn read(input: &mut Input, header: Header, sink: &mut Sink) -> Result<(), ImportError> {
    let damaged = |place: String, why: String| ImportError::Damaged {
        file: sink.file.clone(),
        format: FORMAT,
        place,
        why,
    };
    if let Some(name) = header.twice {
        return Err(damaged("line 1".into(), format!("the header names `{name}` twice")));
    }
    let at: HashMap<Field, usize> =
        header.fields.iter().enumerate().filter_map(|(i, field)| Some(((*field)?, i))).collect();
    let mut reader =
        csv::ReaderBuilder::new().delimiter(header.delimiter).flexible(true).from_reader(&mut *input);
    let mut table = Table::default();
    let mut record = csv::ByteRecord::new();
    loop {
        match reader.read_byte_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                let place = error
                    .position()
                    .map_or(String::new(), |at| format!("line {}, byte {}", at.line(), at.byte()));
                return Err(ImportError::Damaged {
                    file: sink.file.clone(),
                    format: FORMAT,
                    place,
                    why: error.to_string(),
                });
            }
        }
        let line = record.position().map_or(0, |at| at.line() as usize);
        let row = Row { record: &record, at: &at };
        table.row(&row, header.fields.len(), line, sink)?;
    }
    if !header.unknown.is_empty() {
        sink.note(format!("columns not read: {}", header.unknown.join(", ")));
    }
    table.finish(sink);
    if sink.runs.is_empty() {
        return Err(ImportError::Nothing {
            file: sink.file.clone(),
            what: "a long CSV header without a usable line".into(),
        });
    }
    Ok(())
}

#[derive(Default)]
struct Table {
    configurations: Vec<Collected>,
    index: HashMap<Vec<u8>, usize>,
    /// Invocations whose samples come on several lines.
    open: HashMap<Vec<u8>, (usize, usize)>,
    samples: usize,
}

impl Table {
    fn row(&mut self, row: &Row, width: usize, line: usize, sink: &mut Sink) -> Result<(), ImportError> {
        let why = match (row.get(Field::Config), row.get(Field::Metric)) {
            _ if row.record.len() != width => {
                format!("{} fields under {width} names", row.record.len())
            }
            (None, _) => "no configuration".into(),
            (_, None) => "no metric".into(),
            (Some(config), Some(_)) => match invocation(row) {
                Ok(made) => return self.add(&row.key(), config, made, line, sink),
                Err(why) => why,
            },
        };
        let shown: Vec<&[u8]> = row.record.iter().collect();
        sink.skip(line, &shown.join(&b","[..]), why);
        Ok(())
    }

    fn add(
        &mut self,
        key: &[u8],
        config: &[u8],
        (made, section, sampled): (Invocation, String, bool),
        line: usize,
        sink: &mut Sink,
    ) -> Result<(), ImportError> {
        self.samples += 1;
        if self.samples > MOST_SAMPLES {
            return Err(ImportError::TooLarge {
                file: sink.file.clone(),
                what: format!("more than {MOST_SAMPLES} samples (line {line})"),
            });
        }
        if sampled && let Some(&(config, at)) = self.open.get(key) {
            let kept = &mut self.configurations[config].run.invocations[at];
            kept.samples.get_or_insert_default().extend(made.samples.into_iter().flatten());
            return Ok(());
        }
        sink.count(line)?;
        let next = self.configurations.len();
        let index = *self.index.entry(config.to_vec()).or_insert(next);
        if index == next {
            let mut run = Run::new("csv");
            run.configuration = Some(text(config));
            self.configurations.push(Collected { run, sections: vec![] });
        }
        let collected = &mut self.configurations[index];
        if sampled {
            self.open.insert(key.to_vec(), (index, collected.run.invocations.len()));
        }
        collected.run.invocations.push(made);
        collected.sections.push(section);
        Ok(())
    }

    fn finish(self, sink: &mut Sink) {
        // a metric of one name in several sections is several metrics
        let mut sections: HashMap<&str, &str> = HashMap::new();
        let mut ambiguous: HashSet<String> = HashSet::new();
        for collected in &self.configurations {
            for (invocation, section) in collected.run.invocations.iter().zip(&collected.sections) {
                let first = sections.entry(&invocation.metric).or_insert(section);
                if first != section {
                    ambiguous.insert(invocation.metric.clone());
                }
            }
        }
        let from_zero = self
            .configurations
            .iter()
            .any(|c| c.run.invocations.iter().any(|invocation| invocation.block == Some(0)));
        for Collected { mut run, sections } in self.configurations {
            for (invocation, section) in run.invocations.iter_mut().zip(sections) {
                if ambiguous.contains(&invocation.metric) {
                    invocation.metric = format!("{section}/{}", invocation.metric);
                }
                // a record counts blocks from 1
                if from_zero {
                    invocation.block = invocation.block.map(|block| block + 1);
                }
                summarise(invocation);
            }
            sink.run(run);
        }
    }
}

impl Row<'_> {
    /// What makes an invocation: all fields but the sample and its value.
    fn key(&self) -> Vec<u8> {
        let parts = [
            Field::Config,
            Field::Section,
            Field::Metric,
            Field::Block,
            Field::Slot,
            Field::Run,
            Field::Invocation,
        ];
        parts.iter().flat_map(|&part| [self.get(part).unwrap_or_default(), b"\x1f"].concat()).collect()
    }
}

/// The invocation (or one sample of it) on a line, its section, and whether it is a sample.
fn invocation(row: &Row) -> Result<(Invocation, String, bool), String> {
    let metric = text(row.get(Field::Metric).unwrap_or_default());
    let unit = Unit::from(row.get(Field::Unit).map_or_else(String::new, text));
    let direction = match row.get(Field::Direction) {
        Some(b"smaller") => Direction::Smaller,
        Some(b"bigger") => Direction::Bigger,
        Some(b"none") => Direction::None,
        // Counter names mean the same in every tool; other names say nothing of their direction.
        None => perf::direction(metric.split(' ').next().unwrap_or_default().trim_start_matches("perf/")),
        Some(other) => return Err(format!("direction `{}` is none of smaller, bigger, none", text(other))),
    };
    let mut made = Invocation::foreign(&metric, unit, direction);
    made.block = row.index(Field::Block)?;
    made.slot = row.index(Field::Slot)?;
    made.sitting = row.get(Field::Run).map(|run| format!("run {}", text(run)));
    match row.get(Field::Kind) {
        Some(b"exact") => made.exact = true,
        Some(b"control") => made.control = true,
        _ => {}
    }
    let section = row.get(Field::Section).map_or_else(String::new, text);
    if let Some(name) = row.get(Field::Summary) {
        made.extra.insert("summary_of_samples".into(), text(name).into());
    }
    let value = row.number(Field::Value)?;
    let mean = row.number(Field::Mean)?;
    if row.get(Field::Sample).is_some() {
        let value = value.ok_or("a sample without a value")?;
        made.samples = Some(vec![value]);
        return Ok((made, section, true));
    }
    let runs = row.index(Field::Runs)?;
    if let (Some(mean), Some(rel_se_pct), Some(n_runs)) = (mean.or(value), row.number(Field::RelSe)?, runs) {
        let shown =
            row.get(Field::RelSe).and_then(decimal).map_or(0.0, |d| 0.5 * 10f64.powi(-(d.decimals as i32)));
        made.summary = Some(Summary { mean, rel_se_pct, rel_se_half_digit_pct: shown, n_runs });
    }
    let printed = (row.number(Field::Lo)?, row.number(Field::Hi)?);
    made = match value.or(mean) {
        Some(value) => made.with_value(value),
        None => made.without_value(Status::Skipped, "no value in the file"),
    };
    if let (Some(lo), Some(hi)) = printed {
        if lo > hi {
            return Err(format!("lo {lo} is above hi {hi}"));
        }
        made.printed = made.value.map(|_| Printed { lo, hi });
    }
    Ok((made, section, false))
}

/// Makes the one number of an invocation from its samples, by the summary the file names (the median if it names none).
fn summarise(invocation: &mut Invocation) {
    let Some(samples) = &invocation.samples else { return };
    let named = invocation.extra.remove("summary_of_samples");
    let named = named.as_ref().and_then(|name| name.as_str()).unwrap_or("median");
    let mut sorted = samples.clone();
    sorted.sort_by(f64::total_cmp);
    let quantile = |p: f64| {
        let at = p * (sorted.len() - 1) as f64;
        let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
        low + (high - low) * at.fract()
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (value, estimator) = match named {
        "min" => (sorted[0], Some(Estimator::Min)),
        "p25" => (quantile(0.25), Some(Estimator::P25)),
        "max" => (sorted[sorted.len() - 1], Some(Estimator::Max)),
        "trimmed_mean" => {
            let cut = sorted.len() / 10;
            (mean(&sorted[cut..sorted.len() - cut]), Some(Estimator::TrimmedMean))
        }
        "mean" => (mean(&sorted), None),
        _ => (quantile(0.5), Some(Estimator::Median)),
    };
    let made = std::mem::replace(invocation, Invocation::foreign("", Unit::COUNT, Direction::None));
    *invocation = made.with_value(value);
    invocation.estimator = estimator;
}
