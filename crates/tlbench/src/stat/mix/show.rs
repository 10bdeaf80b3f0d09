//! The table of `stat --mix`, as text and JSON.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::costs::{Change, Cost, Costs, Item, predicted_change};
use super::count::{self, By, Counted};

/// One command's mix and what it is set against.
pub struct Table<'a> {
    /// The command as the user typed it.
    pub command: &'a str,
    /// Its counts.
    pub counted: &'a Counted,
    /// The same with prices.
    pub items: &'a [Item],
    /// The prices' source.
    pub costs: &'a Costs,
    /// The change of its CPU time, when that was measured too.
    pub measured: Option<&'a Change>,
}

impl Table<'_> {
    /// Prints the table.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let Table { command, counted, costs, .. } = self;
        writeln!(
            out,
            "`{command}`: {} ms, {} ms of CPU time ({} runs)\ncounting by {} changes the CPU time by {}\n",
            report::significant(counted.wall_ns / 1e6, None),
            report::significant(counted.cpu_ns / 1e6, None),
            counted.runs,
            counted.by.word(),
            percent(100.0 * counted.counting_cost.0, counted.counting_cost.1.map(|error| 196.0 * error))
        )?;
        match costs.labels.len() {
            2 => self.changes(out)?,
            _ => self.shares(out)?,
        }
        self.not_counted(out)
    }

    /// What each item takes, by the first configuration's costs.
    fn shares(&self, out: &mut impl Write) -> io::Result<()> {
        let Table { counted, costs, .. } = self;
        let priced = !costs.labels.is_empty();
        let head = format!(
            "  {:<20} {:>9} {:>10}{}",
            "what",
            "per run",
            "per second",
            if priced { "   ns each   of CPU  priced by" } else { "" }
        );
        writeln!(out, "{head}")?;
        let mut share = 0.0;
        for (item, count) in self.counted_items() {
            let (cost, part) = match item.costs[0] {
                Some(cost) => {
                    share += self.share_pct(count * cost.ns);
                    let shown = format!("{:.2} %", self.share_pct(count * cost.ns));
                    (report::significant(cost.ns, Some(cost.half_width_ns)), shown)
                }
                None if priced => ("-".into(), "-".into()),
                None => (String::new(), String::new()),
            };
            let line = format!(
                "  {:<20} {:>9} {:>10} {cost:>9} {part:>8}  {}",
                named(&item.what),
                report::significant(count, None),
                report::significant(count * 1e9 / counted.wall_ns, None),
                item.price
            );
            writeln!(out, "{}", line.trim_end())?;
        }
        if priced {
            writeln!(
                out,
                "\nwhat `{}` has a price for is {share:.1} % of the CPU time{}",
                costs.labels[0],
                if share > 100.0 {
                    ": parts overlap (an exec faults), or the costs are another machine's"
                } else {
                    ""
                }
            )?;
        }
        Ok(())
    }

    /// What each item's change of cost comes to, and the sum.
    fn changes(&self, out: &mut impl Write) -> io::Result<()> {
        let Table { counted, costs, .. } = self;
        writeln!(out, "  A: {}\n  B: {}", costs.labels[0], costs.labels[1])?;
        writeln!(
            out,
            "  {:<20} {:>10} {:>9} {:>9} {:>16} {:>19}",
            "what", "per second", "A, ns", "B, ns", "change of each", "of the CPU time"
        )?;
        for (item, count) in self.counted_items() {
            let ([Some(a), Some(b)], Some(change)) = (item.costs, item.change) else { continue };
            let [shown_a, shown_b] =
                [a, b].map(|cost| report::significant(cost.ns, Some(cost.half_width_ns)));
            writeln!(
                out,
                "  {:<20} {:>10} {shown_a:>9} {shown_b:>9} {:>16} {:>19}",
                named(&item.what),
                report::significant(count * 1e9 / counted.wall_ns, None),
                percent(100.0 * change.ns / a.ns, Some(100.0 * change.half_width_ns / a.ns)),
                self.effect(times(change, count))
            )?;
        }
        let without: Vec<&str> = self
            .counted_items()
            .filter(|(item, _)| item.change.is_none())
            .map(|(item, _)| named(&item.what))
            .collect();
        if !without.is_empty() {
            for line in report::wrapped(&format!("no change known of: {}", without.join(", ")), 96) {
                writeln!(out, "  {line}")?;
            }
        }
        match predicted_change(self.items, costs) {
            Some(change) => {
                writeln!(out, "\npredicted from A to B: {} of the CPU time", self.effect(change))?
            }
            None => writeln!(
                out,
                "\nno prediction: the records share no cost with an interval (--blocks 3 or more)"
            )?,
        }
        if let Some(measured) = self.measured {
            let [lo, hi] = measured.ci95;
            let half = 50.0 * (hi - lo);
            writeln!(
                out,
                "measured from {} to {}: {}",
                measured.between[0],
                measured.between[1],
                percent(100.0 * measured.fraction, Some(half))
            )?;
            writeln!(out, "{}", self.agreement(measured))?;
        }
        Ok(())
    }

    /// What happened at all.
    fn counted_items(&self) -> impl Iterator<Item = (&Item, f64)> {
        let counts = self.items.iter().filter_map(|item| Some((item, *item.count.as_ref().ok()?)));
        counts.filter(|(_, count)| *count > 0.0)
    }

    fn agreement(&self, measured: &Change) -> &'static str {
        let Some(change) = predicted_change(self.items, self.costs) else { return "" };
        let apart = (measured.fraction - change.ns / self.counted.cpu_ns).abs();
        let half = (measured.ci95[1] - measured.ci95[0]) / 2.0;
        match apart <= half.hypot(change.half_width_ns / self.counted.cpu_ns) {
            true => "the two agree within their 95 % intervals",
            false => {
                "the two differ by more than their 95 % intervals: the mix explains only part of the change"
            }
        }
    }

    fn not_counted(&self, out: &mut impl Write) -> io::Result<()> {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for item in self.items {
            let Err(why) = &item.count else { continue };
            match reasons.iter_mut().find(|(known, _)| known == why) {
                Some((_, items)) => items.push(named(&item.what)),
                None => reasons.push((why, vec![named(&item.what)])),
            }
        }
        for (why, items) in reasons {
            for line in report::wrapped(&format!("not counted: {}: {why}", items.join(", ")), 96) {
                writeln!(out, "  {line}")?;
            }
        }
        Ok(())
    }

    fn share_pct(&self, ns: f64) -> f64 {
        100.0 * ns / self.counted.cpu_ns
    }

    fn effect(&self, change: Cost) -> String {
        percent(self.share_pct(change.ns), Some(self.share_pct(change.half_width_ns)))
    }

    /// The same as JSON.
    pub fn document(&self) -> Value {
        let Table { command, counted, items, costs, measured } = self;
        let pct = |cost: Option<Cost>, count: &Result<f64, String>| {
            let cost = times(cost?, *count.as_ref().ok()?);
            Some([self.share_pct(cost.ns), self.share_pct(cost.half_width_ns)])
        };
        let item = |item: &Item| {
            let [share, change] = [item.costs[0], item.change].map(|cost| pct(cost, &item.count));
            json!({
                "what": item.what,
                "per_run": item.count.as_ref().ok(),
                "reason": item.count.as_ref().err(),
                "price": item.price,
                "cost_ns": item.costs,
                "share_pct": share.map(|[value, _]| value),
                "change_pct": change.map(|[value, _]| value),
                "change_half_width_pct": change.map(|[_, half]| half),
            })
        };
        let predicted = predicted_change(items, costs);
        json!({
            "command": command,
            "wall_s": counted.wall_ns / 1e9,
            "cpu_s": counted.cpu_ns / 1e9,
            "counted_by": counted.by.word(),
            "counting_cost_pct": 100.0 * counted.counting_cost.0,
            "counting_cost_error_pct": counted.counting_cost.1.map(|error| 100.0 * error),
            "runs": counted.runs,
            "records": costs.labels,
            "mix": items.iter().map(item).collect::<Vec<_>>(),
            "predicted_change_pct": predicted.map(|change| self.share_pct(change.ns)),
            "predicted_half_width_pct": predicted.map(|change| self.share_pct(change.half_width_ns)),
            "measured": measured,
        })
    }
}

