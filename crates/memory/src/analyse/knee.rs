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
    /// Mean absolute misfit as a share of the rise, where a shape was fitted; a point above the line counts half.
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

/// Fits every shape of [`Shape::all`] (with `only`, those of that kind) to the rise: capacity by search between 0.45 and
/// 1.25 of the half height, both plateaus by a robust line in a window around the capacity ([`Shape::window`]), so that what comes
/// later (page tables leaving a cache) does not matter.
///
/// Kinds other than [`Replacement::Cyclic`] can imitate it with fewer or more entries, [`Replacement::Split`] most of
/// all; so they count only where they fit clearly better (by a fifth of the misfit or more).
pub fn fit(curve: &Curve, step: &Step, only: Option<Replacement>) -> Option<Knee> {
    let kind = |kind| {
        let shapes = Shape::all().iter().filter(|s| s.replacement == kind);
        shapes.filter_map(|shape| of_shape(curve, step, shape)).min_by(by_misfit)
    };
    if let Some(only) = only {
        return kind(only);
    }
    let clearly = |this: Option<Knee>, other: Option<Knee>| match (this, other) {
        (Some(this), Some(other)) if other.misfit >= CLEARLY * this.misfit => Some(this),
        (this, other) => other.or(this),
    };
    let uneven =
        [Replacement::Random, Replacement::RoundRobin].into_iter().filter_map(kind).min_by(by_misfit);
    let whole = clearly(kind(Replacement::Cyclic), uneven);
    clearly(whole, kind(Replacement::Split))
}

/// A less common kind must leave less than this share of the misfit of the more common one.
const CLEARLY: f64 = 0.8;

fn by_misfit(a: &Knee, b: &Knee) -> std::cmp::Ordering {
    a.misfit.total_cmp(&b.misfit)
}

/// One shape: coarse, then fine around the coarse optimum.
fn of_shape(curve: &Curve, step: &Step, shape: &Shape) -> Option<Knee> {
    let coarse = search(curve, step, shape, 0.45 * step.half, 1.25 * step.half, 0.02)?;
    search(curve, step, shape, 0.98 * coarse.entries, 1.02 * coarse.entries, 0.002)
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

/// Rounds of reweighting: least squares turns into least absolute deviations, which a few disturbed points do not move.
const REWEIGHTINGS: usize = 3;
/// Weight of a point above the line: other work only adds time, so what lies above is disturbed rather than below blessed.
const ABOVE: f64 = 0.5;
/// The lower plateau of a fit must be that of the step, within this share of it: a smooth rise further up looks like the
/// beginning of many tables.
const LOWEST_SHARE: f64 = 0.12;
/// Deviations below this share of the step count alike.
const RESOLUTION: f64 = 0.01;

/// The best `low + rise * misses` for a table of `entries` over the points in the window, by reweighted least squares;
/// `None` when its plateaus are not those of this step.
fn at_entries(curve: &Curve, step: &Step, shape: &Shape, entries: f64) -> Option<Knee> {
    let (below, above) = shape.window();
    let (first, last) = ((below * entries) as u32, (above * entries) as u32);
    let points: Vec<(f64, f64)> = curve
        .between(first, last)
        .map(|point| (shape.misses(entries, f64::from(point.pages)), step.share(point.p10)))
        .collect();
    if points.len() < 8 {
        return None;
    }
    let weight = |r: f64| (if r > 0.0 { ABOVE } else { 1.0 }) / r.abs().max(RESOLUTION);
    let (mut low, mut rise) = line(&points, |_, _| 1.0)?;
    for _ in 0..REWEIGHTINGS {
        (low, rise) = line(&points, |x, y| weight(y - low - rise * x))?;
    }
    if !(0.3..=1.6).contains(&rise) || low.abs() > LOWEST_SHARE {
        return None;
    }
    let deviation = |&(x, y): &(f64, f64)| {
        let r = y - low - rise * x;
        r.abs() * if r > 0.0 { ABOVE } else { 1.0 }
    };
    let misfit = points.iter().map(deviation).sum::<f64>() / points.len() as f64 / rise;
    let cycles = |share: f64| step.low + share * (step.high - step.low);
    Some(Knee {
        entries,
        shape: Some(shape.replacement),
        misfit,
        step: Step { low: cycles(low), high: cycles(low + rise), half: step.half },
    })
}

/// Intercept and slope of the weighted least squares line; `None` when all abscissae are one.
fn line(points: &[(f64, f64)], weight: impl Fn(f64, f64) -> f64) -> Option<(f64, f64)> {
    let (mut n, mut sx, mut sy, mut sxx, mut sxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for &(x, y) in points {
        let w = weight(x, y);
        n += w;
        sx += w * x;
        sy += w * y;
        sxx += w * x * x;
        sxy += w * x * y;
    }
    let spread = sxx - sx * sx / n;
    if spread <= 1e-9 * n {
        return None;
    }
    let slope = (sxy - sx * sy / n) / spread;
    Some(((sy - slope * sx) / n, slope))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve_of(shape: &Shape, entries: f64, pages: impl Iterator<Item = u32>) -> Curve {
        let points = pages
            .map(|pages| {
                let v = 11.0 + 23.0 * shape.misses(entries, f64::from(pages));
                Point { pages, p10: v, p50: v, p90: v, rounds: vec![v], ..Point::default() }
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
