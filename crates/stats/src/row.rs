//! One row of a comparison: from a decided draft to words, flags and numbers.

use crate::contrast::{Contrast, Interval};
use crate::drift::Drift;
use crate::evidence::{Draft, Evidence};
use crate::modes::Modes;
use crate::reduced::Reduced;
use crate::shares::ShareTest;
use crate::sittings::TauSource;
use crate::table::{Cell, Direction, Measured, Options, Table};
use crate::verdict::{Flag, Verdict};
use crate::{blocks, drift, equivalence, estimate, modes, shares, stopping};

/// One side of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Side {
    /// Typical value, in the metric's unit: geometric mean of the mid-points (10 % trimmed in blocks), or the mean of
    /// a summary. `None` when nothing was measured.
    pub value: Option<f64>,
    /// Invocations.
    pub n: usize,
    /// Standard deviation of the logs, per cent; `None` with a single invocation.
    pub spread_pct: Option<f64>,
}

/// How many more blocks, runs or sittings an inconclusive row needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoreRuns {
    /// About so many more, at 90 % power.
    About(u32),
    /// More than 200 altogether: fix the noise first.
    TooMany,
    /// Two modes: more of the same won't help, find the cause.
    FindTheCause,
    /// The row is decided, or no number can be given.
    None,
}

impl MoreRuns {
    /// The number, when there is one.
    pub fn number(self) -> Option<u32> {
        match self {
            MoreRuns::About(n) => Some(n),
            _ => None,
        }
    }
}

/// Exact counts compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exact {
    /// Base's count.
    pub base: i64,
    /// Other's count.
    pub other: i64,
}

/// Noise borrowed from elsewhere for a row with a single run on one side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Borrowed {
    /// Standard deviation of a log ratio.
    pub sd: f64,
    /// Where it came from.
    pub source: &'static str,
    /// The difference beyond rounding, in these.
    pub times: f64,
}

/// One metric of one pair, compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Metric's name.
    pub metric: String,
    /// Which way is good.
    pub direction: Direction,
    /// A control.
    pub control: bool,
    /// Counts for the exit code.
    pub gated: bool,
    /// Base's side.
    pub base: Side,
    /// Other's side.
    pub other: Side,
    /// other / base; `None` when undefined.
    pub ratio: Option<f64>,
    /// 95 % interval of the ratio; `None` without an error.
    pub ci95: Option<Interval>,
    /// The difference with its error, as decided on.
    pub contrast: Option<Contrast>,
    /// p value over the row alone.
    pub p: Option<f64>,
    /// p value adjusted over the family (Holm; Bonferroni per look for sequential plans).
    pub p_adjusted: Option<f64>,
    /// p value of the exact sign-flip test over the table, when asked for.
    pub p_exact: Option<f64>,
    /// Benjamini-Hochberg adjusted p value: for watching, never for exit codes.
    pub p_watch: Option<f64>,
    /// The word.
    pub verdict: Verdict,
    /// Why it is inconclusive, or what else must be said beside the word.
    pub reason: Option<String>,
    /// Flags, in a fixed order.
    pub flags: Vec<Flag>,
    /// Margin of this row, per cent.
    pub margin_pct: f64,
    /// Tightest margin inside which the difference provably lies, per cent.
    pub tightest_pct: Option<f64>,
    /// How many more.
    pub more_runs: MoreRuns,
    /// Smallest change this row could have shown, per cent.
    pub smallest_change_pct: Option<f64>,
    /// Between-boot standard deviation, per cent, up to which the adjusted p value stays below the plan's level; only
    /// where boot and kernel can't be told apart and the row is significant.
    pub survives_boot_sd_pct: Option<f64>,
    /// Integers compared, for exact counts.
    pub exact: Option<Exact>,
    /// Noise borrowed for a single run.
    pub borrowed: Option<Borrowed>,
    /// Where the between-sitting deviation came from, for stored records.
    pub tau: Option<TauSource>,
    /// Slope of the block means.
    pub drift: Option<Drift>,
    /// Lag-1 correlation of the block differences.
    pub lag1: Option<f64>,
    /// Two modes.
    pub modes: Option<Modes>,
    /// Tail shares compared.
    pub tail: Option<ShareTest>,
    /// Set-aside shares compared.
    pub set_aside: Option<ShareTest>,
    /// Declared exact, but repetitions differ.
    pub broken_exact: bool,
    /// True when more blocks can't change the word: decided at a look, exact, or two modes.
    pub decided: bool,
    /// Look of the plan at which it was decided.
    pub look: Option<u32>,
}

