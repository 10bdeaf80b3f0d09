//! What the observations of one metric amount to for one pair, before any decision.

use crate::blocks;
use crate::contrast::Contrast;
use crate::counts::{self, Exactness};
use crate::legacy::{self, Group};
use crate::reduced::Reduced;
use crate::sittings::TauSource;
use crate::summaries::{self, MeanWithError};
use crate::table::{Layout, Measured, Options};

/// What the observations of one row amount to.
#[derive(Clone, Debug)]
pub enum Evidence {
    /// Exact integers on both sides.
    Exact(i64, i64),
    /// A difference with an error.
    Contrast(Contrast),
    /// One run on a side: a difference of logs without an error.
    OneRun(f64),
    /// Nothing to compare, and why.
    Nothing(&'static str),
}

/// One row on its way to a verdict.
#[derive(Clone, Debug)]
pub struct Draft {
    /// What there is.
    pub evidence: Evidence,
    /// Runs or blocks of the smaller side: with two, a decision is only a suggestion.
    pub n: usize,
    /// Where the between-sitting deviation came from.
    pub tau: Option<TauSource>,
    /// Declared exact, but repetitions differ.
    pub broken_exact: bool,
    /// Margin of this row, as a fraction.
    pub margin: f64,
    /// p value adjusted over the family.
    pub p_adjusted: Option<f64>,
    /// p value of the exact sign-flip test over the table.
    pub p_exact: Option<f64>,
    /// Why there is no ratio though there are values.
    pub no_ratio: Option<String>,
    /// Inside the margin.
    pub equivalent: bool,
    /// Significantly different from no change.
    pub different: bool,
    /// Look of the plan at which it was decided.
    pub look: Option<u32>,
}

impl Draft {
    /// The contrast, when there is one.
    pub fn contrast(&self) -> Option<&Contrast> {
        match &self.evidence {
            Evidence::Contrast(contrast) => Some(contrast),
            _ => None,
        }
    }
}

/// Evidence of one metric for the pair `base`, `other`, from blocks up to `last`; undecided.
pub fn draft(
    metric: &Reduced<'_>,
    layout: &Layout,
    (base, other): (usize, usize),
    last: u32,
    options: &Options,
) -> Draft {
    let measured = metric.metric;
    let exactness = measured.exact.then(|| counts::exactness(measured, base, other));
    let mut draft = Draft {
        evidence: Evidence::Nothing("not measured on both sides"),
        n: 0,
        tau: None,
        broken_exact: exactness == Some(Exactness::Broken),
        margin: margin_of(measured, &metric.groups, base, options),
        p_adjusted: None,
        p_exact: None,
        no_ratio: measured.no_ratio.clone(),
        equivalent: false,
        different: false,
        look: None,
    };
    let cells = (&measured.cells[base], &measured.cells[other]);
    if let Some(Exactness::Exact(a, b)) = exactness {
        draft.n = cells.0.observations.len().min(cells.1.observations.len());
        draft.evidence = Evidence::Exact(a, b);
    } else if cells.0.summary.is_some() || cells.1.summary.is_some() {
        from_summaries(&mut draft, measured, base, other);
    } else if cells.0.observations.is_empty() || cells.1.observations.is_empty() {
        // stays "not measured on both sides"
    } else if let Layout::Blocks(_) = layout {
        from_blocks(&mut draft, metric, base, other, last);
    } else {
        from_runs(&mut draft, metric, base, other, options);
    }
    draft
}

/// The metric's margin; a floor in its own unit counts relative to the base's value.
fn margin_of(metric: &Measured, groups: &[Option<Group>], base: usize, options: &Options) -> f64 {
    let relative = metric.margin.unwrap_or(options.margin);
    let typical = match metric.cells[base].summary {
        Some(summary) => Some(summary.mean),
        None => groups[base].as_ref().map(|group| group.mean.exp()),
    };
    match (metric.margin_floor, typical) {
        (Some(floor), Some(value)) if value > 0.0 && floor > 0.0 => relative.max(floor / value),
        _ => relative,
    }
}

fn from_summaries(draft: &mut Draft, metric: &Measured, base: usize, other: usize) {
    let sides = (MeanWithError::of(&metric.cells[base]), MeanWithError::of(&metric.cells[other]));
    if let (Some(a), Some(b)) = sides {
        draft.n = a.n.min(b.n) as usize;
        draft.evidence = match summaries::contrast(&a, &b) {
            Some(contrast) => Evidence::Contrast(contrast),
            None if draft.n < 2 => Evidence::OneRun((b.mean / a.mean).ln()),
            None => Evidence::Nothing("the summaries give no error"),
        };
    }
}

fn from_blocks(draft: &mut Draft, metric: &Reduced<'_>, base: usize, other: usize, last: u32) {
    draft.evidence = if let Some(contrast) = blocks::contrast(metric, base, other, last) {
        draft.n = contrast.n;
        Evidence::Contrast(contrast)
    } else if let Some(&(_, difference)) = metric.differences(base, other, last).first() {
        draft.n = 1;
        Evidence::OneRun(difference)
    } else {
        Evidence::Nothing("no block in which both sides have a value above zero")
    };
}

fn from_runs(draft: &mut Draft, metric: &Reduced<'_>, base: usize, other: usize, options: &Options) {
    let Some((a, b)) = metric.pair(base, other) else {
        draft.evidence = Evidence::Nothing("no value above zero on one side: a ratio is undefined");
        return;
    };
    draft.n = a.n().min(b.n());
    let contrast = match &metric.sittings {
        Some(sittings) => sittings.contrast(metric.metric, base, other, options).map(|(contrast, tau)| {
            draft.tau = Some(tau);
            contrast
        }),
        None => metric.pooled.zip(metric.seen).map(|(pooled, seen)| legacy::contrast(a, b, pooled, seen)),
    };
    draft.evidence = match contrast.filter(|_| draft.n > 1) {
        Some(contrast) => Evidence::Contrast(contrast),
        None => Evidence::OneRun(b.mean - a.mean),
    };
}
