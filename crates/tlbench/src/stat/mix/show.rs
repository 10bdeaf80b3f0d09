//! The table of `stat --mix`, as text and JSON.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::costs::{Item, predicted_change};
use super::count::Counted;

/// Prints the table. `labels` names the records; `measured` is the change of CPU time when it was measured too.
pub fn print(
    out: &mut impl Write,
    command: &str,
    counted: &Counted,
    items: &[Item],
    labels: &[String],
    measured: Option<(f64, f64)>,
) -> io::Result<()> {
    writeln!(
        out,
        "`{command}`: {:.3} ms, {:.3} ms of CPU time ({} runs; counting adds {:+.1} %)\n",
        counted.wall_ns / 1e6,
        counted.cpu_ns / 1e6,
        counted.runs,
        100.0 * counted.counting_cost
    )?;
    let seconds = counted.wall_ns / 1e9;
    writeln!(
        out,
        "  {:<38} {:>10} {:>10} {:>10} {:>8}  cost is",
        "what", "per run", "per second", "ns each", "of CPU"
    )?;
    let mut share = 0.0;
    for item in items {
        let Ok(count) = item.count else { continue };
        let (cost, part) = match item.costs.first().copied().flatten() {
            Some(cost) => {
                let part = count * cost.ns / counted.cpu_ns;
                share += part;
                (report::significant(cost.ns, Some(cost.error_ns)), format!("{:.2} %", 100.0 * part))
            }
            None => ("-".into(), "-".into()),
        };
        let per_run = report::significant(count, None);
        let rate = report::significant(count / seconds, None);
        let metric = item.metric.as_deref().unwrap_or("");
        writeln!(out, "  {:<38} {per_run:>10} {rate:>10} {cost:>10} {part:>8}  {metric}", item.what)?;
    }
    for item in items {
        if let Err(why) = &item.count {
            writeln!(out, "  not counted: {}: {why}", item.what)?;
        }
    }
    if !labels.is_empty() {
        writeln!(out, "\nwhat can be priced by {} is {:.1} % of the CPU time", labels[0], 100.0 * share)?;
    }
    if let Some(change) = predicted_change(items) {
        writeln!(
            out,
            "from {} to {}: predicted {:+.2} +- {:.2} % of the CPU time",
            labels[0],
            labels[1],
            100.0 * change.ns / counted.cpu_ns,
            100.0 * change.error_ns / counted.cpu_ns
        )?;
    }
    if let Some((change, error)) = measured {
        writeln!(out, "measured under both: {:+.2} +- {:.2} %", 100.0 * change, 100.0 * error)?;
    }
    Ok(())
}

/// The same as JSON.
pub fn document(
    command: &str,
    counted: &Counted,
    items: &[Item],
    labels: &[String],
    measured: Option<(f64, f64)>,
) -> Value {
    let item = |item: &Item| {
        let cost = item.costs.first().copied().flatten();
        let share = cost.and_then(|cost| Some(100.0 * item.count.as_ref().ok()? * cost.ns / counted.cpu_ns));
        json!({
            "what": item.what,
            "per_run": item.count.as_ref().ok(),
            "reason": item.count.as_ref().err(),
            "metric": item.metric,
            "cost_ns": item.costs,
            "share_pct": share,
        })
    };
    let percent = |ns: f64| 100.0 * ns / counted.cpu_ns;
    let predicted = predicted_change(items);
    json!({
        "command": command,
        "wall_s": counted.wall_ns / 1e9,
        "cpu_s": counted.cpu_ns / 1e9,
        "counting_cost_pct": 100.0 * counted.counting_cost,
        "runs": counted.runs,
        "records": labels,
        "mix": items.iter().map(item).collect::<Vec<_>>(),
        "predicted_change_pct": predicted.map(|change| percent(change.ns)),
        "predicted_error_pct": predicted.map(|change| percent(change.error_ns)),
        "measured_change_pct": measured.map(|(change, _)| 100.0 * change),
        "measured_error_pct": measured.map(|(_, error)| 100.0 * error),
    })
}
