//! What `tlbench tlb` prints.

use std::collections::BTreeMap;
use std::io::{self, Write};

use memory::analyse::Confidence;
use memory::plot::{Line, Mark, Staircase, terminal};
use memory::tlb::{Report, Structure};

use report::wrapped;

/// Columns of text.
const WIDTH: usize = 100;

/// Prints header, tables and the staircase.
pub fn print(out: &mut impl Write, report: &Report) -> io::Result<()> {
    header(out, report)?;
    writeln!(out)?;
    let mut rows = vec![
        ["structure", "pages", "entries", "ways x sets", "reach", "miss", "claim", "confidence"]
            .map(String::from)
            .to_vec(),
    ];
    rows.extend(report.structures.iter().map(structure_row));
    columns(out, &rows)?;
    for structure in &report.structures {
        if let Some(reason) = &structure.reason {
            let text = format!("{}: {reason}", structure_name(structure));
            for line in wrapped(&text, WIDTH - 4) {
                writeln!(out, "  {line}")?;
            }
        }
    }
    walks(out, report)?;
    costs(out, report)?;
    for note in &report.notes {
        for line in wrapped(note, WIDTH - 2) {
            writeln!(out, "{line}")?;
        }
    }
    writeln!(out)?;
    terminal(&staircase(report), WIDTH, 16).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    writeln!(out, "\n{LEGEND}")
}

const LEGEND: &str = "\
entries    pages the structure holds, with the range its rounds allow
miss       what a miss adds when the next level hits: core clock cycles (ns)
claim      entries the processor (CPUID) or its manual states; ! where the measurement differs
confidence high: all rounds, a clean stride series; medium: all rounds; low: some rounds";

fn header(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let place = report.cpu.map_or(String::new(), |cpu| format!(", on CPU {cpu}"));
    let guest = report.hypervisor.as_ref().map_or(String::new(), |h| format!(", under {h}"));
    writeln!(out, "{}{guest}{place}", report.cpu_claimed)?;
    let (fast, slow) = report.cycle_ns;
    let disturbed = match (report.disturbance_per_ms, report.disturbance_ns) {
        (Some(rate), Some(ns)) => format!(", {rate:.2} disturbances per ms of {ns:.0} ns"),
        _ => String::new(),
    };
    let thp = report.thp.as_ref().map_or(String::new(), |t| format!(", transparent huge pages: {t}"));
    writeln!(
        out,
        "base page {} KiB{thp}; core clock {:.2}-{:.2} GHz{disturbed}; {:.1} s",
        report.page_bytes >> 10,
        1.0 / slow.max(1e-3),
        1.0 / fast.max(1e-3),
        report.seconds
    )
}

fn structure_name(s: &Structure) -> String {
    let kind = format!("{:?}", s.kind).to_lowercase();
    let size = if s.page_size_requested >= 2 << 20 {
        format!(" {}M", s.page_size_requested >> 20)
    } else {
        String::new()
    };
    format!("L{} {kind}{size}", s.level)
}

/// A size in the largest unit that fits.
pub fn size(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 30 => format!("{}G", b >> 30),
        b if b >= 1 << 20 => {
            format!("{:.3}", b as f64 / f64::from(1 << 20))
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_owned()
                + "M"
        }
        b => format!("{}K", b >> 10),
    }
}

fn structure_row(s: &Structure) -> Vec<String> {
    let pages = match s.page_size_effective {
        Some(effective) if effective != s.page_size_requested => {
            format!("{} as {}", size(s.page_size_requested), size(effective))
        }
        _ => size(s.page_size_requested),
    };
    let entries = match (s.entries, s.entries_min, s.entries_max) {
        (Some(n), Some(low), Some(high)) if low < n || high > n => format!("{n} ({low}-{high})"),
        (Some(n), _, _) => n.to_string(),
        (None, _, _) => "-".into(),
    };
    let organisation = match (s.ways, s.sets, &s.index) {
        (Some(ways), Some(1), _) => format!("{ways}, full"),
        (Some(ways), Some(sets), Some(index)) if index != "linear" => format!("{ways} x {sets}, hashed"),
        (Some(ways), Some(sets), _) => format!("{ways} x {sets}"),
        _ => String::new(),
    };
    let miss = match (s.penalty_cycles, s.penalty_ns) {
        (Some(cycles), Some(ns)) if s.entries.is_some() => format!("{cycles:.1} ({ns:.2})"),
        _ => String::new(),
    };
    let claim = s
        .claim_entries
        .map_or(String::new(), |n| format!("{n}{}", if s.disagrees == Some(true) { " !" } else { "" }));
    let confidence = match s.confidence {
        Confidence::High => "high",
        Confidence::Medium => "medium",
        Confidence::Low => "low",
        Confidence::NotResolved => "not resolved",
    };
    vec![
        structure_name(s),
        pages,
        entries,
        organisation,
        s.reach_bytes.map(size).unwrap_or_default(),
        miss,
        claim,
        confidence.into(),
    ]
}

fn walks(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let walk = &report.walk;
    if !walk.costs.is_empty() {
        writeln!(out, "\nPage walk, beyond a second-level hit")?;
        let mut rows = vec![
            ["page table entries in", "pages", "stride", "table", "cycles", "ns"].map(String::from).to_vec(),
        ];
        for row in &walk.costs {
            let number = |value: Option<f64>| value.map_or("-".into(), |v| format!("{v:.1}"));
            rows.push(vec![
                row.entries_in.clone(),
                row.pages.to_string(),
                row.stride.to_string(),
                size(row.table_bytes),
                number(row.cycles),
                number(row.ns),
            ]);
        }
        columns(out, &rows)?;
    }
    if let Some(concurrent) = walk.concurrent {
        let chains: Vec<String> = walk.chains.iter().map(|(k, c)| format!("{k}: {c:.1}")).collect();
        let text = format!(
            "{concurrent:.1} walks at once (cycles per access by number of independent chains: {})",
            chains.join(", ")
        );
        writeln!(out, "\n{}", report::wrapped(&text, 100).join("\n  "))?;
    } else if let Some(reason) = &walk.reason {
        writeln!(out, "\nPage walks: {reason}")?;
    }
    Ok(())
}

