//! The JSON document.

use mmu::cost::{Scale, break_even, cycles};
use mmu::sim::{CAUSES, Explanation, Outcome};
use report::plot::LinePlot;
use serde_json::{Map, Value, json};

use super::Args;
use super::configurations::Row;
use super::pinning::{Flip, word};
use super::screen;
use crate::cmd::trace::Facts;

/// Version of the document.
const SCHEMA: u32 = 1;
/// Pages listed per configuration.
const PAGES: usize = 100;

/// The whole document.
pub fn document(
    rows: &[Row],
    base: usize,
    facts: &Facts,
    args: &Args,
    plot: Option<&LinePlot>,
    flips: Option<&Vec<Flip>>,
) -> Value {
    let configurations: Vec<_> =
        rows.iter().map(|row| configuration(row, &rows[base], facts, args)).collect();
    json!({
        "schema": SCHEMA,
        "simulated": true,
        "trace": {
            "references": facts.references,
            "thinned": facts.thinned,
            "thinning": facts.thinning_json(),
            "seconds": facts.seconds,
        },
        "baseline": rows[base].name,
        "configurations": configurations,
        "curve": plot.map(curve),
        "flips": flips.map(|list| list.iter().map(flip).collect::<Vec<_>>()),
    })
}

fn configuration(row: &Row, base: &Row, facts: &Facts, args: &Args) -> Value {
    let o = &row.outcome;
    let cost = cycles(o, Scale::default(), facts.thinned);
    let base_cost = cycles(&base.outcome, Scale::default(), facts.thinned).ok();
    let share = cost.as_ref().ok().and_then(|c| c.share);
    let mut out = json!({
        "name": row.name,
        "machine": o.machine.name,
        "references": o.references,
        "instructions": o.instructions,
        "lookups": o.total_lookups(),
        "outside": o.outside,
        "walks": o.walks.total(),
        "walk_refs": o.walk_refs,
        "tlbs": o.tlbs.iter().map(|t| json!({
            "name": t.name, "level": t.level, "lookups": t.lookups, "misses": t.misses,
        })).collect::<Vec<_>>(),
        "cycles": cost.as_ref().ok().map(mmu::cost::Cycles::total),
        "reason": cost.as_ref().err(),
        "share_of_time": share,
        "share_reason": match (share, facts.thinned) {
            (Some(_), _) => None,
            (None, true) => Some("the trace is thinned"),
            (None, false) => Some(screen::no_share(o)),
        },
        "walk_refs_reason": o.walk_refs.is_none().then_some("the machine's walks are not counted in references"),
        "by": by(o),
        "flushes": o.flushes,
        "page_flushes": o.page_flushes,
        "synchronisations": o.synchronisations,
        "address_space_changes": o.switches,
        "walks_vs_baseline": row.mean() - base.mean(),
        "cycles_vs_baseline": cost.ok().zip(base_cost).map(|(a, b)| a.total() - b.total()),
    });
    if let (Some(sd), Value::Object(map)) = (row.deviation(), &mut out) {
        map.insert("seeds".into(), json!({ "walks": row.walks, "mean": row.mean(), "sd": sd }));
    }
    if args.break_even
        && !std::ptr::eq(row, base)
        && let Value::Object(map) = &mut out
    {
        map.insert("break_even".into(), pinning(&base.outcome, o));
    }
    if let (Some(e), Value::Object(map)) = (&o.explanation, &mut out) {
        map.insert("explanation".into(), explanation(e));
    }
    out
}

fn by(o: &Outcome) -> Value {
    let mut sides = Map::new();
    for (side, name) in o.walks.by.iter().zip(["instruction", "data"]) {
        let mut owners = Map::new();
        for (causes, owner) in side.iter().zip(["user", "kernel"]) {
            let causes: Map<String, Value> =
                CAUSES.iter().map(|(c, word)| ((*word).to_string(), causes[*c as usize].into())).collect();
            owners.insert(owner.into(), causes.into());
        }
        sides.insert(name.into(), owners.into());
    }
    sides.into()
}

fn pinning(base: &Outcome, o: &Outcome) -> Value {
    match break_even(base, o) {
        Err(reason) => json!({ "verdict": null, "reason": reason }),
        Ok(b) => json!({
            "verdict": word(b.verdict),
            "pinned": b.pinned,
            "entries": b.entries,
            "kernel_removed": b.kernel_removed,
            "user_added": b.user_added,
            "gain_cycles": b.gain,
            "gain_range": [b.gain_range.0, b.gain_range.1],
            "kernel_share": b.kernel_share,
            "share_needed": b.share_needed,
            "miss_cycles_needed": b.miss_cycles_needed,
            "clears": b.clears,
            "clears_allowed": b.clears_allowed,
        }),
    }
}

fn explanation(e: &Explanation) -> Value {
    let pages: Vec<_> = e
        .pages
        .iter()
        .take(PAGES)
        .map(|p| {
            json!({
                "base": format!("{:x}", p.page.base),
                "size": 1u64 << p.page.shift,
                "kernel": p.page.kernel,
                "address_space": p.page.space.checked_sub(1),
                "misses": p.misses,
            })
        })
        .collect();
    let [[uu, uk], [ku, kk]] = e.evictions;
    json!({
        "pages": pages,
        "evictions": {
            "user_by_user": uu, "user_by_kernel": uk, "kernel_by_user": ku, "kernel_by_kernel": kk,
        },
        "per_flush": e.per_flush,
    })
}

fn curve(plot: &LinePlot) -> Value {
    let series: Vec<_> = plot.series.iter().map(|s| json!({ "name": s.name, "points": s.points })).collect();
    json!({ "x": plot.x_label, "y": plot.y_label, "series": series })
}

fn flip(flip: &Flip) -> Value {
    let verdicts: Vec<_> =
        flip.verdicts.iter().map(|&(n, v)| json!({ "entries": n, "verdict": word(v) })).collect();
    json!({ "pinned": flip.pinned, "by_entries": verdicts })
}
