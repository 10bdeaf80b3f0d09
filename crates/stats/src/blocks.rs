//! Own runs in blocks: log ratios per block, 10 % trimmed mean, Yuen's standard error.

use std::collections::BTreeMap;

use crate::contrast::{Contrast, Scale, Unit};
use crate::counts::visible_quantum;
use crate::table::{Cell, Measured, Table};
use crate::trimmed;

/// Mean log of each block in which the cell was measured, by block number, up to block `last`.
fn logs_by_block(cell: &Cell, last: u32) -> BTreeMap<u32, f64> {
    let mut sums: BTreeMap<u32, (f64, u32)> = BTreeMap::new();
    for observation in &cell.observations {
        if let Some(block) = observation.block.filter(|&block| block <= last)
            && observation.value.is_finite()
            && observation.value > 0.0
        {
            let entry = sums.entry(block).or_default();
            entry.0 += observation.value.ln();
            entry.1 += 1;
        }
    }
    sums.into_iter().map(|(block, (sum, n))| (block, sum / f64::from(n))).collect()
}

/// ln(other / base) of each block in which both were measured, by rising block number, up to block `last`.
pub fn differences(metric: &Measured, base: usize, other: usize, last: u32) -> Vec<(u32, f64)> {
    let other = logs_by_block(&metric.cells[other], last);
    logs_by_block(&metric.cells[base], last)
        .into_iter()
        .filter_map(|(block, log)| other.get(&block).map(|other| (block, other - log)))
        .collect()
}

/// Mean over configurations of each block's logs, for blocks that all `configurations` share.
pub fn block_means(metric: &Measured, configurations: &[usize]) -> Vec<(u32, f64)> {
    let logs: Vec<_> = configurations.iter().map(|&c| logs_by_block(&metric.cells[c], u32::MAX)).collect();
    let Some((first, rest)) = logs.split_first() else { return Vec::new() };
    first
        .iter()
        .filter_map(|(block, &log)| {
            let mut sum = log;
            for other in rest {
                sum += other.get(block)?;
            }
            Some((*block, sum / logs.len() as f64))
        })
        .collect()
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
pub fn contrast(metric: &Measured, base: usize, other: usize, last: u32) -> Option<Contrast> {
    let differences: Vec<f64> = differences(metric, base, other, last).into_iter().map(|(_, d)| d).collect();
    let location = trimmed::tenth(&differences).filter(|location| location.n >= 2)?;
    let floor = resolution_sd(metric, base, other) / (location.n as f64).sqrt();
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

/// Standard deviation that resolution alone gives a log ratio: each side's step, uniform over its width.
fn resolution_sd(metric: &Measured, base: usize, other: usize) -> f64 {
    [base, other].iter().map(|&c| relative_step(metric, c)).map(|q| q * q / 12.0).sum::<f64>().sqrt()
}

fn relative_step(metric: &Measured, configuration: usize) -> f64 {
    let values: Vec<f64> = metric.cells[configuration]
        .observations
        .iter()
        .map(|o| o.value)
        .filter(|v| v.is_finite() && *v > 0.0)
        .collect();
    let (mean, variance) = trimmed::mean_and_variance(&values);
    // what a printed digit hides matters only where nothing moved; a declared step always does
    let step = metric.quantum.unwrap_or_else(|| if variance == 0.0 { visible_quantum(&values) } else { 0.0 });
    if mean > 0.0 { step / mean } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Direction, Observation};

    fn metric(base: &[f64], other: &[f64]) -> Measured {
        let cell = |values: &[f64]| Cell {
            observations: values
                .iter()
                .enumerate()
                .map(|(block, &v)| Observation::in_block(v, block as u32 + 1, 0))
                .collect(),
            summary: None,
        };
        Measured::new("m", Direction::Smaller, vec![cell(base), cell(other)])
    }

    #[test]
    fn below_ten_blocks_it_is_the_paired_t_of_logs() {
        let metric = metric(&[100.0, 110.0, 90.0], &[103.0, 112.2, 92.7]);
        let contrast = contrast(&metric, 0, 1, u32::MAX).unwrap();
        let d = [1.03f64.ln(), 1.02f64.ln(), 1.03f64.ln()];
        let mean = d.iter().sum::<f64>() / 3.0;
        let sd = (d.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 2.0).sqrt();
        assert!((contrast.effect - mean).abs() < 1e-12);
        assert!((contrast.se - sd / 3.0f64.sqrt()).abs() < 1e-12);
        assert_eq!((contrast.df, contrast.n), (2.0, 3));
    }

    #[test]
    fn only_common_blocks_count_and_repeats_are_averaged() {
        let mut metric = metric(&[100.0, 100.0, 100.0, 100.0], &[200.0, 200.0]);
        metric.cells[1].observations.push(Observation::in_block(50.0, 2, 1));
        metric.cells[1].observations.push(Observation::in_block(f64::NAN, 3, 0));
        let d = differences(&metric, 0, 1, u32::MAX);
        assert_eq!(d.len(), 2);
        assert!((d[1].1).abs() < 1e-12, "geometric mean of 200 and 50 is 100");
        assert_eq!(differences(&metric, 0, 1, 1).len(), 1);
    }

    #[test]
    fn zero_spread_is_floored_by_what_the_digits_resolve() {
        let contrast = contrast(&metric(&[10.0; 6], &[10.1; 6]), 0, 1, u32::MAX).unwrap();
        assert!(contrast.floored && contrast.se > 0.0 && contrast.p() > 0.0);
        assert!(
            (contrast.se - ((0.1f64.powi(2) + (0.1f64 / 10.1).powi(2)) / 12.0 / 6.0).sqrt()).abs() < 1e-9
        );
    }
}
