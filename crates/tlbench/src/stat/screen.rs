//! The familiar shape: what `perf stat -r` prints, with `+-` as the standard error of the mean.

use std::io::{self, Write};

use super::floor::Floor;
use super::summary::Summary;

/// Prints one command. `runs` counts the good runs.
pub fn print(
    out: &mut impl Write,
    command: &str,
    runs: usize,
    summaries: &[Summary],
    floor: Option<Floor>,
) -> io::Result<()> {
    let times = if runs == 1 { String::new() } else { format!(" ({runs} runs)") };
    writeln!(out, " Performance counter stats for '{command}'{times}:\n")?;
    let of = |name: &str| summaries.iter().find(|s| s.metric == name).filter(|s| !s.values.is_empty());
    let wall = of("stat/wall");
    let clock = of("perf/task-clock").or(of("stat/cpu"));
    for summary in summaries {
        let Some(event) = summary.metric.strip_prefix("perf/").filter(|_| !summary.values.is_empty()) else {
            continue;
        };
        let mean = summary.mean();
        let (number, unit) =
            if summary.unit == "ms" { (decimals(mean, 2), "msec") } else { (count(mean), "") };
        let beside = derived(event, mean, wall, clock, of);
        writeln!(out, "{}", row(&number, unit, event, &beside, summary).trim_end())?;
    }
    writeln!(out)?;
    for (name, words) in
        [("stat/wall", "seconds time elapsed"), ("stat/user", "seconds user"), ("stat/sys", "seconds sys")]
    {
        if let Some(summary) = of(name) {
            writeln!(out, "{}", time(summary, words))?;
        }
    }
    if of("stat/user").is_none()
        && let Some(cpu) = of("stat/cpu")
    {
        writeln!(out, "{}", time(cpu, "seconds user and sys"))?;
    }
    writeln!(out)?;
    if let Some(memory) = of("stat/max_rss") {
        let most = memory.values.iter().copied().fold(0.0, f64::max);
        writeln!(out, "  peak memory {:.2} MB, most {:.2} MB", memory.mean() / 1e6, most / 1e6)?;
    }
    if let Some(floor) = floor {
        writeln!(
            out,
            "  launching nothing takes {:.3} ms, reading the clock {:.0} ns",
            floor.launch_ns / 1e6,
            floor.timer_ns
        )?;
        if wall.is_some_and(|wall| wall.mean() < 2e-6 * floor.launch_ns) {
            writeln!(out, "  the command is hardly longer than its launch: let it do more per run")?;
        }
    }
    reasons(out, summaries)
}

fn row(number: &str, unit: &str, event: &str, beside: &str, summary: &Summary) -> String {
    let spread = summary
        .standard_error()
        .filter(|error| *error > 0.0)
        .map_or(String::new(), |error| format!("  ( +-{:6.2}% )", 100.0 * error / summary.mean()));
    let share = summary.running_pct.map_or(String::new(), |share| format!("  ({share:.2}%)"));
    format!("{number:>18} {unit:<4} {event:<24} {beside:<34}{spread}{share}")
}

/// What perf prints behind `#`.
fn derived<'s>(
    event: &str,
    mean: f64,
    wall: Option<&Summary>,
    clock: Option<&Summary>,
    of: impl Fn(&str) -> Option<&'s Summary>,
) -> String {
    let per = |name: &str, factor: f64| Some(factor * mean / of(name)?.mean());
    let seconds = clock.map(|clock| clock.mean() / 1e3).filter(|seconds| *seconds > 0.0);
    let text = match event {
        "task-clock" | "cpu-clock" => wall.map(|wall| format!("{:8.3} CPUs utilized", mean / wall.mean())),
        "instructions" => per("perf/cycles", 1.0).map(|n| format!("{n:8.2}  insn per cycle")),
        "branch-misses" => per("perf/branches", 100.0).map(|n| format!("{n:8.2}% of all branches")),
        "LLC-load-misses" => per("perf/LLC-loads", 100.0).map(|n| format!("{n:8.2}% of all LLC loads")),
        "cycles" => seconds.map(|s| format!("{:8.3} GHz", mean / s / 1e9)),
        _ if mean > 0.0 => seconds.map(|s| rate(mean / s)),
        _ => None,
    };
    text.map_or(String::new(), |text| format!("# {text}"))
}

fn rate(per_second: f64) -> String {
    let (number, prefix) = match per_second {
        r if r >= 1e9 => (r / 1e9, "G"),
        r if r >= 1e6 => (r / 1e6, "M"),
        r if r >= 1e3 => (r / 1e3, "K"),
        r => (r, ""),
    };
    format!("{number:8.3} {prefix}/sec")
}

/// The two-line form of `perf stat -r`: mean, standard error, relative standard error.
fn time(summary: &Summary, words: &str) -> String {
    let mean = summary.mean() / 1e3;
    match summary.standard_error() {
        Some(error) => {
            let error = error / 1e3;
            let places = (1 - error.max(1e-9).log10().floor() as i32).clamp(2, 9) as usize;
            format!("{mean:>16.places$} +- {error:.places$} {words}  ( +-{:6.2}% )", 100.0 * error / mean)
        }
        None => format!("{mean:>16.9} {words}"),
    }
}

/// A mean count; a small one is not rounded to 0.
fn count(mean: f64) -> String {
    decimals(mean, if mean > 0.0 && mean < 9.95 && mean.fract() != 0.0 { 2 } else { 0 })
}

/// A number with thousands separators and at most `places` decimals.
fn decimals(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    let (whole, fraction) = text.split_once('.').map_or((&*text, None), |(whole, rest)| (whole, Some(rest)));
    let mut grouped = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    fraction.map_or(grouped.clone(), |rest| format!("{grouped}.{rest}"))
}

/// What could not be measured, one line per reason.
pub fn reasons(out: &mut impl Write, summaries: &[Summary]) -> io::Result<()> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for summary in summaries {
        let Some(reason) = summary.reason.as_deref() else { continue };
        let name = summary.metric.strip_prefix("perf/").unwrap_or(&summary.metric);
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(name),
            None => reasons.push((reason, vec![name])),
        }
    }
    for (reason, names) in reasons {
        for line in report::wrapped(&format!("not measured: {}: {reason}", names.join(" ")), 96) {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}
