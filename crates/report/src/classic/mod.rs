//! Our numbers in the layout that people have read since the 1990s: one row per record, sections and columns in the
//! order of LMbench's summary. It is our table of our metrics; the legend says where a definition differs.

mod columns;

use crate::grid::grid;
use crate::number::significant;
use crate::rows::Row;
use crate::text::wrapped;
use columns::{Column, SECTIONS, Section};

/// One record of the table.
pub struct Entry {
    /// Host name, as the environment has it.
    pub host: String,
    /// System and release.
    pub system: String,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// The table as lines of at most 100 columns, with blank cells explained and a legend below.
pub fn classic_layout(entries: &[Entry]) -> Vec<String> {
    let mut lines = vec!["tlbench, in the classic layout (our own definitions: see the legend)".to_owned()];
    let mut blanks = Vec::new();
    for section in SECTIONS {
        lines.push(String::new());
        lines.push(format!("{} - {}", section.title, section.unit));
        lines.extend(section_lines(section, entries, &mut blanks));
    }
    if !blanks.is_empty() {
        lines.push(String::new());
        lines.push("blank cells".into());
        for (reason, cells) in by_reason(&blanks) {
            lines.extend(hanging(&format!("{}: {reason}", cells.join(", "))));
        }
    }
    lines.push(String::new());
    lines.push("legend: where our definition differs".into());
    for column in SECTIONS.iter().flat_map(|s| s.columns).filter(|column| !column.differs.is_empty()) {
        lines.extend(hanging(&format!(
            "{} ({}): {}",
            column.title,
            column.metrics.join(" and "),
            column.differs
        )));
    }
    lines
}

fn hanging(text: &str) -> Vec<String> {
    let indent = |(i, line): (usize, &String)| format!("{}{line}", if i == 0 { "  " } else { "    " });
    wrapped(text, 94).iter().enumerate().map(indent).collect()
}

fn section_lines(section: &Section, entries: &[Entry], blanks: &mut Vec<(String, String)>) -> Vec<String> {
    let titles = section.columns.iter().map(|column| column.title);
    let header: Vec<&str> = ["host", "system"].into_iter().chain(titles).collect();
    let mut rows = Vec::new();
    for entry in entries {
        let mut cells = vec![cut(&entry.host, 8), cut(&entry.system, 12)];
        for column in section.columns {
            match cell(column, &entry.rows) {
                Ok(text) => cells.push(text),
                Err(reason) => {
                    cells.push(String::new());
                    let host = if entries.len() > 1 {
                        format!("{} on {}", column.title, entry.host)
                    } else {
                        column.title.into()
                    };
                    blanks.push((host, reason));
                }
            }
        }
        rows.push(cells);
    }
    grid(&header, &rows, 2)
}

/// The cell's text: the mean of the column's metrics in its unit, with the digits that its error allows.
fn cell(column: &Column, rows: &[Row]) -> Result<String, String> {
    let mut sum = 0.0;
    let mut half_width = 0.0;
    for name in column.metrics {
        let row = rows.iter().find(|row| row.metric == *name).ok_or("n/a: not measured in this record")?;
        sum += row.value.ok_or_else(|| row.reason.clone().unwrap_or_else(|| "no value".into()))?;
        half_width += row.half_width().unwrap_or(0.0);
    }
    let count = column.metrics.len() as f64;
    let scaled = |value: f64| value / count * column.factor;
    Ok(significant(scaled(sum), Some(scaled(half_width)).filter(|h| *h > 0.0)))
}

fn cut(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}

/// Cells with one reason, in one line.
fn by_reason(blanks: &[(String, String)]) -> Vec<(&str, Vec<&str>)> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (cell, reason) in blanks {
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, cells)) => cells.push(cell),
            None => reasons.push((reason, vec![cell])),
        }
    }
    reasons
}

/// Every metric the layout uses.
pub fn classic_metrics() -> impl Iterator<Item = &'static str> {
    SECTIONS.iter().flat_map(|section| section.columns).flat_map(|column| column.metrics.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Direction, Unit};

    fn row(metric: &str, value: Option<f64>, half: f64) -> Row {
        Row {
            metric: metric.into(),
            unit: Unit::NS,
            value,
            ci95: value.map(|v| [v - half, v + half]),
            n: 6,
            set_aside: 0.0,
            reason: value.is_none().then(|| "skipped: no loopback".into()),
            per: None,
            direction: Direction::Smaller,
            machine_cpu_ns: None,
            disturbed: false,
        }
    }

    #[test]
    fn cells_are_scaled_and_blanks_are_explained() {
        let rows = vec![
            row("syscall.null", Some(71.0), 0.5),
            row("syscall.read", Some(100.0), 1.0),
            row("syscall.write", Some(80.0), 1.0),
            row("net.udp", None, 0.0),
        ];
        let entry = Entry { host: "board".into(), system: "Linux 6.18".into(), rows };
        let text = classic_layout(&[entry]).join("\n");
        assert!(text.contains("0.0710") && text.contains("0.0900"), "{text}");
        assert!(text.contains("UDP: skipped: no loopback"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
}
