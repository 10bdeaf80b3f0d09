//! Levels of one structure: entries with an interval, miss penalty, confidence.

use serde::Serialize;

use crate::curve::{Curve, Point};
use crate::recording::median;

use super::knee::{Knee, Step, departure, fit};
use super::plateau::{Plateau, plateaus};

/// How sure a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Confidence {
    /// No number can be stated; the reason says why.
    #[serde(rename = "not resolved")]
    NotResolved,
    /// One method only, or a group of rounds disagrees.
    #[serde(rename = "low")]
    Low,
    /// Groups of rounds agree.
    #[serde(rename = "medium")]
    Medium,
    /// All rounds and a clean stride series agree.
    #[serde(rename = "high")]
    High,
}

/// One level of translation caching as a curve shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Entries, `None` when not resolved.
    pub entries: Option<u32>,
    /// Fewest and most entries the rounds allow.
    pub interval: Option<(u32, u32)>,
    /// Pages between which a miss of this level still hits the next one.
    pub next_plateau: Option<(u32, u32)>,
    /// Cycles a miss of this level adds when the next level hits.
    pub penalty_cycles: Option<f64>,
    /// How sure.
    pub confidence: Confidence,
    /// Why not surer.
    pub reason: Option<String>,
}

/// A point this far up the step of the first level has misses; one page too many in a table of 16 sets shows 7 %.
const FIRST_THRESHOLD: f64 = 0.05;

/// A step must exceed this many times the spread between rounds.
const NOISE_FACTOR: f64 = 3.0;

/// Flat parts whose rounds differ by more than this share hide steps altogether, so that the next one would be taken for
/// the first.
const WORST_NOISE: f64 = 0.2;

/// The grid every curve is first sampled on: four points per octave from `first` to `last` pages.
pub fn grid(first: u32, last: u32) -> Vec<u32> {
    let mut pages = Vec::new();
    let mut exponent = 0;
    loop {
        let next = (f64::from(first) * 2f64.powf(f64::from(exponent) / 4.0)).round() as u32;
        if next > last {
            return pages;
        }
        if pages.last() != Some(&next) {
            pages.push(next);
        }
        exponent += 1;
    }
}

/// The plateaus of the grid points of a curve.
pub fn grid_plateaus(curve: &Curve) -> (Curve, Vec<Plateau>) {
    let last = curve.points.last().map_or(0, |p| p.pages);
    let wanted = grid(4, last);
    let points: Vec<Point> =
        curve.points.iter().filter(|p| wanted.binary_search(&p.pages).is_ok()).cloned().collect();
    let grid = Curve { points };
    let found = plateaus(&grid);
    (grid, found)
}

/// Finds up to `most` levels in a curve.
pub fn levels(curve: &Curve, most: usize) -> Vec<Level> {
    let (coarse, plateaus) = grid_plateaus(curve);
    let noise = plateau_noise(&coarse, &plateaus);
    let mut found = Vec::new();
    for (at, pair) in plateaus.windows(2).take(most).enumerate() {
        found.push(level(curve, &coarse, pair, at, noise));
    }
    if found.is_empty() {
        let cause = match plateaus.len() {
            0 => "the curve has no flat part: too noisy or too few pages",
            _ => "the curve is flat: every page count tried fits, or the noise hides the step",
        };
        found.push(Level {
            entries: None,
            interval: None,
            next_plateau: None,
            penalty_cycles: None,
            confidence: Confidence::NotResolved,
            reason: Some(cause.into()),
        });
    }
    found
}

fn level(curve: &Curve, coarse: &Curve, pair: &[Plateau], at: usize, noise: f64) -> Level {
    let penalty = pair[1].cycles - pair[0].cycles;
    let mut level = Level {
        entries: None,
        interval: None,
        next_plateau: Some((pair[1].first, pair[1].last)),
        penalty_cycles: (penalty > 0.0).then_some(penalty),
        confidence: Confidence::NotResolved,
        reason: None,
    };
    let Some(step) = Step::between(coarse, &pair[0], &pair[1]) else {
        level.reason = Some("the curve falls where it should rise".into());
        return level;
    };
    if penalty < NOISE_FACTOR * noise * pair[0].cycles {
        level.reason = Some(format!(
            "disturbed: the step of {penalty:.1} cycles is within {NOISE_FACTOR} times the noise of {:.1}",
            noise * pair[0].cycles
        ));
        return level;
    }
    if noise > WORST_NOISE {
        level.reason = Some(format!("disturbed: rounds of the flat parts differ by {:.0} %", 100.0 * noise));
        return level;
    }
    // Where accesses do not wait for each other, misses do not add up: only where the curve leaves its floor tells.
    let dependent = penalty >= DEPENDENT;
    let fitted = if dependent { best_fit(curve, &step) } else { None };
    // Behind the last level the curve goes on rising while page table entries leave the near caches: the rise at the knee
    // is what a miss costs that finds them there.
    if let Some(fitted) = fitted.filter(|_| at > 0) {
        level.penalty_cycles = Some(fitted.knee.step.high - fitted.knee.step.low);
    }
    let Some(entries) = entries(curve, &step, at, fitted.map(|f| f.knee)) else {
        level.reason = Some("no cut between the two plateaus".into());
        return level;
    };
    let rounds = curve.complete_rounds((0.6 * step.half) as u32, (1.3 * step.half) as u32);
    let groups = groups(rounds);
    let by_group: Vec<f64> =
        (0..groups).filter_map(|group| of_group(curve, (group, groups), &step, at, fitted)).collect();
    let near = |value: &&f64| (**value / entries - 1.0).abs() < AGREEMENT;
    let agreeing = by_group.iter().filter(near).count();
    if agreeing < 2 || agreeing * 3 < groups * 2 {
        let low = by_group.iter().copied().fold(entries, f64::min);
        let high = by_group.iter().copied().fold(entries, f64::max);
        level.reason = Some(format!(
            "disturbed: {agreeing} of {groups} groups of rounds agree within {:.0} % ({low:.0} to {high:.0} entries)",
            100.0 * AGREEMENT
        ));
        return level;
    }
    level.entries = Some(entries.round() as u32);
    // The groups that agree span the interval; the others are what `agreeing` counted out.
    let kept: Vec<f64> = by_group.iter().filter(near).copied().collect();
    // Points far apart can't tell more than they are apart, however well the groups agree.
    let resolution = resolution(curve, entries);
    let least = kept.iter().copied().fold(entries - resolution, f64::min);
    let most = kept.iter().copied().fold(entries + resolution, f64::max);
    level.interval = Some((least.round() as u32, most.round() as u32));
    level.confidence = Confidence::Medium;
    if agreeing < groups {
        level.confidence = Confidence::Low;
        level.reason = Some(format!("{agreeing} of {groups} groups of rounds agree"));
    } else if dependent && fitted.is_none() {
        level.confidence = Confidence::Low;
        level.reason =
            Some("the rise has no known table's shape; the last page count without misses is stated".into());
    }
    if beside_a_neighbour(curve, &step) {
        level.confidence = Confidence::Low;
        level.reason = Some(
            "another hardware thread of this core took entries in nearly every round: the table may be larger".into(),
        );
    }
    level
}

