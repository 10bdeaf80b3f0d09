//! Options and output that every command with verdicts shares: `compare`, `ab`, `aa`, `stat`.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::ExitCode;

use globset::{Glob, GlobMatcher};
use report::compare::{Gathered, Rules};
use stats::{Report, Tau};

use crate::exit::Outcome;

/// How verdicts are reached and shown.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct VerdictArgs {
    /// Equivalence margin, e.g. 2%; with a floor in the metric's unit, 2%,5; for some metrics, 'ipc.*=5%'
    #[arg(long, value_name = "[GLOB=]PERCENT[,FLOOR]")]
    pub margin: Vec<String>,
    /// Only these metrics (names or globs)
    #[arg(long, value_name = "GLOB")]
    pub only: Vec<String>,
    /// Further controls: metrics the change can't move
    #[arg(long, value_name = "GLOB")]
    pub control: Vec<String>,
    /// Metrics the change is declared to move although they are controls or defined differently
    #[arg(long, value_name = "GLOB")]
    pub expect: Vec<String>,
    /// Metrics that count for the exit code, instead of all that are no controls
    #[arg(long, value_name = "GLOB")]
    pub gate: Vec<String>,
    /// Decide by the exact sign-flip test instead of the t distribution (blocks only)
    #[arg(long)]
    pub exact: bool,
    /// Correct "equivalent" for the size of the table too
    #[arg(long)]
    pub strict: bool,
    /// Exit 0 where something is inconclusive and nothing worse
    #[arg(long)]
    pub allow_inconclusive: bool,
    /// Exit 0, 1 or 3 although the order of the runs was not controlled
    #[arg(long)]
    pub accept_uncontrolled: bool,
    /// Order of the rows: by verdict, as in the files, by name, or by size of the change
    #[arg(long, value_enum, default_value_t)]
    pub sort: Sort,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Order of rows.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// Worse, better, inconclusive, equivalent.
    #[default]
    Verdict,
    /// As in the files.
    Table,
    /// By metric.
    Name,
    /// Largest change first.
    Change,
}

/// One `--margin`.
#[derive(Clone, Debug)]
struct Margin {
    metrics: Option<GlobMatcher>,
    fraction: f64,
    floor: Option<f64>,
}

impl VerdictArgs {
    /// The rules for gathering, with between-sitting deviations from `history`.
    pub fn rules(&self, history: BTreeMap<String, Tau>) -> anyhow::Result<Rules<'static>> {
        let margins: Vec<Margin> = self.margins()?;
        let only = globs(&self.only)?;
        let gate = globs(&self.gate)?;
        let (control, expect) = (globs(&self.control)?, globs(&self.expect)?);
        Ok(Rules {
            only: Box::new(move |name| only.is_empty() || matches(&only, name)),
            control: Box::new(move |name| matches(&control, name)),
            expect: Box::new(move |name| matches(&expect, name)),
            gate: (!gate.is_empty()).then(|| Box::new(move |name: &str| matches(&gate, name)) as _),
            margin: Box::new(move |name| {
                let own = margins.iter().rev().find(|m| m.metrics.as_ref().is_some_and(|g| g.is_match(name)));
                let table = margins.iter().rev().find(|m| m.metrics.is_none());
                (own.map(|m| m.fraction), own.or(table).and_then(|m| m.floor))
            }),
            history,
        })
    }

    /// The options for deciding.
    pub fn options(&self, not_comparable: &[String]) -> anyhow::Result<stats::Options> {
        let margin = self.margins()?.iter().rev().find(|m| m.metrics.is_none()).map_or(0.02, |m| m.fraction);
        Ok(stats::Options {
            margin,
            accept_uncontrolled: self.accept_uncontrolled,
            allow_inconclusive: self.allow_inconclusive,
            strict: self.strict,
            exact: self.exact,
            not_comparable: not_comparable.to_vec(),
            ..stats::Options::default()
        })
    }

    fn margins(&self) -> anyhow::Result<Vec<Margin>> {
        self.margin.iter().map(|text| parse_margin(text)).collect()
    }

    /// Rows of a comparison in the order asked for.
    fn ordered(&self, rows: &[stats::Row]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        let size = |i: usize| rows[i].ratio.map_or(-1.0, |ratio| ratio.ln().abs());
        match self.sort {
            Sort::Verdict | Sort::Table => {}
            Sort::Name => order.sort_by(|&a, &b| rows[a].metric.cmp(&rows[b].metric)),
            Sort::Change => order.sort_by(|&a, &b| size(b).total_cmp(&size(a))),
        }
        order
    }

    /// Prints a report as text or, with `--json`, as one document with `more` added; the exit code is the report's.
    pub fn print(&self, gathered: &Gathered, report: &Report, more: serde_json::Value) -> Outcome {
        let mut out = io::stdout().lock();
        if self.json {
            let mut document = report::compare::document(gathered, report);
            if let (Some(document), serde_json::Value::Object(more)) = (document.as_object_mut(), more) {
                document.extend(more);
            }
            serde_json::to_writer_pretty(&mut out, &document)?;
            writeln!(out)?;
        } else {
            for (i, comparison) in report.comparisons.iter().enumerate() {
                if i > 0 {
                    writeln!(out, "\n{}\n", "-".repeat(72))?;
                }
                let rows = self.ordered(&comparison.rows);
                let by_verdict = self.sort == Sort::Verdict;
                report::compare::print_comparison(
                    &mut out,
                    gathered,
                    comparison,
                    report.controlled_order,
                    &rows,
                    by_verdict,
                )?;
            }
        }
        Ok(ExitCode::from(report.exit_code))
    }
}

