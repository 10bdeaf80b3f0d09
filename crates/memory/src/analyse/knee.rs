//! Where between two plateaus a table is full.

use crate::curve::{Curve, Point};

use super::plateau::Plateau;
use super::replacement::{Replacement, Shape};

/// A step from one plateau to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Cycles per access below it.
    pub low: f64,
    /// Cycles per access above it.
    pub high: f64,
    /// Pages at which half the step is climbed, as the coarse grid tells.
    pub half: f64,
}

/// A table's capacity as read from one curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// Entries.
    pub entries: f64,
    /// The shape that fits best, where one was fitted.
    pub shape: Option<Replacement>,
    /// Root mean square misfit as a share of the rise, where a shape was fitted.
    pub misfit: f64,
    /// The step as fitted: both plateaus next to the knee.
    pub step: Step,
}

impl Step {
    /// The step between two neighbouring plateaus of `curve`; `None` when it does not rise.
    pub fn between(curve: &Curve, below: &Plateau, above: &Plateau) -> Option<Step> {
        let (mut low, high) = (below.cycles, above.cycles);
        if high <= low {
            return None;
        }
        // A plateau may creep by a few per cent over decades of pages; what counts is its end next to the step.
        let near = curve.level(below.last / 3, below.last);
        if near.is_finite() && near > low && near < low + 0.3 * (high - low) {
            low = near;
        }
        let middle = (low + high) / 2.0;
        let ramp: Vec<&Point> = curve.between(below.last, above.first).collect();
        let over = ramp.iter().position(|p| p.p10 >= middle)?;
        let upper = ramp[over];
        let half = match over.checked_sub(1).map(|i| ramp[i]) {
            Some(lower) if upper.p10 > lower.p10 => {
                let share = (middle - lower.p10) / (upper.p10 - lower.p10);
                f64::from(lower.pages) * (f64::from(upper.pages) / f64::from(lower.pages)).powf(share)
            }
            _ => f64::from(upper.pages),
        };
        Some(Step { low, high, half })
    }

    /// How far up the step a point is, as a share.
    pub fn share(&self, cycles: f64) -> f64 {
        (cycles - self.low) / (self.high - self.low)
    }
}

/// The last page count without misses: the cut that misplaces the fewest points, a point being below it when it is
/// less than `threshold` up the step. Both neighbours of the cut are returned; `None` when all points are on one side.
pub fn departure(points: &[&Point], step: &Step, threshold: f64) -> Option<(u32, u32)> {
    let above: Vec<bool> = points.iter().map(|p| step.share(p.p10) >= threshold).collect();
    let mut wrong = above.iter().filter(|a| !**a).count() as i64;
    let mut best = (wrong, 0usize);
    for (i, above) in above.iter().enumerate() {
        wrong += if *above { 1 } else { -1 };
        if wrong < best.0 {
            best = (wrong, i + 1);
        }
    }
    let cut = best.1;
    (cut > 0 && cut < points.len()).then(|| (points[cut - 1].pages, points[cut].pages))
}

/// Fits every shape of [`Shape::all`] (with `only`, those of that kind) to the rise: capacity by search, both plateaus by least squares in a window from
/// 0.65 to 1.35 of the capacity, so that what comes later (page tables leaving a cache) does not matter.
pub fn fit(curve: &Curve, step: &Step, only: Option<Replacement>) -> Option<Knee> {
    let mut best: Option<Knee> = None;
    for shape in Shape::all().iter().filter(|s| only.is_none_or(|o| o == s.replacement)) {
        // Coarse, then fine around the coarse optimum.
        let Some(coarse) = search(curve, step, shape, 0.6 * step.half, 1.25 * step.half, 0.03) else {
            continue;
        };
        let Some(knee) = search(curve, step, shape, 0.96 * coarse.entries, 1.04 * coarse.entries, 0.005)
        else {
            continue;
        };
        if best.is_none_or(|b| knee.misfit < b.misfit) {
            best = Some(knee);
        }
    }
    best
}

fn search(curve: &Curve, step: &Step, shape: &Shape, from: f64, to: f64, ratio: f64) -> Option<Knee> {
    let mut best: Option<Knee> = None;
    let mut entries = from;
    while entries <= to {
        if let Some(knee) = at_entries(curve, step, shape, entries)
            && best.is_none_or(|b| knee.misfit < b.misfit)
        {
            best = Some(knee);
        }
        entries *= 1.0 + ratio;
    }
    best
}

/// The best `low + rise * misses` for a table of `entries` over the points in the window, by least squares; `None`
/// when its plateaus are not those of this step.
fn at_entries(curve: &Curve, step: &Step, shape: &Shape, entries: f64) -> Option<Knee> {
    let (first, last) = ((0.72 * entries) as u32, (1.22 * entries) as u32);
    let (mut n, mut sx, mut sy, mut sxx, mut sxy, mut syy) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
    for point in curve.between(first, last) {
        let x = shape.misses(entries, f64::from(point.pages));
        let y = step.share(point.p10);
        n += 1.0;
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
        syy += y * y;
    }
    let spread = sxx - sx * sx / n;
    if n < 8.0 || spread <= 1e-9 {
        return None;
    }
    let rise = (sxy - sx * sy / n) / spread;
    let low = (sy - rise * sx) / n;
    if !(0.3..=1.6).contains(&rise) || low.abs() > 0.15 {
        return None;
    }
    let residual = (syy - low * sy - rise * sxy).max(0.0);
    let cycles = |share: f64| step.low + share * (step.high - step.low);
    Some(Knee {
        entries,
        shape: Some(shape.replacement),
        misfit: (residual / n).sqrt() / rise,
        step: Step { low: cycles(low), high: cycles(low + rise), half: step.half },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve_of(shape: &Shape, entries: f64, pages: impl Iterator<Item = u32>) -> Curve {
        let points = pages
            .map(|pages| {
                let v = 11.0 + 23.0 * shape.misses(entries, f64::from(pages));
                Point { pages, p10: v, p50: v, p90: v, rounds: vec![v] }
            })
            .collect();
        Curve { points }
    }

    #[test]
    fn each_shape_gives_back_its_own_capacity() {
        for shape in Shape::all() {
            let pages = (0..60).map(|i| (900.0 * 1.02f64.powi(i)) as u32);
            let curve = curve_of(shape, 1536.0, pages);
            let step = Step { low: 11.0, high: 34.0, half: 1650.0 };
            let knee = fit(&curve, &step, None).unwrap();
            assert!(
                (knee.entries / 1536.0 - 1.0).abs() < 0.02,
                "{:?} {}: {knee:?}",
                shape.replacement,
                shape.ways
            );
        }
    }

    #[test]
    fn the_departure_is_the_last_page_count_without_misses() {
        let shape = Shape::new(Replacement::Cyclic, 4);
        let mut curve = curve_of(&shape, 64.0, 40..90);
        let step = Step { low: 11.0, high: 34.0, half: 72.0 };
        // One disturbed point does not move the cut.
        curve.points[5].p10 = 30.0;
        let points: Vec<&Point> = curve.points.iter().collect();
        assert_eq!(departure(&points, &step, 0.05), Some((64, 65)));
        assert_eq!(departure(&points[..10], &step, 0.05), None);
    }
}