/// Half the distance of the points beside a page count; 0 where they are neighbours.
fn resolution(curve: &Curve, entries: f64) -> f64 {
    let after = curve.points.partition_point(|p| f64::from(p.pages) < entries);
    let pages = |at: usize| curve.points.get(at).map(|p| f64::from(p.pages));
    match after.checked_sub(1).and_then(pages).zip(pages(after)) {
        Some((below, above)) if above - below > 1.0 => (above - below) / 2.0,
        _ => 0.0,
    }
}

/// Most points around the step had a sentinel beside them, and it was hardly ever quiet.
fn beside_a_neighbour(curve: &Curve, step: &Step) -> bool {
    let (mut watched, mut loud) = (0, 0);
    for point in curve.between((0.6 * step.half) as u32, (1.3 * step.half) as u32).filter(|p| p.watched > 0) {
        watched += 1;
        loud += usize::from(point.quiet < 2);
    }
    2 * loud > watched
}

/// Cycles that a miss costs at least in a chain of dependent accesses.
pub const DEPENDENT: f64 = 2.0;

/// How near the groups of rounds must be to what all rounds say, as a share.
const AGREEMENT: f64 = 0.07;

/// Groups that the rounds are dealt to: three, or two where rounds are few.
fn groups(rounds: usize) -> usize {
    if rounds >= 6 { 3 } else { 2 }
}

/// A shape fitted to the curve of a quantile of the rounds.
#[derive(Clone, Copy)]
struct Fitted {
    knee: Knee,
    share: f64,
}

/// Quantiles of the rounds that are tried. Undisturbed, the median is best: the least is the one whose clock was read too
/// low. Where a neighbour takes entries most of the time, only the best rounds show the table.
const SHARES: [f64; 3] = [0.5, 0.25, 0.0];

/// A shape that misses the points by more than this share of the step does not count.
const WORST_FIT: f64 = 0.06;

fn best_fit(curve: &Curve, step: &Step) -> Option<Fitted> {
    SHARES
        .iter()
        .filter_map(|&share| Some(Fitted { knee: fit(&curve.at_quantile(share), step, None)?, share }))
        .filter(|fitted| fitted.knee.misfit < WORST_FIT)
        .min_by(|a, b| a.knee.misfit.total_cmp(&b.knee.misfit))
}

/// Entries as one group of rounds shows them, by the kind and quantile that all rounds together have.
fn of_group(
    curve: &Curve,
    (group, groups): (usize, usize),
    step: &Step,
    at: usize,
    whole: Option<Fitted>,
) -> Option<f64> {
    let curve = curve.group(group, groups, whole.map_or(0.0, |f| f.share));
    let knee = whole.and_then(|f| fit(&curve, step, f.knee.shape));
    entries(&curve, step, at, knee)
}

/// Entries of the table that is full at `step`: by the shape that fits; where none does, by the last page count
/// without misses.
fn entries(curve: &Curve, step: &Step, at: usize, fitted: Option<Knee>) -> Option<f64> {
    if let Some(knee) = fitted {
        return Some(knee.entries);
    }
    let window: Vec<&Point> = curve.between((0.5 * step.half) as u32, (1.7 * step.half) as u32).collect();
    let threshold = if at == 0 { FIRST_THRESHOLD } else { LATER_THRESHOLD };
    let (below, above) = departure(&window, step, threshold)?;
    Some(f64::from(below + above - 1) / 2.0)
}

/// How far up the step a point of a later level has misses: its table has many sets, so one page too many does not
/// show yet.
const LATER_THRESHOLD: f64 = 0.15;

/// How far the rounds of a plateau point usually lie above the best one, as a share: the median over plateau points.
pub fn plateau_noise(coarse: &Curve, plateaus: &[Plateau]) -> f64 {
    let spreads: Vec<f64> = plateaus
        .iter()
        .flat_map(|plateau| coarse.between(plateau.first, plateau.last))
        .filter(|p| p.rounds.len() > 1)
        .map(|p| median(&p.rounds) / p.p10 - 1.0)
        .collect();
    if spreads.is_empty() { 0.0 } else { median(&spreads) }
}
