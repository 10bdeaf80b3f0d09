//! The table of parallel copies: how a metric changes with the number of copies at once.

use std::collections::BTreeMap;

use record::{Record, Unit};

use crate::grid;
use crate::number::{significant, with_error};
use crate::rows::Row;
use crate::table::Table;

/// `syscall.null.x4` as `syscall.null` and 4; `None` for a metric that is not of parallel copies.
pub fn split_copies(metric: &str) -> Option<(&str, u32)> {
    let (name, mark) = metric.rsplit_once('.')?;
    let digits = mark.strip_prefix('x')?;
    (digits.starts_with(|c: char| c.is_ascii_digit()) && !name.is_empty())
        .then(|| digits.parse().ok())?
        .map(|copies| (name, copies))
}

/// Whether a metric, or the one whose tail it is, is of parallel copies.
pub fn is_of_copies(metric: &str) -> bool {
    let body = [".p999", ".p99"].iter().find_map(|tail| metric.strip_suffix(tail)).unwrap_or(metric);
    split_copies(body).is_some()
}

/// The rows of parallel copies in the order given, with the achieved parallelism, and the work of all copies against
/// that of one (`x1`) where that was measured. `None` when there are none.
pub fn scaling_table(title: &str, record: &Record, rows: &[&Row]) -> Option<Table> {
    let parallelism = parallelism(record);
    let ones: BTreeMap<&str, f64> = rows
        .iter()
        .filter_map(|row| match split_copies(&row.metric)? {
            (name, 1) => Some((name, row.value?)),
            _ => None,
        })
        .collect();
    let mut cells = Vec::new();
    let mut reasons = Vec::new();
    for row in rows {
        let Some((name, copies)) = split_copies(&row.metric) else { continue };
        let Some(value) = row.value else {
            reasons.push(format!("  {}: {}", row.metric, row.reason.as_deref().unwrap_or("no reason given")));
            continue;
        };
        let (text, error) = with_error(value, row.half_width());
        let together = ones.get(name).map(|&one| gain(&row.unit, value, one, copies));
        let at_work = parallelism.get(row.metric.as_str());
        cells.push(vec![
            name.to_owned(),
            row.unit.to_string(),
            row.per.clone().unwrap_or_default(),
            copies.to_string(),
            text,
            error,
            at_work.map(|&p| significant(p, None)).unwrap_or_default(),
            together.map(|gain| format!("{} x", significant(gain, None))).unwrap_or_default(),
        ]);
    }
    let mut lines = vec![title.to_owned()];
    if !cells.is_empty() {
        let header = ["metric", "unit", "per", "copies", "value", "+-", "at work", "against 1"];
        lines.extend(grid(&header, &cells, 3).iter().map(|line| format!("  {line}")));
    }
    lines.extend(reasons);
    (lines.len() > 1).then_some(Table { lines })
}

/// Work per time of all copies, over that of one. Rates are the copies' sum already.
fn gain(unit: &Unit, value: f64, one: f64, copies: u32) -> f64 {
    if *unit == Unit::MB_PER_S { value / one } else { f64::from(copies) * one / value }
}

/// Mean achieved parallelism of each metric over its invocations.
fn parallelism(record: &Record) -> BTreeMap<&str, f64> {
    let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for line in &record.invocations {
        if let Some(value) = line.extra.get("parallelism").and_then(serde_json::Value::as_f64) {
            let sum = sums.entry(&line.metric).or_default();
            *sum = (sum.0 + value, sum.1 + 1.0);
        }
    }
    sums.into_iter().map(|(metric, (sum, n))| (metric, sum / n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_copies_are_told_from_others() {
        assert_eq!(split_copies("syscall.null.x16"), Some(("syscall.null", 16)));
        for other in ["syscall.null", "vm.xyz", "a.x", "a.x4.p99", ".x4", "a.x+4"] {
            assert_eq!(split_copies(other), None, "{other}");
        }
        assert!(is_of_copies("a.x4.p99") && is_of_copies("a.x4") && !is_of_copies("a.p99"));
    }

    #[test]
    fn two_copies_at_the_speed_of_one_do_twice_the_work() {
        assert_eq!(gain(&Unit::NS, 100.0, 100.0, 2), 2.0);
        assert_eq!(gain(&Unit::NS, 200.0, 100.0, 2), 1.0);
        assert_eq!(gain(&Unit::MB_PER_S, 300.0, 100.0, 4), 3.0);
    }
}
