//! From a row's numbers and findings to its word, its reason and its flags.

use crate::equivalence;
use crate::evidence::{Draft, Evidence};
use crate::legacy;
use crate::modes::Modes;
use crate::reduced::Reduced;
use crate::row::{MoreRuns, Pair, Row};
use crate::sittings::TauSource;
use crate::stopping;
use crate::table::{Configuration, Layout, Measured};
use crate::verdict::{Flag, Verdict};

/// Share of samples beyond which setting them aside would leave too little: everything stays, the row is flagged.
const DISTURBED: f64 = 0.30;

/// A single run beyond this many borrowed deviations is worth a second one.
const RERUN: f64 = 2.5;
/// A single run beyond this many is marked extreme.
const EXTREME: f64 = 10.0;

/// Sets word, flags, reason and the number of further runs.
pub(crate) fn judge(pair: &Pair<'_>, reduced: &Reduced<'_>, draft: &Draft, row: &mut Row) {
    let rounding = is_rounding(pair, reduced, draft);
    let (verdict, reason) = word(pair, draft, row, rounding);
    row.verdict = verdict;
    row.reason = reason;
    row.decided = match verdict {
        Verdict::Exact => true,
        _ => {
            draft.look.is_some() || row.modes.is_some() && verdict == Verdict::Inconclusive && draft.different
        }
    };
    if verdict == Verdict::Inconclusive {
        row.more_runs = match (&row.modes, &draft.evidence, &row.borrowed) {
            (Some(_), ..) => MoreRuns::FindTheCause,
            (None, Evidence::Contrast(contrast), _) => {
                stopping::more_runs(contrast, draft.margin, pair.family, pair.alpha)
            }
            (None, Evidence::OneRun(effect), Some(noise)) if noise.times > 0.0 => {
                let target = effect.abs().max(draft.margin.ln_1p());
                let sd = noise.sd * std::f64::consts::SQRT_2;
                let family = pair.table.metrics.len();
                stopping::more(stopping::units_needed(sd, target, family, pair.alpha).ceil(), 1.0)
            }
            _ => MoreRuns::None,
        };
        if row.reason.is_none() {
            row.reason = Some(needs(row, draft));
        }
    }
    row.flags = flags(pair, reduced.metric, draft, row, rounding);
}

/// The word and, where one is known already, the reason.
fn word(pair: &Pair<'_>, draft: &Draft, row: &Row, rounding: bool) -> (Verdict, Option<String>) {
    let inconclusive = |reason: String| (Verdict::Inconclusive, Some(reason));
    match draft.evidence {
        Evidence::Exact(..) => return (Verdict::Exact, None),
        Evidence::Nothing(why) => {
            return inconclusive(draft.no_ratio.clone().unwrap_or_else(|| why.to_owned()));
        }
        Evidence::OneRun(_) => return inconclusive(one_run(row)),
        Evidence::Contrast(_) => {}
    }
    if pair.table.layout == Layout::Sequential && !pair.options.accept_uncontrolled {
        return inconclusive("uncontrolled order: all of one ran before all of the other".to_owned());
    }
    let assumed = matches!(row.tau, Some(TauSource::Default(_)));
    if assumed && !pair.options.accept_uncontrolled && busy(pair).is_some() {
        return inconclusive("measured on a busy machine".to_owned());
    }
    let way = row.way();
    if draft.n < 3 {
        let suggestion = match (draft.equivalent, draft.different) {
            (true, _) => Some("equivalent".to_owned()),
            (false, true) => Some(way.word().to_owned()),
            _ => None,
        };
        return inconclusive(match suggestion {
            Some(what) => format!("two runs on a side: suggestive of {what} only"),
            None => "two runs on a side: too few for a verdict".to_owned(),
        });
    }
    let order = (!pair.table.layout.controlled()).then(|| "uncontrolled order".to_owned());
    match (draft.equivalent, draft.different) {
        (true, _) => (Verdict::Equivalent, order),
        (false, true) if row.modes.is_some_and(|modes| !same_way_within(&modes, row)) => {
            inconclusive("two modes: their shares differ, not the values within a mode".to_owned())
        }
        (false, true) => (way, order),
        (false, false) if row.modes.is_some() => inconclusive("two modes: find their cause".to_owned()),
        (false, false) if rounding => inconclusive("rounding: too few digits were printed".to_owned()),
        (false, false) => (Verdict::Inconclusive, None),
    }
}

