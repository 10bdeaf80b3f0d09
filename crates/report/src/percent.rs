//! Each metric of several records as per cent of the best.

use record::Direction;

use crate::grid::grid;
use crate::rows::Row;

/// One metric's line: its name, and per record the per cent of the best record's performance (100 = best; 50 = half as
/// fast), `None` where it was not measured. Metrics without a direction, or with a value in one record only, are left
/// out.
pub fn percent_of_best(records: &[Vec<Row>]) -> Vec<(String, Vec<Option<f64>>)> {
    let mut names: Vec<&str> = Vec::new();
    for row in records.iter().flatten() {
        if row.direction != Direction::None && !names.contains(&row.metric.as_str()) {
            names.push(&row.metric);
        }
    }
    names
        .into_iter()
        .filter_map(|name| {
            let rows: Vec<Option<&Row>> =
                records.iter().map(|rows| rows.iter().find(|r| r.metric == name)).collect();
            let direction = rows.iter().flatten().next()?.direction;
            let speed = |row: &Row| match direction {
                Direction::Smaller => row.value.map(|value| 1.0 / value),
                _ => row.value,
            };
            let speeds: Vec<Option<f64>> = rows.iter().map(|row| row.and_then(speed)).collect();
            let measured = speeds.iter().flatten().count();
            let best = speeds.iter().flatten().copied().fold(0.0, f64::max);
            let percent = speeds.iter().map(|s| s.map(|s| 100.0 * s / best)).collect();
            (measured > 1).then(|| (name.to_owned(), percent))
        })
        .collect()
}

/// The same as a table; the best is marked with a star.
pub fn percent_table(labels: &[String], records: &[Vec<Row>]) -> Vec<String> {
    let header: Vec<&str> = std::iter::once("metric").chain(labels.iter().map(String::as_str)).collect();
    let rows: Vec<Vec<String>> = percent_of_best(records)
        .into_iter()
        .map(|(name, percents)| {
            let cell = |percent: &Option<f64>| {
                percent.map_or("-".into(), |p| if p >= 100.0 { "*100 %".into() } else { format!("{p:.0} %") })
            };
            std::iter::once(name.clone()).chain(percents.iter().map(cell)).collect()
        })
        .collect();
    grid(&header, &rows, 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Unit;

    fn row(metric: &str, value: f64, direction: Direction) -> Row {
        Row {
            metric: metric.into(),
            unit: Unit::NS,
            value: Some(value),
            ci95: None,
            n: 1,
            set_aside: 0.0,
            reason: None,
            per: None,
            direction,
            machine_cpu_ns: None,
            disturbed: false,
        }
    }

    #[test]
    fn the_best_is_a_hundred_whichever_way_is_good() {
        let a = vec![
            row("t", 10.0, Direction::Smaller),
            row("bw", 50.0, Direction::Bigger),
            row("x", 1.0, Direction::None),
        ];
        let b = vec![row("t", 20.0, Direction::Smaller), row("bw", 100.0, Direction::Bigger)];
        let percents = percent_of_best(&[a, b]);
        assert_eq!(percents[0], ("t".into(), vec![Some(100.0), Some(50.0)]));
        assert_eq!(percents[1], ("bw".into(), vec![Some(50.0), Some(100.0)]));
        assert_eq!(percents.len(), 2);
    }
}
