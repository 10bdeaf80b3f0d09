//! From observations to evidence to a decision, for all metrics of one pair.

use crate::contrast::Contrast;
use crate::counts::{self, Exactness};
use crate::legacy::{self, Group};
use crate::sittings::{self, TauSource};
use crate::summaries::{self, MeanWithError};
use crate::table::{Layout, Measured, Options, Plan, Table};
use crate::{blocks, equivalence, holm, maxt};

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
    /// Spread and rounding of each configuration (not for blocks or summaries).
    pub groups: Vec<Option<Group>>,
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

/// Error rate of each test of the table's plan.
pub fn alpha(table: &Table) -> f64 {
    match &table.layout {
        Layout::Blocks(plan) => plan.alpha,
        _ => Plan::fixed().alpha,
    }
}

/// Collects the evidence of every metric for one pair, from blocks up to `last`.
fn collect(table: &Table, base: usize, other: usize, last: u32, options: &Options) -> Vec<Draft> {
    table.metrics.iter().map(|metric| draft(table, metric, base, other, last, options)).collect()
}

fn draft(table: &Table, metric: &Measured, base: usize, other: usize, last: u32, options: &Options) -> Draft {
    let exactness = metric.exact.then(|| counts::exactness(metric, base, other));
    let mut draft = Draft {
        evidence: Evidence::Nothing("not measured on both sides"),
        n: 0,
        groups: Vec::new(),
        tau: None,
        broken_exact: exactness == Some(Exactness::Broken),
        margin: margin_of(metric, base, options),
        p_adjusted: None,
        p_exact: None,
        equivalent: false,
        different: false,
        look: None,
    };
    if let Some(Exactness::Exact(a, b)) = exactness {
        draft.n = metric.cells[base].observations.len().min(metric.cells[other].observations.len());
        draft.evidence = Evidence::Exact(a, b);
    } else if metric.cells[base].summary.is_some() || metric.cells[other].summary.is_some() {
        from_summaries(&mut draft, metric, base, other);
    } else if let Layout::Blocks(_) = table.layout {
        from_blocks(&mut draft, metric, base, other, last);
    } else {
        from_runs(&mut draft, table, metric, base, other, options);
    }
    draft
}

