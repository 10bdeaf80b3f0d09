//! The table `run` and `show` print.

use comfy_table::{CellAlignment, Table as Grid, presets};

use crate::number::{readable_unit, significant, with_error};
use crate::rows::Row;
use crate::text::wrapped;

/// A titled table as lines of text of at most 100 columns.
pub struct Table {
    /// Lines without line ends.
    pub lines: Vec<String>,
}

/// The table of one section: a row per metric; tails stand in the p99 column of their metric.
pub fn section_table(title: &str, rows: &[&Row]) -> Table {
    let mut grid = Grid::new();
    grid.load_style(presets::NOTHING);
    grid.set_header(["metric", "value", "+-", "unit", "per", "p99", "cpu/op", "n", "aside"]);
    let mut notes = Vec::new();
    for row in rows.iter().filter(|row| !is_tail(&row.metric)) {
        let p99 =
            rows.iter().find(|other| other.metric == format!("{}.p99", row.metric)).and_then(|r| r.value);
        match row.value {
            Some(value) => {
                let (factor, unit) = readable_unit(value, &row.unit.0);
                let (value, error) = with_error(value * factor, row.half_width().map(|h| h * factor));
                let scaled = |v: f64| significant(v * factor, None);
                grid.add_row([
                    row.metric.clone(),
                    value,
                    error,
                    unit.to_owned(),
                    row.per.clone().unwrap_or_default(),
                    p99.map(scaled).unwrap_or_default(),
                    row.machine_cpu_ns
                        .filter(|_| row.unit == record::Unit::NS)
                        .map(scaled)
                        .unwrap_or_default(),
                    row.n.to_string(),
                    if row.disturbed { "disturbed".into() } else { share(row.set_aside) },
                ]);
            }
            None => notes.push((row.metric.clone(), row.reason.clone().unwrap_or_default())),
        }
    }
    for column in [1, 2, 5, 6, 7, 8] {
        if let Some(column) = grid.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for column in grid.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let mut lines = vec![title.to_owned()];
    if grid.row_count() > 0 {
        lines.extend(grid.lines().map(|line| format!("  {}", line.trim_end())));
    }
    lines.extend(grouped_reasons(&notes));
    Table { lines }
}

/// Metrics without a value, one line per reason.
fn grouped_reasons(notes: &[(String, String)]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (metric, reason) in notes {
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, metrics)) => metrics.push(metric),
            None => reasons.push((reason, vec![metric])),
        }
    }
    reasons
        .iter()
        .flat_map(|(reason, metrics)| wrapped(&format!("{}: {reason}", metrics.join(" ")), 94))
        .map(|line| format!("  {line}"))
        .collect()
}

fn is_tail(metric: &str) -> bool {
    metric.ends_with(".p99") || metric.ends_with(".p999")
}

fn share(share: f64) -> String {
    if share == 0.0 { "0".into() } else { format!("{:.1} %", 100.0 * share) }
}
