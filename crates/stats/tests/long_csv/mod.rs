//! Reads the long CSV of `../shared/data/compare` into a table; tests only.

use std::collections::HashMap;
use std::path::PathBuf;

use stats::estimate::median;
use stats::{Cell, Configuration, Direction, Layout, Measured, Observation, Plan, Summary, Table};

/// One CSV row by column name.
pub type Record = HashMap<String, String>;

/// Rows of a CSV file in the shared data, or `None` (with a note) where the folder is absent.
pub fn rows(file: &str) -> Option<Vec<Record>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/compare").join(file);
    if !path.exists() {
        println!("skipped: ../shared/data/compare/{file} is absent");
        return None;
    }
    let mut reader = csv::Reader::from_path(path).unwrap();
    Some(reader.deserialize().map(|row| row.unwrap()).collect())
}

fn number(row: &Record, column: &str) -> Option<f64> {
    row.get(column).filter(|text| !text.is_empty()).map(|text| text.parse().unwrap())
}

fn index(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

/// Table of all rows, metrics named by `name`; rows for which it gives `None` are left out. Without a direction column
/// smaller is taken as better (the files without one are perf counters and times).
pub fn table(rows: &[Record], name: impl Fn(&Record) -> Option<String>) -> Table {
    let (mut configurations, mut names) = (Vec::new(), Vec::new());
    let named: Vec<(&Record, usize, usize)> = rows
        .iter()
        .filter_map(|row| {
            Some((row, index(&mut configurations, &row["config"]), index(&mut names, &name(row)?)))
        })
        .collect();
    let mut metrics: Vec<Measured> = names
        .iter()
        .map(|name| Measured::new(name, Direction::Smaller, vec![Cell::default(); configurations.len()]))
        .collect();
    let mut samples: HashMap<(usize, usize, String), Vec<f64>> = HashMap::new();
    for (row, configuration, m) in &named {
        let invocation = row.get("invocation").cloned().unwrap_or_default();
        samples.entry((*configuration, *m, invocation)).or_default().extend(number(row, "value"));
    }
    for (row, configuration, m) in named {
        let metric = &mut metrics[m];
        metric.direction = match row.get("direction").map(String::as_str) {
            Some("bigger") => Direction::Bigger,
            Some("none") => Direction::None,
            _ => Direction::Smaller,
        };
        metric.exact |= row.get("kind").is_some_and(|kind| kind == "exact");
        let invocation = row.get("invocation").cloned().unwrap_or_default();
        let cell = &mut metric.cells[configuration];
        if let Some(rel_se_pct) = number(row, "rel_se_pct") {
            let decimals = row["rel_se_pct"].split('.').nth(1).map_or(0, str::len) as i32;
            let mean = number(row, "mean").or(number(row, "value")).unwrap();
            let n = number(row, "n_runs").unwrap() as u32;
            let rel_se_half_digit_pct = 0.5 * 10f64.powi(-decimals);
            cell.summary = Some(Summary { mean, rel_se_pct, rel_se_half_digit_pct, n });
        } else if row.get("summary").is_some_and(|summary| summary == "median") {
            if let Some(own) = samples.remove(&(configuration, m, invocation)) {
                cell.observations.push(observation(row, median(&own).unwrap()));
            }
        } else {
            cell.observations.push(observation(row, number(row, "value").unwrap()));
        }
    }
    let layout = layout(rows, &metrics);
    Table { configurations: configurations.into_iter().map(Configuration::named).collect(), metrics, layout }
}

fn observation(row: &Record, value: f64) -> Observation {
    Observation {
        block: number(row, "block").map(|b| b as u32),
        slot: number(row, "slot").map(|s| s as u32),
        printed: number(row, "lo").zip(number(row, "hi")),
        ..Observation::of(value)
    }
}

fn layout(rows: &[Record], metrics: &[Measured]) -> Layout {
    let slots = |cell: &Cell| cell.observations.iter().filter_map(|o| o.slot).collect::<Vec<_>>();
    if rows[0].contains_key("block") {
        Layout::Blocks(Plan::fixed())
    } else if Layout::is_sequential(&metrics[0].cells.iter().map(slots).collect::<Vec<_>>()) {
        Layout::Sequential
    } else {
        Layout::Unknown
    }
}

/// Index of a configuration by name.
pub fn configuration(table: &Table, name: &str) -> usize {
    table.configurations.iter().position(|c| c.name == name).unwrap()
}
