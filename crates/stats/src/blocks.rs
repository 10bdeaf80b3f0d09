//! Own runs in blocks: log ratios per block, 10 % trimmed mean, Yuen's standard error.

use crate::contrast::{Contrast, Scale, Unit};
use crate::legacy::Group;
use crate::reduced::Reduced;
use crate::table::{Cell, Table};
use crate::{estimate, trimmed};

/// A block's number and the logs of a cell's observations in it, in the order taken: more than one where a block is made
/// of several turns.
pub type Block = (u32, Vec<f64>);

/// The blocks in which the cell was measured, by rising number.
pub fn logs_by_block(cell: &Cell) -> Vec<Block> {
    let usable = |value: f64| value.is_finite() && value > 0.0;
    let mut logs: Vec<(u32, f64)> = cell
        .observations
        .iter()
        .filter(|o| usable(o.value))
        .filter_map(|o| o.block.map(|block| (block, o.value.ln())))
        .collect();
    logs.sort_by_key(|(block, _)| *block);
    let block = |same: &[(u32, f64)]| (same[0].0, same.iter().map(|(_, log)| *log).collect());
    logs.chunk_by(|a, b| a.0 == b.0).map(block).collect()
}

/// ln(other / base) of each block that both have, up to block `last`.
pub fn differences(base: &[Block], other: &[Block], last: u32) -> Vec<(u32, f64)> {
    let known = common(base, other).take_while(|(block, ..)| *block <= last);
    known.map(|(block, a, b)| (block, difference(a, b))).collect()
}

/// The difference of one block. With as many turns on both sides it is the median over the turns: those of a turn were
/// taken one after the other, and a neighbour that came or went between the two makes one turn an outlier, not the block.
/// Else the means are compared.
fn difference(base: &[f64], other: &[f64]) -> f64 {
    if base.len() != other.len() {
        return mean(other) - mean(base);
    }
    let turns: Vec<f64> = base.iter().zip(other).map(|(a, b)| b - a).collect();
    estimate::median(&turns).unwrap_or(f64::NAN)
}

fn mean(logs: &[f64]) -> f64 {
    logs.iter().sum::<f64>() / logs.len() as f64
}

/// Mean over the two of each block's logs, for the blocks that both have.
pub fn means(base: &[Block], other: &[Block]) -> Vec<(u32, f64)> {
    common(base, other).map(|(block, a, b)| (block, (mean(a) + mean(b)) / 2.0)).collect()
}

/// Merges two lists that rise by block number.
fn common<'a>(a: &'a [Block], b: &'a [Block]) -> impl Iterator<Item = (u32, &'a [f64], &'a [f64])> + 'a {
    let mut rest = b.iter().peekable();
    a.iter().filter_map(move |(block, logs)| {
        while rest.next_if(|(other, _)| other < block).is_some() {}
        rest.next_if(|(other, _)| other == block).map(|(_, other)| (*block, &logs[..], &other[..]))
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
        let single = |blocks: &[(u32, f64)]| -> Vec<Block> {
            blocks.iter().map(|&(block, log)| (block, vec![log])).collect()
        };
        let (a, b) = (single(&[(1, 2.0), (3, 4.0)]), single(&[(2, 9.0), (3, 6.0), (5, 1.0)]));
        assert_eq!(means(&a, &b), [(3, 5.0)]);
        assert_eq!(numbers(&table), [1, 2, 3, 4, 9]);
    }

    #[test]
    fn a_disturbed_turn_does_not_move_its_block() {
        // A neighbour slows the machine down to a half from the middle of the second turn on.
        let base = [(1, vec![0.0, 0.0, 0.7])];
        let other = [(1, vec![0.05, 0.75, 0.75])];
        let found = differences(&base, &other, u32::MAX);
        assert!((found[0].1 - 0.05).abs() < 1e-12, "{found:?}");
        // A turn that lacks one side leaves the means.
        let found = differences(&base, &[(1, vec![0.1, 0.3])], u32::MAX);
        assert!((found[0].1 - (0.2 - 0.7 / 3.0)).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn zero_spread_is_floored_by_what_the_digits_resolve() {
        let contrast = of(&table(&[10.0; 6], &[10.1; 6]));
        assert!(contrast.floored && contrast.se > 0.0 && contrast.p() > 0.0);
        let steps = 0.01f64.powi(2) + (0.1f64 / 10.1).powi(2);
        assert!((contrast.se - (steps / 12.0 / 6.0).sqrt()).abs() < 1e-9, "a tenth is the last digit seen");
    }
}
