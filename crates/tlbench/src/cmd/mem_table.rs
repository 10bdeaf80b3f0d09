//! What `tlbench mem` prints.

use std::io::{self, Write};

use memory::latency::Report;
use memory::latency::ring::Pattern;
use memory::plot::{Line, Mark, Staircase, terminal};

use super::tlb_table::{columns, size};
use report::wrapped;

/// Columns of text.
const WIDTH: usize = 100;

/// Prints every part that was measured.
pub fn print(out: &mut impl Write, report: &Report) -> io::Result<()> {
    writeln!(
        out,
        "{}; footprints to {}; {:.1} s",
        report.cpu_claimed,
        size(report.largest_bytes),
        report.seconds
    )?;
    writeln!(out)?;
    terminal(&staircase(report), WIDTH, 16).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    levels(out, report)?;
    decomposition(out, report)?;
    under_load(out, report)?;
    bandwidth(out, report)?;
    pairs(out, report)?;
    for note in &report.notes {
        for line in wrapped(note, WIDTH) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

fn ns(value: Option<f64>) -> String {
    match value {
        Some(v) if v.abs() < 10.0 => format!("{v:.2}"),
        Some(v) => format!("{v:.1}"),
        None => "-".into(),
    }
}

fn levels(out: &mut impl Write, report: &Report) -> io::Result<()> {
    writeln!(out, "\nLevels: random dependent loads")?;
    let mut rows = vec![row(["level", "ns", "size found", "sysfs says", ""])];
    for level in &report.levels {
        rows.push(vec![
            level.name.clone(),
            ns(Some(level.latency_ns)),
            level.bytes.map_or("-".into(), size),
            level.claim_bytes.map_or("-".into(), size),
            level.reason.clone().unwrap_or_default(),
        ]);
    }
    columns(out, &rows)
}

/// A smaller difference, as a share of the latency, is within what two chains differ by.
const VISIBLE_GAIN: f64 = 0.05;

fn decomposition(out: &mut impl Write, report: &Report) -> io::Result<()> {
    if report.decomposition.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nTranslation's share, ns per load")?;
    let mut rows = vec![row([
        "footprint",
        "random",
        "page by page",
        "huge pages",
        "translation at least",
        "at most",
        "huge pages gain",
    ])];
    for d in &report.decomposition {
        rows.push(vec![
            size(d.bytes),
            ns(d.random_ns),
            ns(d.page_local_ns),
            ns(d.huge_ns),
            ns(d.zero_ns),
            ns(d.translation_ns),
            ns(d.gain_ns),
        ]);
    }
    columns(out, &rows)?;
    for d in &report.decomposition {
        if let Some((gain, random)) = d.gain_ns.zip(d.random_ns) {
            let at = size(d.bytes);
            if gain > VISIBLE_GAIN * random {
                writeln!(out, "  at {at} huge pages would gain {gain:.1} ns per load here")?;
            } else {
                writeln!(out, "  at {at} huge pages would gain nothing that shows here")?;
            }
        }
        if let Some(reason) = &d.reason {
            writeln!(out, "  at {}: {reason}", size(d.bytes))?;
        }
    }
    Ok(())
}

fn under_load(out: &mut impl Write, report: &Report) -> io::Result<()> {
    for p in &report.parallelism {
        let chains: Vec<String> = p.chains.iter().map(|(k, ns)| format!("{k}: {ns:.1}")).collect();
        writeln!(
            out,
            "\n{:.1} misses at once at {} (ns per load by chains: {})",
            p.concurrent,
            size(p.bytes),
            chains.join("  ")
        )?;
    }
    if report.loaded.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nLatency under load: a random chain on one CPU, traffic from the others")?;
    let mut rows = vec![row(["traffic", "threads", "MB/s", "ns per load", "p90"])];
    for l in &report.loaded {
        rows.push(vec![
            l.mix.replace('_', " and "),
            l.threads.to_string(),
            format!("{:.0}", l.mb_per_s),
            ns(Some(l.ns)),
            ns(Some(l.p90)),
        ]);
    }
    columns(out, &rows)
}

fn bandwidth(out: &mut impl Write, report: &Report) -> io::Result<()> {
    if !report.bandwidth.is_empty() {
        writeln!(out, "\nBandwidth of one CPU, MB/s; a copy counts the bytes copied")?;
        let mut footprints: Vec<u64> = report.bandwidth.iter().map(|b| b.bytes).collect();
        footprints.dedup();
        let mut header = row(["operation", "width"]);
        header.extend(footprints.iter().map(|&b| size(b)));
        let mut rows = vec![header];
        let mut seen: Vec<(&str, Option<u32>)> = Vec::new();
        for b in &report.bandwidth {
            if seen.contains(&(b.operation, b.width)) {
                continue;
            }
            seen.push((b.operation, b.width));
            let mut cells = vec![b.operation.to_owned(), b.width.map_or("library".into(), |w| w.to_string())];
            cells.extend(footprints.iter().map(|&bytes| {
                report
                    .bandwidth
                    .iter()
                    .find(|o| (o.operation, o.width, o.bytes) == (b.operation, b.width, bytes))
                    .map_or("-".into(), |o| format!("{:.0}", o.mb_per_s))
            }));
            rows.push(cells);
        }
        columns(out, &rows)?;
    }
    for s in &report.store {
        let place = s.bytes.map_or(String::new(), |b| format!(" of {}", size(b)));
        writeln!(out, "{}{place}: {} ns", s.what, ns(Some(s.ns)))?;
    }
    Ok(())
}

fn pairs(out: &mut impl Write, report: &Report) -> io::Result<()> {
    if !report.core_to_core.is_empty() {
        writeln!(out, "\nCore to core, ns one way")?;
        let mut rows = vec![row(["CPUs", "placement", "compare-and-swap", "message", ""])];
        for p in &report.core_to_core {
            rows.push(vec![
                format!("{} {}", p.a, p.b),
                p.placement.unwrap_or("?").to_owned(),
                ns(p.cas_ns),
                ns(p.message_ns),
                p.reason.clone().unwrap_or_default(),
            ]);
        }
        columns(out, &rows)?;
    }
    if !report.numa.is_empty() {
        writeln!(out, "\nNodes, ns per random load; placement verified by move_pages")?;
        let mut rows = vec![row(["CPU node", "memory node", "distance", "ns", "verified", ""])];
        for n in &report.numa {
            rows.push(vec![
                n.cpu_node.to_string(),
                n.memory_node.to_string(),
                n.distance.map_or("-".into(), |d| d.to_string()),
                ns(n.ns),
                n.verified.map_or("-".into(), |v| format!("{:.0} %", 100.0 * v)),
                n.reason.clone().unwrap_or_default(),
            ]);
        }
        columns(out, &rows)?;
    }
    Ok(())
}

/// Latency by footprint with the levels found and those of sysfs.
pub fn staircase(report: &Report) -> Staircase {
    let line = |pattern: Pattern, name: &str| Line {
        name: name.into(),
        points: report
            .latency
            .iter()
            .filter(|p| p.pattern == pattern)
            .map(|p| (p.bytes as f64, p.p10))
            .collect(),
        band: report
            .latency
            .iter()
            .filter(|p| p.pattern == pattern)
            .map(|p| (p.p10.max(0.01), p.p90.max(0.01)))
            .collect(),
    };
    let mut marks = Vec::new();
    for level in &report.levels {
        if let Some(bytes) = level.bytes {
            marks.push(Mark {
                x: bytes as f64,
                label: format!("{} {}", level.name, size(bytes)),
                claim: false,
            });
        }
        if let Some(claim) = level.claim_bytes.filter(|&c| level.bytes != Some(c)) {
            marks.push(Mark { x: claim as f64, label: format!("sysfs {}", size(claim)), claim: true });
        }
    }
    Staircase {
        title: "One dependent load".into(),
        x_label: "footprint, bytes".into(),
        y_label: "ns per load".into(),
        lines: vec![line(Pattern::Random, "random"), line(Pattern::Linear, "ascending (prefetched)")],
        marks,
        bytes: true,
    }
}