fn parse_margin(text: &str) -> anyhow::Result<Margin> {
    let wrong = || {
        anyhow::anyhow!("--margin {text}: write 2%, 2%,5 (with a floor in the metric's unit) or 'GLOB=5%'")
    };
    let (metrics, rest) = match text.rsplit_once('=') {
        Some((glob, rest)) => (Some(Glob::new(glob).map_err(|_| wrong())?.compile_matcher()), rest),
        None => (None, text),
    };
    let (percent, floor) = rest.split_once(',').map_or((rest, None), |(p, f)| (p, Some(f)));
    let number = |text: &str| text.trim().trim_end_matches('%').trim().parse::<f64>().ok();
    let fraction = number(percent).filter(|p| *p > 0.0 && *p < 100.0).ok_or_else(wrong)? / 100.0;
    let floor = match floor {
        None => None,
        Some(floor) => {
            let digits = floor.trim().trim_end_matches(|c: char| c.is_ascii_alphabetic());
            Some(number(digits).filter(|f| *f > 0.0).ok_or_else(wrong)?)
        }
    };
    Ok(Margin { metrics, fraction, floor })
}

fn globs(patterns: &[String]) -> anyhow::Result<Vec<GlobMatcher>> {
    patterns
        .iter()
        .map(|pattern| {
            Ok(Glob::new(pattern)
                .map_err(|e| anyhow::anyhow!("{pattern}: not a glob: {e}"))?
                .compile_matcher())
        })
        .collect()
}

fn matches(globs: &[GlobMatcher], name: &str) -> bool {
    globs.iter().any(|glob| glob.is_match(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_by_table_by_metric_and_with_a_floor() {
        let args = VerdictArgs {
            margin: ["3%", "ipc.*=5%", "syscall.*=2%,5ns"].map(String::from).to_vec(),
            ..VerdictArgs::default()
        };
        let rules = args.rules(BTreeMap::new()).unwrap();
        assert_eq!(args.options(&[]).unwrap().margin, 0.03);
        assert_eq!((rules.margin)("proc.fork"), (None, None));
        assert_eq!((rules.margin)("ipc.pipe"), (Some(0.05), None));
        assert_eq!((rules.margin)("syscall.null"), (Some(0.02), Some(5.0)));
        for wrong in ["x", "0%", "5%,x", "[=5%", "=", "nan%"] {
            assert!(parse_margin(wrong).is_err(), "{wrong}");
        }
    }
}