impl Row {
    /// Change of other against base, per cent; `None` when undefined.
    pub fn change_pct(&self) -> Option<f64> {
        self.ratio.map(|ratio| 100.0 * (ratio - 1.0))
    }

    /// True when the flag is set.
    pub fn has(&self, flag: Flag) -> bool {
        self.flags.contains(&flag)
    }

    /// Which way the point estimate goes, whatever its significance.
    pub fn way(&self) -> Verdict {
        way(self.direction, self.ratio.unwrap_or(1.0))
    }

    /// True when an exact count moved the wrong way by more than the margin.
    pub fn exact_worse(&self) -> bool {
        let limit = 1.0 + self.margin_pct / 100.0;
        self.exact.is_some_and(|Exact { base, other }| {
            let (base, other) = (base as f64, other as f64);
            match self.direction {
                Direction::Smaller => other > base && other > base * limit,
                Direction::Bigger => other < base && other * limit < base,
                Direction::None => false,
            }
        })
    }

    /// True when a boot effect of half a per cent would already undo the row's significance.
    pub fn dies_below_half_pct(&self) -> bool {
        self.survives_boot_sd_pct.is_some_and(|pct| pct < 0.5)
    }
}

/// Better, worse, or differs, by direction and ratio.
pub(crate) fn way(direction: Direction, ratio: f64) -> Verdict {
    match (direction, ratio < 1.0) {
        (Direction::None, _) => Verdict::Differs,
        (Direction::Smaller, true) | (Direction::Bigger, false) => Verdict::Better,
        _ => Verdict::Worse,
    }
}

/// What all rows of a pair share.
pub(crate) struct Pair<'a> {
    pub table: &'a Table,
    pub base: usize,
    pub other: usize,
    pub options: &'a Options,
    pub alpha: f64,
    /// Rows tested together.
    pub family: usize,
}

/// The row's numbers and findings; word, flags and reason are set by `judge` once the findings are adjusted.
pub(crate) fn measure(pair: &Pair<'_>, reduced: &Reduced<'_>, draft: &Draft) -> Row {
    let metric = reduced.metric;
    let (base_cell, other_cell) = (&metric.cells[pair.base], &metric.cells[pair.other]);
    let contrast = draft.contrast().copied();
    let in_blocks = pair.table.layout.controlled();
    let differences = reduced.differences(pair.base, pair.other, u32::MAX);
    let series: Vec<f64> = differences.iter().map(|(_, d)| *d).collect();
    let share = |kind: fn(&crate::Observation) -> Option<crate::Share>| {
        let of = |cell: &Cell| -> Vec<_> { cell.observations.iter().filter_map(kind).collect() };
        shares::compare(&of(base_cell), &of(other_cell))
    };
    let ratio = match draft.evidence {
        Evidence::Exact(a, b) => (a != 0).then(|| b as f64 / a as f64),
        Evidence::Contrast(contrast) => Some(contrast.ratio()),
        Evidence::OneRun(effect) => Some(effect.exp()),
        Evidence::Nothing(_) => None,
    };
    Row {
        metric: metric.name.clone(),
        direction: metric.direction,
        control: metric.control,
        gated: metric.gated,
        base: side(metric, pair.base),
        other: side(metric, pair.other),
        ratio,
        ci95: contrast.map(|contrast| contrast.interval(0.95)),
        contrast,
        p: contrast.map(|contrast| contrast.p()),
        p_adjusted: draft.p_adjusted,
        p_exact: draft.p_exact,
        p_watch: None,
        verdict: Verdict::Inconclusive,
        reason: None,
        flags: Vec::new(),
        margin_pct: 100.0 * draft.margin,
        tightest_pct: contrast
            .filter(|_| draft.n > 2)
            .and_then(|contrast| equivalence::tightest_pct(&contrast, draft.margin, pair.alpha)),
        more_runs: MoreRuns::None,
        smallest_change_pct: contrast
            .map(|contrast| stopping::smallest_change_pct(&contrast, pair.family, pair.alpha))
            .filter(|pct| pct.is_finite()),
        survives_boot_sd_pct: None,
        exact: if let Evidence::Exact(base, other) = draft.evidence {
            Some(Exact { base, other })
        } else {
            None
        },
        borrowed: None,
        tau: draft.tau,
        drift: in_blocks
            .then(|| {
                drift::slope(&blocks::means(&reduced.by_block[pair.base], &reduced.by_block[pair.other]))
            })
            .flatten(),
        lag1: in_blocks.then(|| drift::lag1(&series)).flatten(),
        modes: modes_of(pair, reduced).filter(|_| !matches!(draft.evidence, Evidence::Exact(..))),
        tail: share(|o| o.tail),
        set_aside: share(|o| o.set_aside),
        broken_exact: draft.broken_exact,
        decided: false,
        look: draft.look,
    }
}

