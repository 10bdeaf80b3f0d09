//! Where references come from, for `trace` and `sim`: files, standard input, generators or a traced command.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, bail};
use indicatif::ProgressBar;
use mmu::event::Event;
use mmu::filter::{Filter, Mode, Selection};
use mmu::generate::Generator;
use mmu::reader::{self, Format, TraceReader};
use mmu::thin::{Thinner, ThinningCheck, ThinningError, USUAL_FIFO_ERROR, USUAL_LRU_ERROR};
use serde_json::{Value, json};

use super::tracer::Tracer;
use crate::terminal;

/// What to read and which part of it to keep.
#[derive(clap::Args)]
pub struct Source {
    /// Trace files, read one after the other (`-`: standard input); compression and format are recognised
    #[arg(value_name = "TRACE")]
    traces: Vec<String>,
    /// Run this command under a tracer and take its references
    #[arg(last = true, value_name = "CMD", conflicts_with_all = ["traces", "generate"])]
    command: Vec<OsString>,
    /// Make a trace by rule, e.g. cycle:pages=64,rounds=10 (also stride, random, zipf, lmbench, chase)
    #[arg(long, value_name = "SPEC", conflicts_with = "traces")]
    generate: Option<String>,
    /// Format of the files, if it is not recognised: text, binary, lackey, din, champsim, cloudsuite, drview,
    /// drmemtrace, execlog, perf
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    format: Option<Format>,
    /// Drop references to the page the same stream touched just before; the error is measured and printed
    #[arg(long)]
    thin: bool,
    /// Only these processes
    #[arg(long, value_name = "PID", value_delimiter = ',')]
    pid: Vec<u64>,
    /// Only these threads
    #[arg(long, value_name = "TID", value_delimiter = ',')]
    tid: Vec<u64>,
    /// Only what user or kernel code does, by the address of the last fetch
    #[arg(long, value_name = "user|kernel", value_parser = parse_mode)]
    mode: Option<Mode>,
    /// First kernel address, for --mode
    #[arg(long, value_name = "HEX", default_value = "8000000000000000", value_parser = parse_hex)]
    kernel_from: u64,
    /// Only these phases; 0 is what comes before the first mark
    #[arg(long, value_name = "N", value_delimiter = ',')]
    phase: Vec<u64>,
    /// A store to the page of this address begins a new phase
    #[arg(long, value_name = "HEX", value_parser = parse_hex)]
    mark: Option<u64>,
    /// Stop after so many references
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

fn parse_format(text: &str) -> Result<Format, String> {
    Format::parse(text).ok_or_else(|| format!("not one of {}", Format::ALL.map(Format::word).join(", ")))
}

fn parse_mode(text: &str) -> Result<Mode, String> {
    match text {
        "user" => Ok(Mode::User),
        "kernel" => Ok(Mode::Kernel),
        _ => Err("write user or kernel".into()),
    }
}

fn parse_hex(text: &str) -> Result<u64, String> {
    let digits = text.trim_start_matches("0x").replace('_', "");
    u64::from_str_radix(&digits, 16).map_err(|_| "not a hexadecimal address".into())
}

impl Source {
    /// Every reference of a command.
    pub fn of_command(command: Vec<OsString>) -> Self {
        Source {
            traces: Vec::new(),
            command,
            generate: None,
            format: None,
            thin: false,
            pid: Vec::new(),
            tid: Vec::new(),
            mode: None,
            kernel_from: 1 << 63,
            phase: Vec::new(),
            mark: None,
            limit: None,
        }
    }

    /// Whether the file at `path` is one of the traces.
    pub fn reads(&self, path: &str) -> bool {
        let identity = |path: &str| std::fs::metadata(path).ok().map(|m| (m.dev(), m.ino(), m.is_file()));
        let output = identity(path).filter(|(.., is_file)| *is_file);
        output.is_some() && self.traces.iter().any(|trace| identity(trace) == output)
    }

    /// Opens the first source; a command starts running.
    pub fn open(&self) -> anyhow::Result<Stream> {
        let mut tracer = None;
        let current: Box<dyn TraceReader> = if !self.command.is_empty() {
            let (started, pipe) = Tracer::start(&self.command)?;
            tracer = Some(started);
            reader::from_read(pipe, "the tracer", Some(Format::Lackey))?
        } else if let Some(spec) = &self.generate {
            Box::new(Generator::parse(spec)?)
        } else if let Some(first) = self.traces.first() {
            reader::open(first, self.format)?
        } else {
            bail!("no trace: name files, - for standard input, --generate SPEC, or a command after --");
        };
        let selection = Selection {
            pids: self.pid.clone(),
            tids: self.tid.clone(),
            mode: self.mode,
            kernel_from: self.kernel_from,
            phases: self.phase.clone(),
            mark: self.mark,
        };
        let thin = if self.thin { Some((Thinner::new(4096), ThinningCheck::new()?)) } else { None };
        Ok(Stream {
            thinned: current.thinned() || self.thin,
            current,
            rest: self.traces.iter().skip(1).rev().cloned().collect(),
            format: self.format,
            filter: (!selection.keeps_all()).then(|| Filter::new(selection)),
            thin,
            exact: Vec::new(),
            limit: self.limit.unwrap_or(u64::MAX),
            references: 0,
            started: Instant::now(),
            progress: Progress::new(),
            tracer,
        })
    }
}

/// Records in order, filtered and thinned.
pub struct Stream {
    current: Box<dyn TraceReader>,
    /// Files still to be read, the next one last.
    rest: Vec<String>,
    format: Option<Format>,
    filter: Option<Filter>,
    thin: Option<(Thinner, ThinningCheck)>,
    exact: Vec<Event>,
    limit: u64,
    thinned: bool,
    references: u64,
    started: Instant,
    progress: Progress,
    tracer: Option<Tracer>,
}

/// What is known of a stream once it was read.
pub struct Facts {
    /// References read (after filtering, before thinning).
    pub references: u64,
    /// Whether some references were left out, by us or by whoever made the trace.
    pub thinned: bool,
    /// Wall-clock seconds.
    pub seconds: f64,
    thinning: Option<(u64, ThinningError)>,
    exit: u8,
}

impl Stream {
    /// Whether what comes out is thinned.
    pub fn thins(&self) -> bool {
        self.thinned
    }

