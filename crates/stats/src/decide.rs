//! From evidence to a decision, for all metrics of one pair together.

use crate::contrast::Contrast;
use crate::evidence::{self, Draft};
use crate::reduced::Reduced;
use crate::table::{Layout, Options, Plan, Table};
use crate::{blocks, equivalence, holm, maxt};

/// Error rate of each test of the table's plan.
pub fn alpha(table: &Table) -> f64 {
    match &table.layout {
        Layout::Blocks(plan) => plan.alpha,
        _ => Plan::fixed().alpha,
    }
}

/// Collects the evidence of every metric for one pair, from blocks up to `last`.
fn collect(
    reduced: &[Reduced<'_>],
    table: &Table,
    pair: (usize, usize),
    last: u32,
    options: &Options,
) -> Vec<Draft> {
    reduced.iter().map(|metric| evidence::draft(metric, &table.layout, pair, last, options)).collect()
}

/// All rows of several pairs, decided.
///
/// The family of the correction is one pair of the table; only where all there is are summaries, all rows of all
/// pairs form one family.
pub fn decide(
    reduced: &[Reduced<'_>],
    table: &Table,
    pairs: &[(usize, usize)],
    options: &Options,
) -> Vec<Vec<Draft>> {
    let looks: &[u32] = match &table.layout {
        Layout::Blocks(plan) if !options.exact => &plan.looks,
        _ => &[],
    };
    if !looks.is_empty() {
        return pairs.iter().map(|&pair| replay(reduced, table, pair, looks, options)).collect();
    }
    let mut drafts: Vec<Vec<Draft>> =
        pairs.iter().map(|&pair| collect(reduced, table, pair, u32::MAX, options)).collect();
    if only_summaries(table) {
        adjust(&mut drafts.iter_mut().flatten().collect::<Vec<_>>(), holm::holm, alpha(table), options);
    } else {
        for (drafts, &pair) in drafts.iter_mut().zip(pairs) {
            if options.exact {
                exact_p(reduced, table, pair, drafts, options);
            }
            adjust(&mut drafts.iter_mut().collect::<Vec<_>>(), holm::holm, alpha(table), options);
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
fn replay(
    reduced: &[Reduced<'_>],
    table: &Table,
    pair: (usize, usize),
    looks: &[u32],
    options: &Options,
) -> Vec<Draft> {
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
        current = collect(reduced, table, pair, last, options);
        adjust(&mut current.iter_mut().collect::<Vec<_>>(), holm::bonferroni, alpha(table), options);
        for (slot, draft) in decided.iter_mut().zip(&current) {
            // two blocks are never a verdict, so they never end the search for one
            if slot.is_none() && draft.n > 2 && (draft.equivalent || draft.different) {
                *slot = Some(Draft { look: Some(look), ..draft.clone() });
            }
        }
    }
    if current.is_empty() {
        current = collect(reduced, table, pair, u32::MAX, options);
    }
    decided.into_iter().zip(current).map(|(decided, current)| decided.unwrap_or(current)).collect()
}

/// Exact sign-flip p values of one pair (blocks only, six or more).
fn exact_p(
    reduced: &[Reduced<'_>],
    table: &Table,
    (base, other): (usize, usize),
    drafts: &mut [Draft],
    options: &Options,
) {
    let numbers = blocks::numbers(table);
    if !table.layout.controlled() || numbers.len() < maxt::FEWEST_BLOCKS {
        return;
    }
    let rows: Vec<usize> = (0..drafts.len()).filter(|&m| drafts[m].contrast().is_some()).collect();
    let differences: Vec<Vec<Option<f64>>> = rows
        .iter()
        .map(|&m| {
            let found = reduced[m].differences(base, other, u32::MAX);
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
