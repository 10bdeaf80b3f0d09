//! `perf stat -x SEP`: rows are found by their unit and event, never by counting fields, because the options used (`-r`,
//! `-I`, per CPU, cgroups) and the locale move everything else.

use super::text_row::is_place;
use super::{Counter, run};
use crate::import::ImportError;
use crate::import::lines::Lines;
use crate::import::number::{decimal, text};
use crate::import::sink::Sink;

/// Separators people use.
const SEPARATORS: [u8; 5] = [b';', b',', b'|', b'\t', b':'];
const UNITS: [&str; 10] = ["", "msec", "ns", "Joules", "MiB", "KiB", "GiB", "Bytes", "C", "seconds"];

/// How this output separates fields and writes decimals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Shape {
    separator: u8,
    /// Numbers hold a decimal comma.
    comma: bool,
}

/// The shape of perf's rows in the first lines of an input, when there are any.
pub(in super::super) fn sniff(head: &[u8]) -> Option<Shape> {
    let lines = || head.split(|&b| b == b'\n').take(200).filter(|line| line.len() < 1_000);
    for separator in SEPARATORS {
        for comma in [false, true] {
            let shape = Shape { separator, comma };
            let sure = |line: &[u8]| {
                let fields = fields(line, separator);
                anchor(&fields, shape).is_some_and(|at| {
                    let after = &fields[at + 1..];
                    let share = |pair: &[&str]| match comma {
                        true if separator == b',' => pair[0] == "100" && pair.get(1) == Some(&"00"),
                        true => is_decimal(pair[0], ','),
                        false => is_decimal(pair[0], '.'),
                    };
                    (0..after.len()).any(|i| share(&after[i..]))
                })
            };
            if lines().any(sure) {
                return Some(shape);
            }
        }
    }
    None
}

fn is_decimal(field: &str, sign: char) -> bool {
    field.split_once(sign).is_some_and(|(whole, rest)| {
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        digits(whole) && digits(rest)
    })
}

fn fields(line: &[u8], separator: u8) -> Vec<&str> {
    line.trim_ascii()
        .split(|&b| b == separator)
        .map(|field| std::str::from_utf8(field).unwrap_or("\u{fffd}").trim())
        .collect()
}

/// Index of the event: a name after a unit (or an empty field) after a count.
fn anchor(fields: &[&str], shape: Shape) -> Option<usize> {
    let counted = |field: &str| field.starts_with("<not ") || number(field, shape).is_some();
    (2..fields.len()).find(|&at| {
        let event = fields[at];
        UNITS.contains(&fields[at - 1])
            && counted(fields[at - 2])
            && event.starts_with(|c: char| c.is_ascii_alphabetic())
            && !UNITS.contains(&event)
    })
}

fn number(field: &str, shape: Shape) -> Option<f64> {
    let plain = if shape.comma { field.replace(',', ".") } else { field.to_owned() };
    decimal(plain.as_bytes()).map(|shown| shown.value)
}

/// Reads the rows of the whole input.
pub(in super::super) fn read(
    from: impl std::io::Read,
    shape: Shape,
    sink: &mut Sink,
) -> Result<(), ImportError> {
    let mut lines = Lines::new(from);
    let mut counters = Vec::new();
    loop {
        let line = match lines.next() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(error) => return Err(ImportError::Io { file: sink.file.clone(), error }),
        };
        let trimmed = line.text.trim_ascii();
        if trimmed.is_empty() || trimmed.starts_with(b"#") {
            continue;
        }
        if trimmed.iter().all(|&b| b == shape.separator) {
            sink.skip(line.number, trimmed, "an empty row: perf measured nothing here");
            continue;
        }
        match row(&fields(trimmed, shape.separator), line.number, shape) {
            Some(counter) => {
                sink.count(line.number)?;
                counters.push(counter);
            }
            None => sink.skip(line.number, trimmed, "not a row of perf stat -x"),
        }
    }
    run(counters, sink)
}

