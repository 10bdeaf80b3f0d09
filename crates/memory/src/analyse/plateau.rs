//! Where a curve is flat: optimal piecewise-constant segmentation of the logarithm.

use crate::curve::Curve;

/// Cost of one more segment, in squared log units (tlb.md 3.3: chosen on a prototype that returned the same levels six
/// times out of six).
const SEGMENT_PENALTY: f64 = 0.05;

/// Plateaus nearer than this, in log units, are one: no miss of a dependent chain is so cheap, but a plateau creeps as page
/// table entries spread over more lines.
const SAME: f64 = 0.2;

/// Fewest grid points that make a plateau; shorter segments are part of a ramp.
const FEWEST_POINTS: usize = 4;

/// A flat part of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plateau {
    /// Pages of its first point.
    pub first: u32,
    /// Pages of its last point.
    pub last: u32,
    /// Cycles per access.
    pub cycles: f64,
}

/// The plateaus of a curve sampled on a grid that is even in the logarithm of the pages, by ascending pages. Adjacent
/// segments that differ by less than `SAME` are one plateau.
pub fn plateaus(grid: &Curve) -> Vec<Plateau> {
    let values: Vec<f64> = grid.points.iter().map(|p| p.p10.max(0.01).ln()).collect();
    let mut found: Vec<(usize, usize)> =
        segments(&values).into_iter().filter(|(from, to)| to - from >= FEWEST_POINTS).collect();
    // A wobble inside a plateau may have split it.
    let mean = |from: usize, to: usize| values[from..to].iter().sum::<f64>() / (to - from) as f64;
    found.dedup_by(|next, kept| {
        let same = (mean(next.0, next.1) - mean(kept.0, kept.1)).abs() < SAME;
        if same {
            kept.1 = next.1;
        }
        same
    });
    found
        .into_iter()
        .map(|(from, to)| {
            let (first, last) = (grid.points[from].pages, grid.points[to - 1].pages);
            Plateau { first, last, cycles: grid.level(first, last) }
        })
        .collect()
}

/// Half-open segments that minimise squared deviation plus the penalty per segment, by dynamic programming.
fn segments(values: &[f64]) -> Vec<(usize, usize)> {
    let n = values.len();
    let mut sums = vec![(0.0, 0.0); n + 1];
    for (i, v) in values.iter().enumerate() {
        sums[i + 1] = (sums[i].0 + v, sums[i].1 + v * v);
    }
    let deviation = |from: usize, to: usize| {
        let (sum, squares) = (sums[to].0 - sums[from].0, sums[to].1 - sums[from].1);
        (squares - sum * sum / (to - from) as f64).max(0.0)
    };
    let mut best = vec![(0.0, 0usize); n + 1];
    for to in 1..=n {
        best[to] = (0..to)
            .map(|from| (best[from].0 + deviation(from, to) + SEGMENT_PENALTY, from))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap_or((0.0, 0));
    }
    let mut found = Vec::new();
    let mut to = n;
    while to > 0 {
        let from = best[to].1;
        found.push((from, to));
        to = from;
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::Point;

    fn curve(values: &[f64]) -> Curve {
        let points = values
            .iter()
            .enumerate()
            .map(|(i, &v)| Point {
                pages: 4 + i as u32,
                p10: v,
                p50: v,
                p90: v,
                rounds: vec![v],
                ..Point::default()
            })
            .collect();
        Curve { points }
    }

    #[test]
    fn steps_are_found_where_they_are_and_noise_is_not_a_step() {
        let found = plateaus(&curve(&[
            5.0, 5.1, 5.0, 5.05, 5.0, 9.0, 12.0, 12.2, 12.1, 12.0, 22.0, 34.0, 35.0, 34.5, 34.0,
        ]));
        let ranges: Vec<(u32, u32)> = found.iter().map(|p| (p.first, p.last)).collect();
        assert_eq!(ranges, [(4, 8), (10, 13), (15, 18)]);
        assert_eq!(found[0].cycles, 5.0);
        let flat: Vec<f64> = (0..40).map(|i| 5.0 + 0.1 * f64::from(i % 3)).collect();
        assert_eq!(plateaus(&curve(&flat)).len(), 1);
        assert!(plateaus(&Curve::default()).is_empty());
    }
}