fn modes_of(pair: &Pair<'_>, reduced: &Reduced<'_>) -> Option<Modes> {
    let (base, other) = reduced.pair(pair.base, pair.other)?;
    modes::share(base, other, reduced.mode_threshold?)
}

fn side(metric: &Measured, configuration: usize) -> Side {
    let cell = &metric.cells[configuration];
    if let Some(summary) = cell.summary {
        let sd_pct = summary.rel_se_pct * f64::from(summary.n).sqrt();
        return Side {
            value: Some(summary.mean).filter(|mean| mean.is_finite()),
            n: summary.n as usize,
            spread_pct: Some(sd_pct).filter(|sd| sd.is_finite() && summary.n > 1),
        };
    }
    if let Some(only) = cell.observations.first().map(|o| o.value).filter(|v| *v == 0.0)
        && cell.observations.iter().all(|o| o.value == 0.0)
    {
        return Side { value: Some(only), n: cell.observations.len(), spread_pct: None };
    }
    let midpoint = |o: &crate::Observation| o.printed.map_or(o.value, |(lo, hi)| (lo + hi) / 2.0);
    let values: Vec<f64> = cell.observations.iter().filter(|o| o.value > 0.0).map(midpoint).collect();
    match estimate::value_interval(&values) {
        Some(found) => Side { value: Some(found.value), n: found.n, spread_pct: found.spread_pct },
        None => Side::default(),
    }
}

impl Row {
    /// The row's verdict in words: `worse by 5.1 % [4.2, 6.0] (p = 0.002)`, `equivalent within ±1 %`,
    /// `worse by 1.9 % [1.8, 2.0], inside the margin of ±2 %`, `inconclusive: needs about 12 more blocks`, `exact: +3`.
    pub fn words(&self) -> String {
        let change = self.change_pct().unwrap_or(0.0);
        let interval =
            self.ci95.map(|ci| format!(" [{:.2}, {:.2}]", 100.0 * (ci.lo - 1.0), 100.0 * (ci.hi - 1.0)));
        let sized = |word: &str| format!("{word}: {change:+.2} %{}", interval.clone().unwrap_or_default());
        match self.verdict {
            Verdict::Better | Verdict::Worse | Verdict::Differs => {
                let p = self.p_exact.or(self.p_adjusted).map(p_words).unwrap_or_default();
                format!("{} ({p})", sized(self.verdict.word()))
            }
            Verdict::Equivalent if self.has(crate::Flag::RealButSmall) => {
                format!(
                    "{}, inside the margin of ±{} %: real but small",
                    sized(self.way().word()),
                    plain(self.margin_pct)
                )
            }
            Verdict::Equivalent => {
                format!("equivalent within ±{} %", plain(self.tightest_pct.unwrap_or(self.margin_pct)))
            }
            Verdict::Inconclusive => {
                format!("inconclusive: {}", self.reason.as_deref().unwrap_or("no reason known"))
            }
            Verdict::Exact => match self.exact {
                Some(exact) if exact.base == exact.other => "exact: same".to_owned(),
                Some(exact) => format!("exact: {:+}", exact.other.saturating_sub(exact.base)),
                None => "exact".to_owned(),
            },
        }
    }
}

/// At most three decimals, none for whole numbers: 2, 0.25, 7.143.
pub(crate) fn plain(pct: f64) -> f64 {
    (pct * 1000.0).round() / 1000.0
}

fn p_words(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") }
}
