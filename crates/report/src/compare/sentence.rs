//! The first line: what the table amounts to.

use stats::{Comparison, Flag, Row, Verdict};

/// One sentence on a comparison of `base` and `other`.
pub fn sentence(comparison: &Comparison, base: &str, other: &str, controlled: bool) -> String {
    let counts = &comparison.counts;
    let word = match (
        comparison.comparable,
        counts.better + exact(comparison, true),
        counts.worse + exact(comparison, false),
    ) {
        (false, _, _) => format!("{other} and {base} are not comparable"),
        (true, 0, 0) if counts.differs > 0 => format!("{other} differs from {base}"),
        (true, 0, 0) if counts.inconclusive == 0 => format!("{other} is equivalent to {base}"),
        (true, 0, 0) => format!("{other} against {base}: no difference shown"),
        (true, _, 0) => format!("{other} is better than {base}"),
        (true, 0, _) => format!("{other} is worse than {base}"),
        (true, _, _) => format!("{other} is better and worse than {base}"),
    };
    let mut text = word;
    let leading = leading(comparison);
    if !leading.is_empty() {
        text.push_str(&format!(": {}", leading.join(", ")));
    }
    text.push_str("; ");
    text.push_str(&counted(comparison));
    if !controlled {
        text.push_str(" (uncontrolled order)");
    }
    let one_boot = comparison.rows.iter().any(|row| row.has(Flag::OneBoot));
    if one_boot && counts.better + counts.worse > 0 {
        text.push_str("; these runs differ; kernel, boot and build cannot be told apart");
    }
    text
}

/// Exact counts that moved the good (or the bad) way.
fn exact(comparison: &Comparison, good: bool) -> usize {
    let moved = |row: &&Row| row.exact.is_some_and(|exact| exact.base != exact.other);
    let way = if good { Verdict::Better } else { Verdict::Worse };
    comparison.rows.iter().filter(moved).filter(|row| row.way() == way).count()
}

/// The three largest decided changes.
fn leading(comparison: &Comparison) -> Vec<String> {
    let decided = |row: &&Row| matches!(row.verdict, Verdict::Better | Verdict::Worse | Verdict::Differs);
    let mut rows: Vec<&Row> = comparison.rows.iter().filter(decided).collect();
    let size = |row: &Row| row.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    rows.sort_by(|a, b| {
        (b.verdict == Verdict::Worse).cmp(&(a.verdict == Verdict::Worse)).then(size(b).total_cmp(&size(a)))
    });
    rows.iter()
        .take(3)
        .map(|row| {
            let change = row.change_pct().map_or(String::new(), |c| format!(" {c:+.1} %"));
            let interval = row.ci95.map_or(String::new(), |ci| {
                format!(" [{:+.1}, {:+.1}]", 100.0 * (ci.lo - 1.0), 100.0 * (ci.hi - 1.0))
            });
            format!("{}{change}{interval}", row.metric)
        })
        .collect()
}

fn counted(comparison: &Comparison) -> String {
    let counts = &comparison.counts;
    let mut parts = vec![
        format!("{} better", counts.better),
        format!("{} worse", counts.worse),
        format!("{} equivalent", counts.equivalent),
        format!("{} undecided", counts.inconclusive),
    ];
    if counts.exact > 0 {
        parts.push(format!("{} exact", counts.exact));
    }
    if counts.differs > 0 {
        parts.push(format!("{} differ", counts.differs));
    }
    parts.join(", ")
}
