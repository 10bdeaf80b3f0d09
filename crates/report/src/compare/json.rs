//! A comparison as the JSON document scripts rely on.

use serde_json::{Value, json};
use stats::{Comparison, Report, Row, Side};

use super::{Gathered, sentence};

/// Version of the document's shape.
const SCHEMA: u32 = 1;

/// The whole document.
pub fn document(gathered: &Gathered, report: &Report) -> Value {
    let name = |c: usize| gathered.table.configurations[c].name.as_str();
    let comparisons: Vec<Value> = report.comparisons.iter().map(|c| comparison_json(gathered, c)).collect();
    let mut notes = gathered.notes.clone();
    for note in report.comparisons.iter().flat_map(|c| &c.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    let sentences: Vec<String> = report
        .comparisons
        .iter()
        .map(|c| sentence(c, name(c.base), name(c.other), report.controlled_order))
        .collect();
    json!({
        "schema": SCHEMA,
        "base": report.comparisons.first().map(|c| name(c.base)),
        "comparable": report.comparable,
        "controlled_order": report.controlled_order,
        "notes": notes,
        "sentence": sentences.join(" | "),
        "comparisons": comparisons,
    })
}

/// One pair.
pub fn comparison_json(gathered: &Gathered, comparison: &Comparison) -> Value {
    let counts = &comparison.counts;
    let rows: Vec<Value> =
        comparison.rows.iter().zip(&gathered.units).map(|(row, unit)| row_json(row, &unit.0.0)).collect();
    json!({
        "base": gathered.table.configurations[comparison.base].name,
        "other": gathered.table.configurations[comparison.other].name,
        "comparable": comparison.comparable,
        "counts": {
            "better": counts.better,
            "worse": counts.worse,
            "equivalent": counts.equivalent,
            "inconclusive": counts.inconclusive,
            "exact": counts.exact,
            "differs": counts.differs,
        },
        "environment_differences": differences(gathered, comparison),
        "rows": rows,
    })
}

fn differences(gathered: &Gathered, comparison: &Comparison) -> Vec<Value> {
    environment::diff(&gathered.environments[comparison.base], &gathered.environments[comparison.other])
        .into_iter()
        .map(|difference| json!({"field": difference.field, "a": difference.a, "b": difference.b}))
        .collect()
}

fn row_json(row: &Row, unit: &str) -> Value {
    json!({
        "metric": row.metric,
        "unit": unit,
        "direction": row.direction,
        "control": row.control,
        "gated": row.gated,
        "base": side(&row.base),
        "other": side(&row.other),
        "ratio": row.ratio,
        "ci95": row.ci95.map(|ci| [ci.lo, ci.hi]),
        "p_adjusted": row.p_adjusted,
        "p_exact": row.p_exact,
        "p_watch": row.p_watch,
        "verdict": row.verdict.word(),
        "reason": row.reason,
        "flags": row.flags.iter().map(|flag| flag.word()).collect::<Vec<_>>(),
        "margin_pct": row.margin_pct,
        "tightest_pct": row.tightest_pct,
        "more_runs": row.more_runs.number(),
        "smallest_change_pct": row.smallest_change_pct,
        "survives_boot_sd_pct": row.survives_boot_sd_pct.filter(|pct| pct.is_finite()),
        "exact_change": row.exact.map(|exact| exact.other - exact.base),
    })
}

fn side(side: &Side) -> Value {
    json!({"value": side.value, "n": side.n, "spread_pct": side.spread_pct})
}