/// Why the assumed deviation between sittings does not hold for a pair: a busy machine's sittings differ by more.
pub(crate) fn busy(pair: &Pair<'_>) -> Option<String> {
    let sides = [pair.base, pair.other].map(|side| &pair.table.configurations[side]);
    let others =
        |side: &Configuration| format!("{:.1} under {}", side.others_running.unwrap_or(0.0), side.name);
    sides.iter().any(|side| side.was_busy()).then(|| {
        format!(
            "measured on a busy machine (tasks of others per CPU: {}, {}): interleave with ab, or take three sittings a side",
            others(sides[0]),
            others(sides[1])
        )
    })
}

/// True when the values inside the same mode differ too, and the same way as the whole.
fn same_way_within(modes: &Modes, row: &Row) -> bool {
    let ratio = row.ratio.unwrap_or(1.0);
    modes.within.is_some_and(|(_, lo, hi)| (lo > 1.0 && ratio > 1.0) || (hi < 1.0 && ratio < 1.0))
}

/// True when the row would have been decided if the same numbers had been printed with all digits.
fn is_rounding(pair: &Pair<'_>, reduced: &Reduced<'_>, draft: &Draft) -> bool {
    let Some(contrast) = draft.contrast().filter(|c| c.widening > 0.0 || c.floored) else { return false };
    let Some((pooled, seen)) = reduced.pooled.zip(reduced.seen) else { return false };
    let exact = legacy::unrounded(contrast, pooled, seen);
    equivalence::tost_p(&exact, draft.margin) < pair.alpha || exact.p() * (pair.family as f64) < pair.alpha
}

fn one_run(row: &Row) -> String {
    match row.borrowed {
        Some(noise) if noise.times == 0.0 => {
            "one run: the printed intervals touch, no information".to_owned()
        }
        Some(noise) => {
            let rerun = if noise.times > RERUN { ", worth a rerun" } else { "" };
            format!("one run: {:.1} times the noise {}{rerun}", noise.times, noise.source)
        }
        None => "one run: no noise to hold it against".to_owned(),
    }
}

fn needs(row: &Row, draft: &Draft) -> String {
    let unit = draft.contrast().map_or("runs", |contrast| contrast.unit.name());
    match row.more_runs {
        MoreRuns::About(n) => format!("needs about {n} more {unit}"),
        MoreRuns::TooMany => format!("needs more than 200 {unit}: fix the noise first"),
        MoreRuns::FindTheCause | MoreRuns::None => "no error known".to_owned(),
    }
}

fn flags(pair: &Pair<'_>, metric: &Measured, draft: &Draft, row: &Row, rounding: bool) -> Vec<Flag> {
    let configurations = [&pair.table.configurations[pair.base], &pair.table.configurations[pair.other]];
    let contrast = matches!(draft.evidence, Evidence::Contrast(_));
    let moved =
        matches!(row.verdict, Verdict::Better | Verdict::Worse | Verdict::Differs) || row.exact_worse();
    let touching = row.borrowed.is_some_and(|noise| noise.times == 0.0);
    let disturbed =
        row.set_aside.is_some_and(|t| t.base.fraction() > DISTURBED || t.other.fraction() > DISTURBED);
    let set = [
        (Flag::RealButSmall, row.verdict == Verdict::Equivalent && draft.different),
        (Flag::TwoModes, row.modes.is_some()),
        (Flag::Drift, row.drift.is_some_and(|drift| drift.found())),
        (Flag::Tail, row.tail.is_some_and(|tail| tail.differs())),
        (Flag::Rounding, row.verdict == Verdict::Inconclusive && (touching || rounding)),
        (Flag::OneRun, matches!(draft.evidence, Evidence::OneRun(_))),
        (Flag::Suggestive, contrast && draft.n < 3 && (draft.equivalent || draft.different)),
        (Flag::Extreme, row.borrowed.is_some_and(|noise| noise.times > EXTREME)),
        (Flag::OneBoot, configurations.iter().any(|c| c.one_boot)),
        (Flag::OneBuild, configurations.iter().any(|c| c.one_build)),
        (Flag::Disturbed, metric.screened && disturbed),
        (Flag::ControlsMoved, metric.control && !metric.expected && moved),
        (Flag::ScaledCounter, metric.scaled_counter),
        (Flag::BelowResolution, metric.below_resolution),
    ];
    set.into_iter().filter(|(_, on)| *on).map(|(flag, _)| flag).collect()
}
