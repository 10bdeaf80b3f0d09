//! Own runs in blocks: log ratios per block, 10 % trimmed mean, Yuen's standard error.

use crate::contrast::{Contrast, Scale, Unit};
use crate::legacy::Group;
use crate::reduced::Reduced;
use crate::table::{Cell, Table};
use crate::trimmed;

/// Mean log of each block in which the cell was measured, by rising block number.
pub fn logs_by_block(cell: &Cell) -> Vec<(u32, f64)> {
    let usable = |value: f64| value.is_finite() && value > 0.0;
    let mut logs: Vec<(u32, f64)> = cell
        .observations
        .iter()
        .filter(|o| usable(o.value))
        .filter_map(|o| o.block.map(|block| (block, o.value.ln())))
        .collect();
    logs.sort_by_key(|(block, _)| *block);
    let mean =
        |same: &[(u32, f64)]| (same[0].0, same.iter().map(|(_, log)| log).sum::<f64>() / same.len() as f64);
    logs.chunk_by(|a, b| a.0 == b.0).map(mean).collect()
}

/// ln(other / base) of each block that both have, up to block `last`.
pub fn differences(base: &[(u32, f64)], other: &[(u32, f64)], last: u32) -> Vec<(u32, f64)> {
    common(base, other).take_while(|(block, ..)| *block <= last).map(|(block, a, b)| (block, b - a)).collect()
}

/// Mean over the two of each block's logs, for the blocks that both have.
pub fn means(base: &[(u32, f64)], other: &[(u32, f64)]) -> Vec<(u32, f64)> {
    common(base, other).map(|(block, a, b)| (block, (a + b) / 2.0)).collect()
}

/// Merges two lists that rise by block number.
fn common<'a>(a: &'a [(u32, f64)], b: &'a [(u32, f64)]) -> impl Iterator<Item = (u32, f64, f64)> + 'a {
    let mut rest = b.iter().peekable();
    a.iter().filter_map(move |&(block, log)| {
        while rest.next_if(|(other, _)| *other < block).is_some() {}
        rest.next_if(|(other, _)| *other == block).map(|(_, other)| (block, log, *other))
    })
}

/// Distinct block numbers of the table, rising.
pub fn numbers(table: &Table) -> Vec<u32> {
    let mut all: Vec<u32> = table
        .metrics
        .iter()
        .flat_map(|metric| &metric.cells)
        .flat_map(|cell| cell.observations.iter().filter_map(|o| o.block))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Contrast over the blocks up to `last`; `None` with fewer than two common blocks.
pub fn contrast(metric: &Reduced<'_>, base: usize, other: usize, last: u32) -> Option<Contrast> {
    let differences: Vec<f64> = metric.differences(base, other, last).into_iter().map(|(_, d)| d).collect();
    let location = trimmed::tenth(&differences).filter(|location| location.n >= 2)?;
    let (a, b) = metric.pair(base, other)?;
    let floor = ((floor_variance(a) + floor_variance(b)) / location.n as f64).sqrt();
    Some(Contrast {
        effect: location.mean,
        se: location.se.max(floor),
        df: location.df,
        widening: 0.0,
        scale: Scale::Log,
        n: location.n,
        unit: Unit::Blocks,
        floored: location.se < floor,
    })
}

/// Variance that resolution alone gives a log: a declared or printed step, or the last digit where nothing moved.
fn floor_variance(group: &Group) -> f64 {
    group.step * group.step / 12.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Direction, Layout, Measured, Observation, Plan};

    fn table(base: &[f64], other: &[f64]) -> Table {
        let cell = |values: &[f64]| Cell {
            observations: values
                .iter()
                .enumerate()
                .map(|(block, &v)| Observation::in_block(v, block as u32 + 1, 0))
                .collect(),
            summary: None,
        };
        Table {
            configurations: Vec::new(),
            metrics: vec![Measured::new("m", Direction::Smaller, vec![cell(base), cell(other)])],
            layout: Layout::Blocks(Plan::fixed()),
        }
    }

    fn of(table: &Table) -> Contrast {
        contrast(&Reduced::all(table)[0], 0, 1, u32::MAX).unwrap()
    }

    #[test]
    fn below_ten_blocks_it_is_the_paired_t_of_logs() {
        let contrast = of(&table(&[100.0, 110.0, 90.0], &[103.0, 112.2, 92.7]));
        let d = [1.03f64.ln(), 1.02f64.ln(), 1.03f64.ln()];
        let mean = d.iter().sum::<f64>() / 3.0;
        let sd = (d.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 2.0).sqrt();
        assert!((contrast.effect - mean).abs() < 1e-12);
        assert!((contrast.se - sd / 3.0f64.sqrt()).abs() < 1e-12);
        assert_eq!((contrast.df, contrast.n), (2.0, 3));
    }

    #[test]
    fn only_common_blocks_count_and_repeats_are_averaged() {
        let mut table = table(&[100.0, 100.0, 100.0, 100.0], &[200.0, 200.0]);
        let other = &mut table.metrics[0].cells[1].observations;
        other.push(Observation::in_block(50.0, 2, 1));
        other.push(Observation::in_block(f64::NAN, 3, 0));
        other.insert(0, Observation::in_block(77.0, 9, 0));
        let metric = &Reduced::all(&table)[0];
        let d = metric.differences(0, 1, u32::MAX);
        assert_eq!(d.iter().map(|(block, _)| *block).collect::<Vec<_>>(), [1, 2]);
        assert!((d[1].1).abs() < 1e-12, "geometric mean of 200 and 50 is 100");
        assert_eq!(metric.differences(0, 1, 1).len(), 1);
        assert_eq!(means(&[(1, 2.0), (3, 4.0)], &[(2, 9.0), (3, 6.0), (5, 1.0)]), [(3, 5.0)]);
        assert_eq!(numbers(&table), [1, 2, 3, 4, 9]);
    }

    #[test]
    fn zero_spread_is_floored_by_what_the_digits_resolve() {
        let contrast = of(&table(&[10.0; 6], &[10.1; 6]));
        assert!(contrast.floored && contrast.se > 0.0 && contrast.p() > 0.0);
        let steps = 0.01f64.powi(2) + (0.1f64 / 10.1).powi(2);
        assert!((contrast.se - (steps / 12.0 / 6.0).sqrt()).abs() < 1e-9, "a tenth is the last digit seen");
    }
}
