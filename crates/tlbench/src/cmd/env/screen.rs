//! The environment for people: groups of at most 100 columns.

use std::io::{self, Write};

use environment::{Difference, reason_of};
use serde_json::{Map, Value};

use report::wrapped;

/// Widest line.
const WIDTH: usize = 100;

/// Values longer than this are counted instead of shown, unless they are prose.
const LONG: usize = 360;

/// Prints all groups. Unknown facts are named at the end of their group, or with `reasons` each on its own line.
pub fn print_environment(out: &mut impl Write, environment: &Value, reasons: bool) -> io::Result<()> {
    let Some(sections) = environment.as_object() else { return Ok(()) };
    for (at, (title, section)) in sections.iter().filter(|(_, section)| section.is_object()).enumerate() {
        writeln!(out, "{}{title}", if at == 0 { "" } else { "\n" })?;
        let mut group = Group::default();
        match reason_of(section) {
            Some(reason) => group.unknown.push((title.clone(), reason.to_owned())),
            None => group.add("", section),
        }
        group.print(out, reasons)?;
    }
    Ok(())
}

/// The lines of one group.
#[derive(Default)]
struct Group {
    known: Vec<(String, String)>,
    not_affected: Vec<String>,
    unknown: Vec<(String, String)>,
}

impl Group {
    fn add(&mut self, prefix: &str, value: &Value) {
        let Some(object) = value.as_object() else { return };
        for (key, value) in object {
            let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            match value {
                _ if reason_of(value).is_some() => {
                    self.unknown.push((name, reason_of(value).unwrap_or_default().to_owned()));
                }
                Value::String(text) if text == "Not affected" => self.not_affected.push(name),
                Value::Object(inner) if is_deep(inner) => self.add(&name, value),
                _ => self.known.push((name, text(value))),
            }
        }
    }

    fn print(&self, out: &mut impl Write, reasons: bool) -> io::Result<()> {
        let names =
            self.known.iter().chain(self.unknown.iter().filter(|_| reasons)).map(|(name, _)| name.len());
        let width = names.max().unwrap_or(0).min(40);
        for (name, value) in &self.known {
            line(out, name, width, value)?;
        }
        if !self.not_affected.is_empty() {
            line(out, "not affected", width, &self.not_affected.join(", "))?;
        }
        if reasons {
            return self
                .unknown
                .iter()
                .try_for_each(|(name, reason)| line(out, name, width, &format!("unknown: {reason}")));
        }
        if !self.unknown.is_empty() {
            let names: Vec<&str> = self.unknown.iter().map(|(name, _)| name.as_str()).collect();
            line(out, "unknown", width, &names.join(", "))?;
        }
        Ok(())
    }
}

/// True for an object worth a line per field: it holds objects, or too much for one line.
fn is_deep(object: &Map<String, Value>) -> bool {
    object.len() > 6 || object.values().any(|value| value.is_object() && reason_of(value).is_none())
}

/// A value in words.
fn text(value: &Value) -> String {
    match value {
        _ if reason_of(value).is_some() => "unknown".to_owned(),
        Value::String(text) if text.is_empty() => "none".to_owned(),
        Value::String(text) if text.len() > LONG => {
            format!("{} words (shown by --json)", text.split_whitespace().count())
        }
        Value::String(text) => text.clone(),
        Value::Bool(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(", "),
        Value::Object(object) if object.is_empty() => "none".to_owned(),
        Value::Object(object) => {
            let parts: Vec<String> =
                object.iter().map(|(key, value)| format!("{key} {}", text(value))).collect();
            parts.join(", ")
        }
        other => other.to_string(),
    }
}

/// A name and its value, continued below itself where it is long.
fn line(out: &mut impl Write, name: &str, width: usize, value: &str) -> io::Result<()> {
    let room = WIDTH - width - 4;
    for (at, part) in wrapped(value, room).iter().flat_map(|part| cut(part, room)).enumerate() {
        writeln!(out, "  {:width$}  {part}", if at == 0 { name } else { "" })?;
    }
    Ok(())
}

/// A word longer than the line, in pieces.
fn cut(text: &str, room: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    if characters.is_empty() {
        return vec![String::new()];
    }
    characters.chunks(room).map(|piece| piece.iter().collect()).collect()
}

/// Prints the fields that differ: on one line where they fit, else one below the other.
pub fn print_differences(out: &mut impl Write, differences: &[Difference]) -> io::Result<()> {
    if differences.is_empty() {
        return writeln!(out, "no differences");
    }
    let rows: Vec<[String; 3]> = differences
        .iter()
        .map(|difference| {
            let (a, b) = apart(&difference.a, &difference.b);
            [difference.field.clone(), a, b]
        })
        .collect();
    let width = |column: usize, least: usize| {
        let fits = rows.iter().map(|row| row[column].chars().count()).filter(|&width| width <= 32);
        fits.max().unwrap_or(0).max(least)
    };
    let (field, a) = (width(0, 5), width(1, 1));
    writeln!(out, "{:field$}  {:a$}  b", "field", "a")?;
    for [name, one, two] in &rows {
        let single = format!("{name:field$}  {one:a$}  {two}");
        if single.chars().count() <= WIDTH && name.len() <= field && one.chars().count() <= a {
            writeln!(out, "{single}")?;
        } else {
            writeln!(out, "{name}")?;
            line(out, "a", 1, one)?;
            line(out, "b", 1, two)?;
        }
    }
    Ok(())
}

/// Two values in words; of long lists of words, only those the other one lacks.
fn apart(a: &Value, b: &Value) -> (String, String) {
    if let (Value::String(one), Value::String(two)) = (a, b)
        && one.len().max(two.len()) > 60
        && one.contains(' ')
        && two.contains(' ')
    {
        return (only(one, two), only(two, one));
    }
    (side(a), side(b))
}

fn only(this: &str, other: &str) -> String {
    let others: std::collections::BTreeSet<&str> = other.split_whitespace().collect();
    let words: Vec<&str> = this.split_whitespace().filter(|word| !others.contains(word)).collect();
    if words.is_empty() {
        "(nothing the other lacks)".to_owned()
    } else {
        format!("only here: {}", words.join(" "))
    }
}

fn side(value: &Value) -> String {
    match reason_of(value) {
        Some(reason) => format!("unknown: {reason}"),
        None => text(value),
    }
}
