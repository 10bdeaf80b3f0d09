//! `tlbench trace`: collects the references of a command or of trace files, thins and filters them, and writes them.

mod source;
mod tracer;

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Write};

use anyhow::{Context, bail};
use mmu::event::{Event, Kind};
use mmu::writer::{BinaryWriter, CompressedWriter, TextWriter, TraceWriter};
use serde_json::json;

pub use source::{Facts, Source};

use crate::exit::Outcome;

/// Collect the memory references of a command, or convert, thin and cut traces
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,
    /// Write the trace here (`-`: standard output); without, only count. Files ending in .zst get the compressed
    /// binary form, all others text
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Form to write, instead of by the file's name
    #[arg(long = "as", value_name = "FORM", value_parser = ["text", "binary", "zst"])]
    form: Option<String>,
    /// Print JSON: one object of counts
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Outcome {
    if let Some(path) = args.output.as_deref().filter(|path| args.source.reads(path)) {
        bail!("{path}: is read as well and would be overwritten; write to another file");
    }
    let mut stream = args.source.open()?;
    let mut writer = None;
    let mut counts = Counts::default();
    let mut chunk = Vec::new();
    loop {
        let more = stream.next(&mut chunk)?;
        counts.add(&chunk);
        if let (Some(path), None) = (&args.output, &writer) {
            // Only now is it known whether the input was thinned.
            writer = Some(create(path, args.form.as_deref(), stream.thins())?);
        }
        if let Some(writer) = &mut writer {
            writer.write(&chunk).context("writing the trace")?;
        }
        if !more {
            break;
        }
    }
    if let Some(writer) = writer {
        writer.finish().context("writing the trace")?;
    }
    let facts = stream.finish()?;
    if args.json {
        writeln!(io::stdout().lock(), "{:#}", counts.json(&facts))?;
    } else if args.output.as_deref() != Some("-") {
        counts.print(&mut io::stdout().lock(), &facts)?;
    }
    Ok(facts.exit())
}

fn create(path: &str, form: Option<&str>, thinned: bool) -> anyhow::Result<Box<dyn TraceWriter>> {
    let sink: Box<dyn Write> = if path == "-" {
        Box::new(io::stdout())
    } else {
        Box::new(File::create(path).with_context(|| path.to_owned())?)
    };
    let by_name = if path.ends_with(".zst") { "zst" } else { "text" };
    Ok(match form.unwrap_or(by_name) {
        "zst" => Box::new(CompressedWriter::new(sink, thinned)?),
        "binary" => Box::new(BinaryWriter::new(sink, thinned)?),
        _ => Box::new(TextWriter::new(sink, thinned)?),
    })
}

/// Distinct pages are counted up to this many.
const MAX_PAGES: usize = 1 << 22;

/// What a trace holds.
#[derive(Default)]
struct Counts {
    fetches: u64,
    loads: u64,
    stores: u64,
    modifies: u64,
    flushes: u64,
    switches: u64,
    synchronisations: u64,
    phases: u64,
    /// 4096-byte pages of fetches and of data.
    pages: [HashSet<u64>; 2],
    last: [u64; 2],
}

impl Counts {
    fn add(&mut self, events: &[Event]) {
        for event in events {
            let side = match event.kind {
                Kind::Fetch => {
                    self.fetches += 1;
                    0
                }
                Kind::Read => {
                    self.loads += 1;
                    1
                }
                Kind::Write => {
                    self.stores += 1;
                    1
                }
                Kind::Modify => {
                    self.modifies += 1;
                    1
                }
                Kind::FlushAll | Kind::FlushPage => {
                    self.flushes += 1;
                    continue;
                }
                Kind::AddressSpace => {
                    self.switches += 1;
                    continue;
                }
                Kind::Sync => {
                    self.synchronisations += 1;
                    continue;
                }
                Kind::Phase => {
                    self.phases += 1;
                    continue;
                }
                Kind::Task => continue,
            };
            // Page 0 of nothing seen yet is counted on first sight like any other.
            let page = (event.addr >> 12) + 1;
            if page != self.last[side] && self.pages[side].len() < MAX_PAGES {
                self.last[side] = page;
                self.pages[side].insert(page);
            }
        }
    }

    fn references(&self) -> u64 {
        self.fetches + self.loads + self.stores + 2 * self.modifies
    }

    fn pages_of(&self, side: usize) -> Option<usize> {
        let n = self.pages[side].len();
        (n < MAX_PAGES).then_some(n)
    }

    fn json(&self, facts: &Facts) -> serde_json::Value {
        json!({
            "references": self.references(),
            "fetches": self.fetches,
            "loads": self.loads,
            "stores": self.stores,
            "modifies": self.modifies,
            "flushes": self.flushes,
            "address_space_changes": self.switches,
            "synchronisations": self.synchronisations,
            "phases": self.phases,
            "instruction_pages": self.pages_of(0),
            "data_pages": self.pages_of(1),
            "thinned": facts.thinned,
            "thinning": facts.thinning_json(),
            "read_references": facts.references,
            "seconds": facts.seconds,
        })
    }

    fn print(&self, out: &mut impl Write, facts: &Facts) -> io::Result<()> {
        let pages = |side| self.pages_of(side).map_or_else(|| format!("over {MAX_PAGES}"), |n| n.to_string());
        writeln!(out, "references   {}", self.references())?;
        writeln!(out, "  fetches    {}  ({} pages of 4096 bytes)", self.fetches, pages(0))?;
        writeln!(
            out,
            "  data       {} loads, {} stores, {} modifies  ({} pages)",
            self.loads,
            self.stores,
            self.modifies,
            pages(1)
        )?;
        let events = [
            (self.switches, "changes of address space"),
            (self.flushes, "invalidations"),
            (self.synchronisations, "synchronisations"),
            (self.phases, "phase marks"),
        ];
        for (n, what) in events.into_iter().filter(|e| e.0 > 0) {
            writeln!(out, "{n:<12} {what}")?;
        }
        let rate = facts.references as f64 / 1e6 / facts.seconds.max(1e-9);
        writeln!(out, "read in      {:.1} s, {rate:.2} M references/s", facts.seconds)?;
        facts.thinning_lines().iter().try_for_each(|line| writeln!(out, "{line}"))
    }
}
