//! Curves: cycles per access against pages, one value per round.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::recording::{Chain, Recording, median, quantile};

/// One point of a curve, cycles per access.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Point {
    /// Pages touched.
    pub pages: u32,
    /// The least of the rounds' 10th percentiles of chunks: what finds levels.
    pub p10: f64,
    /// Median of all chunks: what is reported.
    pub p50: f64,
    /// 90th percentile of all chunks: how disturbed it was.
    pub p90: f64,
    /// Each round's 10th percentile: of the rounds without a neighbour on the core, where there are two or more.
    #[serde(skip)]
    pub rounds: Vec<f64>,
    /// Rounds with a sentinel beside them, and those of them without a neighbour.
    #[serde(skip)]
    pub watched: usize,
    /// See `watched`.
    #[serde(skip)]
    pub quiet: usize,
}

/// Other work on the machine only adds time, and a hardware thread beside ours takes entries away while it runs: the best
/// round is the one that shows the table.
fn of_rounds(rounds: &[f64]) -> f64 {
    rounds.iter().copied().fold(f64::INFINITY, f64::min)
}

/// What the batches of one point say.
#[derive(Default)]
struct Rounds {
    /// Each round's 10th percentile, and whether the sentinel was quiet.
    values: Vec<(f64, Option<bool>)>,
    /// Cycles per access of all chunks.
    chunks: Vec<f64>,
}

impl Rounds {
    fn point(mut self, pages: u32) -> Point {
        self.chunks.sort_by(f64::total_cmp);
        let quiet = self.values.iter().filter(|v| v.1 == Some(true)).count();
        // Two are asked for: a single one may be a misread clock.
        let kept = |v: &&(f64, Option<bool>)| quiet < 2 || v.1 == Some(true);
        let rounds: Vec<f64> = self.values.iter().filter(kept).map(|v| v.0).collect();
        Point {
            pages,
            p10: of_rounds(&rounds),
            p50: quantile(&self.chunks, 0.5),
            p90: quantile(&self.chunks, 0.9),
            rounds,
            watched: self.values.iter().filter(|v| v.1.is_some()).count(),
            quiet,
        }
    }
}

/// Points by ascending pages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// The points.
    pub points: Vec<Point>,
}

impl Curve {
    /// The curve of one chain and stride.
    pub fn of(recording: &Recording, chain: Chain, stride: u32) -> Curve {
        let quiet = recording.quiet();
        let mut by_pages: BTreeMap<u32, Rounds> = BTreeMap::new();
        for batch in &recording.batches {
            if batch.request.chain == chain && batch.request.stride == stride && !batch.chunk_ns.is_empty() {
                let cycles = batch.sorted_cycles();
                let rounds = by_pages.entry(batch.request.pages).or_default();
                rounds.values.push((quantile(&cycles, 0.1), quiet(batch)));
                rounds.chunks.extend(cycles);
            }
        }
        let points = by_pages.into_iter().map(|(pages, rounds)| rounds.point(pages)).collect();
        Curve { points }
    }

    /// The load curve of a stride: pointer chain up to [`Recording::own_lines`], beyond it the zero-page chain less
    /// what its aliasing costs (see [`alias_cost`]).
    pub fn loads(recording: &Recording, stride: u32) -> Curve {
        let mut curve = Curve::of(recording, Chain::Load, stride);
        let aliased = Curve::of(recording, Chain::LoadAliased, stride);
        let cost = alias_cost(recording).unwrap_or(0.0);
        let last = curve.points.last().map_or(0, |p| p.pages);
        curve.points.extend(aliased.points.into_iter().filter(|p| p.pages > last).map(|p| p.less(cost)));
        curve
    }

    /// The curve with each point's value another quantile of its rounds instead of the best one.
    pub fn at_quantile(&self, share: f64) -> Curve {
        self.group(0, 1, share)
    }

    /// The curve of every `of`th round from `group` on, each point at a quantile of these: an estimate independent of
    /// the other groups'.
    pub fn group(&self, group: usize, of: usize, share: f64) -> Curve {
        let points = self
            .points
            .iter()
            .filter_map(|p| {
                let mut rounds: Vec<f64> = p.rounds.iter().copied().skip(group).step_by(of.max(1)).collect();
                rounds.sort_by(f64::total_cmp);
                (!rounds.is_empty()).then(|| Point { p10: quantile(&rounds, share), rounds, ..p.clone() })
            })
            .collect();
        Curve { points }
    }

    /// Rounds that at least four fifths of the points from `first` to `last` pages have: further ones were taken only
    /// where a point was noisy.
    pub fn complete_rounds(&self, first: u32, last: u32) -> usize {
        let mut rounds: Vec<usize> = self.between(first, last).map(|p| p.rounds.len()).collect();
        rounds.sort_unstable();
        rounds.get(rounds.len() / 5).copied().unwrap_or(0)
    }

    /// Points with `first <= pages <= last`.
    pub fn between(&self, first: u32, last: u32) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(move |p| (first..=last).contains(&p.pages))
    }

    /// The level between two page counts: median of the points' 10th percentiles; `NaN` without points.
    pub fn level(&self, first: u32, last: u32) -> f64 {
        median(&self.between(first, last).map(|p| p.p10).collect::<Vec<_>>())
    }

    /// Each point less the point of `other` with the same pages, plus `plus`; points `other` lacks are left out.
    pub fn minus(&self, other: &Curve, plus: f64) -> Curve {
        let points = self
            .points
            .iter()
            .filter_map(|p| {
                let less = other.points.iter().find(|o| o.pages == p.pages)?;
                Some(p.less(less.p10 - plus))
            })
            .collect();
        Curve { points }
    }
}

impl Point {
    /// The point with every value less by `cost` cycles.
    fn less(&self, cost: f64) -> Point {
        Point {
            pages: self.pages,
            p10: self.p10 - cost,
            p50: self.p50 - cost,
            p90: self.p90 - cost,
            rounds: self.rounds.iter().map(|r| r - cost).collect(),
            ..*self
        }
    }
}

/// What it costs per access, in cycles, that the zero-page chain reaches each line by many addresses: the median
/// difference to the pointer chain at page counts both have. About 0 on Intel; about 16 on AMD Zen, whose L1 data
/// cache predicts the way from the linear address, so that a second address of a line misses the L1 (Lipp et al.,
/// "Take A Way", AsiaCCS 2020). `None` without common points.
pub fn alias_cost(recording: &Recording) -> Option<f64> {
    let own = Curve::of(recording, Chain::Load, 1);
    let aliased = Curve::of(recording, Chain::LoadAliased, 1);
    let differences: Vec<f64> = aliased
        .points
        .iter()
        .filter_map(|a| {
            let own = own.points.iter().find(|p| p.pages == a.pages)?;
            Some(a.p10 - own.p10)
        })
        .collect();
    (!differences.is_empty()).then(|| median(&differences))
}