impl By {
    fn word(self) -> &'static str {
        match self {
            By::Auto | By::Tracepoints => "tracepoints",
            By::Ptrace => "ptrace",
            By::Usage => "getrusage",
        }
    }
}

fn times(cost: Cost, count: f64) -> Cost {
    Cost { ns: count * cost.ns, half_width_ns: count * cost.half_width_ns }
}

/// An event as a reader calls it.
fn named(event: &str) -> &str {
    match event {
        count::FAULTS => "page faults",
        count::SWITCHES => "context switches",
        count::FORKS => "forks",
        count::EXECS => "execs",
        count::WAKE_UPS => "wake-ups",
        count::FLUSHES => "TLB flushes",
        call => call.strip_prefix("system call ").unwrap_or(call),
    }
}

/// `+0.40 +- 0.10 %`, with as many digits as the error has.
fn percent(value: f64, half_width: Option<f64>) -> String {
    let Some(half) = half_width else { return format!("{value:+.1} %") };
    let places = (1 - half.max(1e-4).log10().floor() as i32).clamp(0, 4) as usize;
    format!("{value:+.places$} +- {half:.places$} %")
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn digits_follow_the_error() {
        assert_eq!(percent(0.4, Some(0.1)), "+0.40 +- 0.10 %");
        assert_eq!(percent(-3.21, Some(12.0)), "-3 +- 12 %");
        assert_eq!(percent(0.0, Some(0.0)), "+0.0000 +- 0.0000 %");
        assert_eq!(percent(2.0, None), "+2.0 %");
    }
}