fn costs(out: &mut impl Write, report: &Report) -> io::Result<()> {
    if let Some(c) = &report.coalescing {
        let said = match c.coalesces {
            Some(true) => "neighbouring pages share entries",
            Some(false) => "no coalescing of neighbouring pages",
            None => "coalescing unknown: a knee was not resolved",
        };
        let number = |n: Option<u32>| n.map_or("-".into(), |n| n.to_string());
        writeln!(
            out,
            "{said} (knee at {} on shared frames, {} on own)",
            number(c.shared_frames),
            number(c.own_frames)
        )?;
    }
    if let Some(cycles) = report.alias_cycles.filter(|c| *c > 1.0) {
        writeln!(
            out,
            "a line reached by several addresses costs {cycles:.1} cycles more on this processor; taken out of the curve"
        )?;
    }
    if let Some(s) = &report.context_switch {
        writeln!(
            out,
            "context switch: {} (touching 32 pages again costs {:.1} cycles each at once, {:.1} after a system call, \
             {:.1} after another process ran, {:.1} after mprotect of another page)",
            s.outcome,
            s.untouched_cycles,
            s.after_system_call_cycles,
            s.after_switch_cycles,
            s.after_protect_cycles
        )?;
    }
    if report.shootdown.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nTaking translations away, us per call (TLB interrupts per call)")?;
    let mut rows = vec![
        ["operation", "pages", "other threads", "median", "p90", "interrupts"].map(String::from).to_vec(),
    ];
    for row in &report.shootdown {
        rows.push(vec![
            row.operation.into(),
            row.pages.to_string(),
            row.threads.to_string(),
            format!("{:.2}", row.ns / 1000.0),
            format!("{:.2}", row.p90_ns / 1000.0),
            row.interrupts.map_or("unknown".into(), |n| format!("{n:.2}")),
        ]);
    }
    columns(out, &rows)
}

/// Prints rows of cells with their columns aligned.
pub fn columns(out: &mut impl Write, rows: &[Vec<String>]) -> io::Result<()> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count)
        .map(|c| rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max().unwrap_or(0))
        .collect();
    for row in rows {
        let mut line = String::from(" ");
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(&format!(" {cell:width$} "));
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// The load curve with knees and claims.
pub fn staircase(report: &Report) -> Staircase {
    let points = report.curve.iter().map(|p| (f64::from(p.pages), p.p10)).collect();
    let band = report.curve.iter().map(|p| (p.p10.max(0.01), p.p90.max(0.01))).collect();
    let mut marks = Vec::new();
    for structure in report
        .structures
        .iter()
        .filter(|s| matches!(s.kind, memory::claim::Kind::Load | memory::claim::Kind::Unified))
    {
        if structure.page_size_requested != report.page_bytes {
            continue;
        }
        if let Some(entries) = structure.entries {
            let label = format!("L{} {entries}", structure.level);
            marks.push(Mark { x: f64::from(entries), label, claim: false });
        }
        if let Some(claimed) = structure.claim_entries.filter(|_| structure.disagrees != Some(false)) {
            marks.push(Mark { x: f64::from(claimed), label: format!("claim {claimed}"), claim: true });
        }
    }
    Staircase {
        title: format!("One load per {} KiB page, dependent, random order", report.page_bytes >> 10),
        x_label: "pages".into(),
        y_label: "cycles per access".into(),
        lines: vec![Line { name: "10th percentile".into(), points, band }],
        marks,
        bytes: false,
    }
}

/// `L1 load 64, L2 unified 2048, …` of one run.
pub fn one_line(report: &Report) -> String {
    let found: Vec<String> = report
        .structures
        .iter()
        .map(|s| {
            let entries = s.entries.map_or("not resolved".into(), |n| n.to_string());
            let penalty = s
                .penalty_cycles
                .filter(|_| s.entries.is_some())
                .map_or(String::new(), |p| format!(" +{p:.1}"));
            format!("{} {entries}{penalty}", structure_name(s))
        })
        .collect();
    format!("{} in {:.1} s", found.join(", "), report.seconds)
}

/// How often each number of entries came out.
pub fn print_agreement(out: &mut impl Write, reports: &[Report]) -> io::Result<()> {
    writeln!(out, "\nEntries in {} runs", reports.len())?;
    let mut counts: Vec<(String, BTreeMap<Option<u32>, usize>)> = Vec::new();
    for structure in reports.iter().flat_map(|r| &r.structures) {
        let name = structure_name(structure);
        if !counts.iter().any(|(known, _)| *known == name) {
            counts.push((name.clone(), BTreeMap::new()));
        }
        if let Some((_, seen)) = counts.iter_mut().find(|(known, _)| *known == name) {
            *seen.entry(structure.entries).or_default() += 1;
        }
    }
    for (name, seen) in counts {
        let words: Vec<String> = seen
            .iter()
            .map(|(n, times)| format!("{}: {times}", n.map_or("not resolved".into(), |n| n.to_string())))
            .collect();
        writeln!(out, "  {name:16} {}", words.join(", "))?;
    }
    Ok(())
}
