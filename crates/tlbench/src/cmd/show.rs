//! `tlbench show`: the table of a stored record.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use record::Record;
use report::Row;
use serde_json::json;

use crate::exit::Outcome;
use crate::select::Selection;

/// Show the tables of records
#[derive(clap::Args)]
pub struct Args {
    /// Records written by `tlbench run`
    #[arg(value_name = "RECORD", required = true)]
    records: Vec<PathBuf>,
    /// Only these metrics (names or globs)
    #[arg(long, value_name = "NAME|GLOB")]
    only: Vec<String>,
    /// One row per record, in the columns of the old suites' summary
    #[arg(long, value_enum, value_name = "LAYOUT", conflicts_with = "percent")]
    layout: Option<Layout>,
    /// Each metric as per cent of the best record
    #[arg(long)]
    percent: bool,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// Other forms of the table.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Sections and columns in the order of LMbench's summary.
    Lmbench,
}

/// Runs the command.
pub fn run(args: &Args) -> Outcome {
    let mut shown = Vec::new();
    for path in &args.records {
        let record = Record::open(path).with_context(|| path.display().to_string())?;
        for (line, why) in &record.skipped {
            eprintln!("tlbench: {}: line {line} skipped: {why}", path.display());
        }
        let rows = report::rows(&record);
        shown.push((record, rows));
    }
    let known: Vec<String> = shown.iter().flat_map(|(_, rows)| rows).map(|row| row.metric.clone()).collect();
    let selection = Selection::parse(&args.only, &known)?;
    for (_, rows) in &mut shown {
        rows.retain(|row| selection.selects(&row.metric));
    }
    let mut out = io::stdout().lock();
    if args.percent {
        print_percent(&mut out, args, &shown)?;
    } else if args.json {
        let rows: Vec<serde_json::Value> = shown.iter().flat_map(|(_, rows)| rows).map(row_json).collect();
        serde_json::to_writer_pretty(&mut out, &rows)?;
        writeln!(out)?;
    } else if args.layout == Some(Layout::Lmbench) {
        print_classic(&mut out, shown)?;
    } else {
        for (i, (record, rows)) in shown.iter().enumerate() {
            if i > 0 {
                writeln!(out)?;
            }
            print_tables(&mut out, record, rows)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The classic layout, one row per record.
pub fn print_classic(out: &mut impl Write, shown: Vec<(Record, Vec<Row>)>) -> io::Result<()> {
    let entries: Vec<report::Entry> = shown
        .into_iter()
        .map(|(record, rows)| {
            let known = |path: &str| {
                let value = environment::known(&record.header.environment, path);
                value.and_then(serde_json::Value::as_str).unwrap_or("?").to_owned()
            };
            report::Entry {
                host: known("sitting.host"),
                system: format!(
                    "{} {}",
                    known("kernel.system").replace('?', "Linux"),
                    known("kernel.release")
                ),
                rows,
            }
        })
        .collect();
    report::classic_layout(&entries).iter().try_for_each(|line| writeln!(out, "{line}"))
}

fn print_percent(out: &mut impl Write, args: &Args, shown: &[(Record, Vec<Row>)]) -> io::Result<()> {
    let rows: Vec<Vec<Row>> = shown.iter().map(|(_, rows)| rows.clone()).collect();
    let name =
        |path: &PathBuf| path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
    let labels: Vec<String> = args.records.iter().map(name).collect();
    if args.json {
        let rows: Vec<serde_json::Value> = report::percent_of_best(&rows)
            .into_iter()
            .map(|(metric, percent)| json!({"metric": metric, "records": labels, "percent": percent}))
            .collect();
        serde_json::to_writer_pretty(&mut *out, &rows)?;
        return writeln!(out);
    }
    writeln!(out, "per cent of the best (100 = best, 50 = half as fast)")?;
    report::percent_table(&labels, &rows).iter().try_for_each(|line| writeln!(out, "{line}"))
}

fn row_json(row: &Row) -> serde_json::Value {
    json!({
        "metric": row.metric,
        "unit": row.unit,
        "value": row.value,
        "ci95": row.ci95,
        "n": row.n,
        "set_aside": row.set_aside,
        "reason": row.reason,
        "per": row.per,
        "direction": row.direction,
        "machine_cpu_ns": row.machine_cpu_ns,
        "disturbed": row.disturbed,
    })
}

/// One table per section, in the order of the suite; foreign metrics under one title; then the legend.
pub fn print_tables(out: &mut impl Write, record: &Record, rows: &[Row]) -> io::Result<()> {
    writeln!(out, "{}", heading(record))?;
    let sections = suite::sections();
    let mut left: Vec<&Row> = rows.iter().collect();
    for section in &sections {
        let names: Vec<String> =
            section.benchmarks.iter().flat_map(|b| b.metrics()).map(|metric| metric.name).collect();
        let (here, rest): (Vec<&Row>, Vec<&Row>) =
            left.into_iter().partition(|row| names.contains(&row.metric));
        left = rest;
        print_section(out, section.title, &here)?;
    }
    let (copies, left): (Vec<&Row>, Vec<&Row>) =
        left.into_iter().partition(|row| report::is_of_copies(&row.metric));
    print_section(out, "Other metrics", &left)?;
    let scaling = report::scaling_table("Parallel copies", record, &copies);
    if let Some(table) = &scaling {
        writeln!(out)?;
        table.lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    writeln!(out, "\n{LEGEND}")?;
    if scaling.is_some() { writeln!(out, "{COPIES_LEGEND}") } else { Ok(()) }
}

fn print_section(out: &mut impl Write, title: &str, rows: &[&Row]) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    report::section_table(title, rows).lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

const LEGEND: &str = "\
+-      half-width of the 95 % interval over n fresh processes, for this sitting and boot only
p99     99th percentile of single operations, where kept
cpu/op  CPU time of the whole machine per unit of work, from /proc/stat; blank below its resolution
aside   samples set aside because the kernel preempted or moved the process, never by size";

const COPIES_LEGEND: &str = "\
copies     processes at once, started together, the load held until the last has finished
value      the median of the copies' numbers, or their sum for a bandwidth
at work    achieved parallelism: copies measuring and not waiting for a CPU, on average
against 1  work per time of all copies, over that of one";

/// What was measured, where and by what, in one or two lines.
fn heading(record: &Record) -> String {
    let header = &record.header;
    let known = |path: &str| {
        environment::known(&header.environment, path).map(|value| match value {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    };
    let machine: Vec<String> =
        ["cpu.model_name", "kernel.release"].iter().filter_map(|path| known(path)).collect();
    let complete = match &record.footer {
        Some(footer) if footer.complete => "",
        Some(_) => "  (ended early)",
        None => "  (no footer: still running, or killed)",
    };
    format!("{}  {}  {}{complete}\n{}", header.label, header.started, header.tool, machine.join(", "))
}