/// The metric's margin; a floor in its own unit counts relative to the base's typical value.
fn margin_of(metric: &Measured, base: usize, options: &Options) -> f64 {
    let relative = metric.margin.unwrap_or(options.margin);
    let typical = match metric.cells[base].summary {
        Some(summary) => Some(summary.mean),
        None => crate::estimate::median(
            &metric.cells[base].observations.iter().map(|o| o.value).collect::<Vec<_>>(),
        ),
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

fn from_blocks(draft: &mut Draft, metric: &Measured, base: usize, other: usize, last: u32) {
    if let Some(contrast) = blocks::contrast(metric, base, other, last) {
        draft.n = contrast.n;
        draft.evidence = Evidence::Contrast(contrast);
        return;
    }
    match blocks::differences(metric, base, other, last).first() {
        Some(&(_, difference)) => {
            draft.n = 1;
            draft.groups = legacy::groups(metric);
            draft.evidence = Evidence::OneRun(difference);
        }
        None if metric.cells[base].observations.is_empty() || metric.cells[other].observations.is_empty() => {
        }
        None => draft.evidence = Evidence::Nothing("no block in which both sides have a value above zero"),
    }
}

fn from_runs(
    draft: &mut Draft,
    table: &Table,
    metric: &Measured,
    base: usize,
    other: usize,
    options: &Options,
) {
    draft.groups = legacy::groups(metric);
    let (Some(a), Some(b)) = (&draft.groups[base], &draft.groups[other]) else {
        if !metric.cells[base].observations.is_empty() && !metric.cells[other].observations.is_empty() {
            draft.evidence = Evidence::Nothing("no value above zero on one side: a ratio is undefined");
        }
        return;
    };
    let effect = b.mean - a.mean;
    let contrast = if table.layout == Layout::Sittings {
        draft.n = sittings::smallest_side(metric, base, other);
        sittings::contrast(metric, base, other, options).map(|(contrast, tau)| {
            draft.tau = Some(tau);
            contrast
        })
    } else {
        draft.n = a.n().min(b.n());
        legacy::contrast(&draft.groups, base, other)
    };
    draft.evidence = match contrast.filter(|_| draft.n > 1) {
        Some(contrast) => Evidence::Contrast(contrast),
        None => Evidence::OneRun(effect),
    };
}

/// All rows of several pairs, decided.
///
/// The family of the correction is one pair of the table; only where all there is are summaries, all rows of all
/// pairs form one family.
pub fn decide(table: &Table, pairs: &[(usize, usize)], options: &Options) -> Vec<Vec<Draft>> {
    let looks: &[u32] = match &table.layout {
        Layout::Blocks(plan) if !options.exact => &plan.looks,
        _ => &[],
    };
    if !looks.is_empty() {
        return pairs.iter().map(|&(base, other)| replay(table, base, other, looks, options)).collect();
    }
    let mut drafts: Vec<Vec<Draft>> =
        pairs.iter().map(|&(base, other)| collect(table, base, other, u32::MAX, options)).collect();
    if only_summaries(table) {
        adjust(&mut drafts.iter_mut().flatten().collect::<Vec<_>>(), holm::holm, alpha(table), options);
    } else {
        for (pair, &(base, other)) in drafts.iter_mut().zip(pairs) {
            if options.exact {
                exact_p(table, base, other, pair, options);
            }
            adjust(&mut pair.iter_mut().collect::<Vec<_>>(), holm::holm, alpha(table), options);
        }
    }
    drafts
}

/// True when there are summaries and nothing else.
pub fn only_summaries(table: &Table) -> bool {
    table
        .metrics
        .iter()
        .flat_map(|metric| &metric.cells)
        .all(|cell| cell.summary.is_some() || cell.observations.is_empty())
}

/// Plays the looks of a sequential plan again, so that a record has one verdict however often it is read: a metric is
/// decided at the first look that decides it, on the blocks up to there. Bonferroni over the whole family at each
/// look, so that metrics which stopped early never loosen the others.
fn replay(table: &Table, base: usize, other: usize, looks: &[u32], options: &Options) -> Vec<Draft> {
    let numbers = blocks::numbers(table);
    let measured = numbers.len() as u32;
    let mut at: Vec<u32> = looks.iter().copied().filter(|&look| look > 0 && look <= measured).collect();
    at.sort_unstable();
    // a budget that ended between two looks takes the place of the next one
    let spent = looks.iter().all(|&look| look <= measured);
    if !spent && at.last() != Some(&measured) {
        at.push(measured);
    }
    let mut decided: Vec<Option<Draft>> = vec![None; table.metrics.len()];
    let mut current = Vec::new();
    for look in at {
        let last = numbers.get(look as usize - 1).copied().unwrap_or(u32::MAX);
        current = collect(table, base, other, last, options);
        adjust(&mut current.iter_mut().collect::<Vec<_>>(), holm::bonferroni, alpha(table), options);
        for (slot, draft) in decided.iter_mut().zip(&current) {
            if slot.is_none() && (draft.equivalent || draft.different) {
                *slot = Some(Draft { look: Some(look), ..draft.clone() });
            }
        }
    }
    if current.is_empty() {
        current = collect(table, base, other, u32::MAX, options);
    }
    decided.into_iter().zip(current).map(|(decided, current)| decided.unwrap_or(current)).collect()
}

/// Exact sign-flip p values of one pair (blocks only, six or more).
fn exact_p(table: &Table, base: usize, other: usize, drafts: &mut [Draft], options: &Options) {
    let numbers = blocks::numbers(table);
    if !table.layout.controlled() || numbers.len() < maxt::FEWEST_BLOCKS {
        return;
    }
    let rows: Vec<usize> = (0..drafts.len()).filter(|&m| drafts[m].contrast().is_some()).collect();
    let differences: Vec<Vec<Option<f64>>> = rows
        .iter()
        .map(|&m| {
            let found = blocks::differences(&table.metrics[m], base, other, u32::MAX);
            numbers
                .iter()
                .map(|n| found.binary_search_by_key(n, |(block, _)| *block).ok().map(|i| found[i].1))
                .collect()
        })
        .collect();
    for (row, p) in rows.into_iter().zip(maxt::adjusted_p(&differences, options.seed)) {
        drafts[row].p_exact = Some(p);
    }
}

/// Adjusts over one family and decides.
fn adjust(family: &mut [&mut Draft], correct: fn(&[f64]) -> Vec<f64>, alpha: f64, options: &Options) {
    let rows: Vec<usize> = (0..family.len()).filter(|&i| family[i].contrast().is_some()).collect();
    let of = |p: fn(&Draft, &Contrast) -> f64| -> Vec<f64> {
        rows.iter().filter_map(|&i| family[i].contrast().map(|contrast| p(family[i], contrast))).collect()
    };
    let adjusted = correct(&of(|_, contrast| contrast.p()));
    let tost = of(|draft, contrast| equivalence::tost_p(contrast, draft.margin));
    let tost = if options.strict { correct(&tost) } else { tost };
    for ((&i, p), tost) in rows.iter().zip(adjusted).zip(tost) {
        let draft = &mut *family[i];
        draft.p_adjusted = Some(p);
        draft.equivalent = tost < alpha;
        draft.different = draft.p_exact.unwrap_or(p) < alpha;
    }
}