fn row(fields: &[&str], line: usize, shape: Shape) -> Option<Counter> {
    let at = anchor(fields, shape)?;
    let split_decimals = shape.comma && shape.separator == b',';
    let unit = fields[at - 1];
    let mut before = &fields[..at - 2];
    let count = fields[at - 2];
    let reading = match count.strip_prefix('<') {
        Some(why) => Err(why.trim_end_matches('>').to_owned()),
        // the decimal comma split the number: a measure has a fraction of two digits, a count has none
        None if split_decimals && !unit.is_empty() && count.len() == 2 => {
            let (whole, rest) = before.split_last().map(|(last, rest)| (*last, rest))?;
            before = rest;
            Ok(decimal(format!("{whole}.{count}").as_bytes())?.value)
        }
        None => Ok(number(count, shape)?),
    };
    let mut counter = Counter {
        line,
        place: None,
        aggregated: None,
        slice: None,
        reading,
        printed: None,
        unit: unit.to_owned(),
        event: fields[at].to_owned(),
        rel_se: None,
        running_pct: None,
        cpus: None,
    };
    leading(before, shape, &mut counter)?;
    trailing(&fields[at + 1..], shape, split_decimals, &mut counter);
    if let Ok(value) = counter.reading
        && value > 0.0
        && !unit.is_empty()
    {
        let plain = if shape.comma { count.replace(',', ".") } else { count.to_owned() };
        counter.printed = match (split_decimals, decimal(plain.as_bytes())) {
            (false, Some(shown)) => Some(shown.rounded()),
            _ => Some(crate::Printed { lo: value - 0.005, hi: value + 0.005 }),
        };
    }
    Some(counter)
}

/// What stands before the count: a time stamp, a place, the number of CPUs.
fn leading(before: &[&str], shape: Shape, counter: &mut Counter) -> Option<()> {
    let mut rest = before;
    if let [stamp, more @ ..] = rest
        && is_decimal(stamp, if shape.comma { ',' } else { '.' })
    {
        counter.slice = number(stamp, shape);
        rest = more;
    } else if let [whole, part, more @ ..] = rest
        && part.len() == 9
    {
        counter.slice = decimal(format!("{whole}.{part}").as_bytes()).map(|shown| shown.value);
        rest = more;
    }
    if let [place, more @ ..] = rest
        && is_place(place)
    {
        counter.place = Some((*place).to_owned());
        rest = more;
    }
    if let [cpus] = rest {
        counter.aggregated = cpus.parse().ok();
        return counter.aggregated.map(|_| ());
    }
    rest.is_empty().then_some(())
}

/// What follows the event: `x%` with -r, run time, share of the time counted, derived figure and its unit.
fn trailing(after: &[&str], shape: Shape, split_decimals: bool, counter: &mut Counter) {
    let mut rest = after;
    // the relative standard error, whole or split by a decimal comma
    for (at, field) in rest.iter().enumerate().take(2) {
        if let Some(shown) = field.strip_suffix('%') {
            let whole = if split_decimals && at == 1 {
                format!("{}.{shown}", rest[0])
            } else {
                shown.replace(',', ".")
            };
            if let Some(shown) = decimal(whole.as_bytes()) {
                counter.rel_se = Some((shown.value, 0.5 * 10f64.powi(-(shown.decimals as i32))));
            }
            rest = &rest[at + 1..];
            break;
        }
    }
    // a cgroup's name
    if let [name, more @ ..] = rest
        && !name.is_empty()
        && number(name, shape).is_none()
    {
        rest = more;
    }
    let [_runtime, share, more @ ..] = rest else { return };
    let share = match more {
        [part, ..] if split_decimals => decimal(format!("{share}.{part}").as_bytes()).map(|d| d.value),
        _ => number(share, shape),
    };
    counter.running_pct = share.filter(|share| *share > 0.0 && *share <= 100.0);
    if let [.., derived, "CPUs utilized"] = rest {
        counter.cpus = number(derived, shape);
    }
    if let Err(why) = &mut counter.reading
        && why.is_empty()
    {
        *why = text(b"not counted");
    }
}
