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

/// Show the table of a record
#[derive(clap::Args)]
pub struct Args {
    /// A record written by `tlbench run`
    record: PathBuf,
    /// Only these metrics (names or globs)
    #[arg(long, value_name = "NAME|GLOB")]
    only: Vec<String>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Outcome {
    let record = Record::open(&args.record).with_context(|| args.record.display().to_string())?;
    for (line, why) in &record.skipped {
        eprintln!("tlbench: {}: line {line} skipped: {why}", args.record.display());
    }
    let rows = report::rows(&record);
    let known: Vec<String> = rows.iter().map(|row| row.metric.clone()).collect();
    let selection = Selection::parse(&args.only, &known)?;
    let rows: Vec<Row> = rows.into_iter().filter(|row| selection.selects(&row.metric)).collect();
    let mut out = io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &rows.iter().map(row_json).collect::<Vec<_>>())?;
        writeln!(out)?;
    } else {
        print_tables(&mut out, &record, &rows)?;
    }
    Ok(ExitCode::SUCCESS)
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
    print_section(out, "Other metrics", &left)?;
    writeln!(out, "\n{LEGEND}")
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