    /// Replaces `out` by the next records; false at the end.
    pub fn next(&mut self, out: &mut Vec<Event>) -> anyhow::Result<bool> {
        let mut more = match self.current.read(out) {
            Ok(more) => more,
            // The pipe ends wherever the interrupted tracer stopped.
            Err(_) if self.tracer.as_ref().is_some_and(|t| t.interrupted().is_some()) => false,
            Err(error) => return Err(error.into()),
        };
        // A note in the text says so, which is known only once it was read.
        self.thinned |= self.current.thinned();
        if let Some(filter) = &mut self.filter {
            filter.apply(out);
        }
        more &= !self.cut(out);
        if let Some((thinner, check)) = &mut self.thin {
            self.exact.clear();
            self.exact.extend_from_slice(out);
            thinner.thin(out);
            check.feed(&self.exact, out)?;
        }
        self.progress.show(self.references, self.started);
        let interrupted = self.tracer.as_ref().is_some_and(|t| t.interrupted().is_some());
        if !more
            && !interrupted
            && self.references < self.limit
            && let Some(path) = self.rest.pop()
        {
            self.current = reader::open(&path, self.format)?;
            self.thinned |= self.current.thinned();
            more = true;
        }
        Ok(more)
    }

    /// Counts the references and drops what is beyond the limit; whether it was reached.
    fn cut(&mut self, events: &mut Vec<Event>) -> bool {
        for (i, event) in events.iter().enumerate() {
            let n = event.references();
            if self.references + n > self.limit {
                events.truncate(i);
                return true;
            }
            self.references += n;
        }
        self.references >= self.limit
    }

    /// Ends the command, if one was traced, and says what was read.
    pub fn finish(mut self) -> anyhow::Result<Facts> {
        self.progress.end(self.references, self.started);
        // Closes the pipe, so that a tracer which still has something to say ends.
        drop(self.current);
        let exit = match self.tracer.take() {
            Some(tracer) => tracer.end(self.references).context("tracing the command")?,
            None => 0,
        };
        let thinning = match self.thin {
            Some((thinner, check)) => Some((thinner.kept, check.finish()?)),
            None => None,
        };
        if self.references == 0 {
            eprintln!("tlbench: no reference was read: the input is empty, or the selection leaves nothing");
        }
        let seconds = self.started.elapsed().as_secs_f64();
        Ok(Facts { references: self.references, thinned: self.thinned, seconds, thinning, exit })
    }
}

impl Facts {
    /// 0, or 130/143 after an interruption.
    pub fn exit(&self) -> ExitCode {
        ExitCode::from(self.exit)
    }

    /// Whether a signal ended it.
    pub fn interrupted(&self) -> bool {
        self.exit != 0
    }

    /// References kept and errors, or null.
    pub fn thinning_json(&self) -> Value {
        match self.thinning {
            None => Value::Null,
            Some((kept, error)) => json!({
                "kept": kept,
                "fifo_64_error": error.fifo,
                "lru_64_error": error.lru,
            }),
        }
    }

    /// What thinning did, for people.
    pub fn thinning_lines(&self) -> Vec<String> {
        let Some((kept, error)) = self.thinning else {
            let note = "the trace is thinned: counts are not exact, never compare them with exact ones";
            return if self.thinned { vec![note.into()] } else { vec![] };
        };
        let factor = self.references as f64 / kept.max(1) as f64;
        let mut lines = vec![format!(
            "thinned {:.1} times; at 64 entries this changes the misses of FIFO by {:+.2} %, of LRU by {:+.2} %",
            factor,
            100.0 * error.fifo,
            100.0 * error.lru
        )];
        if error.fifo.abs() > USUAL_FIFO_ERROR || error.lru.abs() > USUAL_LRU_ERROR {
            lines.push("more than the usual 0.25 % and 0.1 %: do not thin this trace".into());
        }
        lines
    }
}

/// A line on standard error with count and rate.
struct Progress {
    line: Option<ProgressBar>,
    shown: Option<Instant>,
}

impl Progress {
    fn new() -> Self {
        Progress { line: terminal::shows_progress().then(ProgressBar::new_spinner), shown: None }
    }

    fn show(&mut self, references: u64, started: Instant) {
        let Some(line) = &self.line else { return };
        if self.shown.is_none_or(|at| at.elapsed().as_millis() >= 200) {
            line.set_message(rate(references, started));
            line.tick();
            self.shown = Some(Instant::now());
        }
    }

    fn end(&mut self, references: u64, started: Instant) {
        if let Some(line) = self.line.take() {
            line.finish_and_clear();
            eprintln!("tlbench: {}", rate(references, started));
        }
    }
}

fn rate(references: u64, started: Instant) -> String {
    let seconds = started.elapsed().as_secs_f64();
    let millions = references as f64 / 1e6;
    format!("{millions:.1} M references in {seconds:.1} s, {:.2} M/s", millions / seconds.max(1e-9))
}
