//! LMbench raw result files 2.0, 3.0-a4, 3.0-a9, several runs in one file, and fragments without a header.

use serde_json::{Value, json};

use super::raw_block::Block;
use super::raw_scalar::{Scalar, read};
use super::summary::whole_or_real;
use super::{US, Version, value};
use crate::import::ImportError;
use crate::import::lines::Line;
use crate::import::number::{Decimal, decimal, text, words};
use crate::import::sink::{Run, Sink};
use crate::{Direction, Invocation, Printed, Status};

/// Header keys that say nothing about the machine or the method, or name people and places.
const UNUSED_KEYS: [&str; 11] =
    ["ALL", "HALF", "USER", "HOSTNAME", "NODENAME", "LMBENCH_VER", "INFO", "LOOP_O", "TIMING_O", "net", "if"];

/// Reads the runs of one text.
#[derive(Default)]
pub(in super::super) struct Reader {
    run: Option<Run>,
    /// The run began with LMbench's own first line, so that every line should be understood.
    headed: bool,
    version: Option<Version>,
    block: Option<Block>,
    /// Lines in which a test said that it failed.
    failures: Vec<String>,
}

impl Reader {
    /// Whether a run with a header is being read.
    pub fn is_open(&self) -> bool {
        self.headed
    }

    /// Whether a block is open, so that rows are expected.
    pub fn in_block(&self) -> bool {
        self.block.is_some()
    }

    /// Takes a line that can only be LMbench's, in or outside of a run; false when it is none.
    #[inline]
    pub fn line(&mut self, line: &Line, sink: &mut Sink) -> Result<bool, ImportError> {
        let text = line.text;
        let Some(&first) = text.first() else {
            self.end_block();
            return Ok(self.headed);
        };
        if let Some(block) = &mut self.block {
            if block.row(text) {
                sink.count(line.number)?;
                return Ok(true);
            }
            if first.is_ascii_digit() {
                sink.skip(line.number, text, "not a row of the LMbench block it stands in");
                return Ok(true);
            }
        }
        if first == b'[' {
            return Ok(self.bracket(line, sink));
        }
        if let Some(scalar) = read(text) {
            self.end_block();
            self.scalar(scalar, line, sink)?;
            return Ok(true);
        }
        if matches!(first, b'"' | b'M' | b'R' | b'S' | b's' | b'#' | b'$' | b'.') {
            let before = self.block.as_ref().map(|block| block.kind.clone());
            if let Some(block) = Block::of(text, before.as_ref()) {
                self.end_block();
                self.ensure_run();
                self.block = Some(block);
                return Ok(true);
            }
        }
        if self.headed {
            self.end_block();
            self.unknown(line, sink);
        }
        Ok(self.headed)
    }

    /// The first line of a run, or a `[KEY: value]` line of its header.
    fn bracket(&mut self, line: &Line, sink: &mut Sink) -> bool {
        let inner = line.text.strip_suffix(b"]").unwrap_or(line.text);
        let inner = &inner[1..];
        let headers: [(&[u8], Version); 2] = [(b"lmbench2.", Version::V2), (b"lmbench3.", Version::V3)];
        if let Some((_, version)) = headers.iter().find(|(start, _)| inner.starts_with(start)) {
            self.end_run(sink);
            let mut run = Run::new(version.tool());
            let mut uname = words(inner).skip(3);
            if let (Some(system), _, Some(release)) = (uname.next(), uname.next(), uname.next()) {
                let os = format!("{} {}", text(system), text(release));
                run.environment.insert("OS".into(), json!(os));
            }
            self.run = Some(run);
            self.headed = true;
            self.version = Some(*version);
            return true;
        }
        self.end_block();
        let (true, Some(run)) = (self.headed, &mut self.run) else { return false };
        let Some(colon) = memchr::memmem::find(inner, b": ") else { return true };
        let (key, held) = (text(&inner[..colon]), text(inner[colon + 2..].trim_ascii()));
        if held.is_empty() || UNUSED_KEYS.contains(&key.as_str()) {
            return true;
        }
        let number = words(held.as_bytes()).next().and_then(decimal).map(|shown| shown.value);
        let environment = &mut run.environment;
        match (key.as_str(), number) {
            ("MHZ", Some(mhz)) if mhz > 0.0 => {
                environment.insert("Mhz".into(), whole_or_real(mhz));
            }
            ("MHZ", _) => sink.skip(line.number, line.text, "LMbench could not tell the clock"),
            ("LINE_SIZE", Some(bytes)) => {
                environment.insert("cache line bytes".into(), whole_or_real(bytes));
            }
            ("SYNC_MAX", Some(copies)) => {
                environment.insert("scal load".into(), whole_or_real(copies));
            }
            ("OS", _) => {
                environment.insert("description".into(), Value::String(held));
            }
            ("LMBENCH VERSION", _) => {
                run.tool = format!("{} ({held})", run.tool);
            }
            // a mount or an uptime line holds text of its own
            _ if key.bytes().all(|b| b.is_ascii_uppercase() || b == b'_') => {
                let held = number.filter(|_| !held.contains(' ')).map(whole_or_real);
                let held = held.unwrap_or_else(|| Value::String(text(inner[colon + 2..].trim_ascii())));
                environment.insert(key, held);
            }
            _ => {}
        }
        true
    }

    fn ensure_run(&mut self) -> &mut Run {
        let version = self.version.unwrap_or(Version::Unknown);
        self.run.get_or_insert_with(|| Run::new(version.tool()))
    }

    fn scalar(&mut self, scalar: Scalar, line: &Line, sink: &mut Sink) -> Result<(), ImportError> {
        sink.count(line.number)?;
        let version = self.version.unwrap_or(Version::Unknown);
        let invocation = match scalar {
            Scalar::TlbPages(pages) => {
                let run = self.ensure_run();
                run.environment.insert("tlb pages".into(), whole_or_real(pages));
                return Ok(());
            }
            Scalar::Result { name, unit, direction, shown } => {
                value(&name, unit, direction, version, shown.value, shown.rounded())
            }
            Scalar::Failed { name, unit, direction, why } => {
                Invocation::foreign(&format!("lmbench/{name}"), unit, direction)
                    .without_value(Status::Failed, why)
            }
        };
        let again = self.run.as_ref().is_some_and(|run| run.has(&invocation.metric));
        if again && self.headed {
            sink.skip(line.number, line.text, "measured twice in one run; the first stands");
            return Ok(());
        }
        if again {
            // a program run by hand again: another run
            self.end_run(sink);
        }
        self.ensure_run().invocations.push(invocation);
        Ok(())
    }

    /// A line of a run that LMbench's programs don't write on purpose.
    fn unknown(&mut self, line: &Line, sink: &mut Sink) {
        const FAILURES: [&str; 9] = [
            "RPC: ",
            "unable to register",
            "Segmentation fault",
            "core dumped",
            "Address in use",
            "timed out",
            "System too busy",
            "No such file",
            "NO_RPC",
        ];
        let shown = text(line.text);
        let failed = FAILURES.iter().any(|words| shown.contains(words));
        let why = if failed { "a test failed here" } else { "not a line LMbench writes" };
        sink.skip(line.number, line.text, why);
        if failed && self.failures.len() < 1_000 {
            self.failures.push(shown);
        }
    }

    fn end_block(&mut self) {
        if let Some(block) = self.block.take() {
            let version = self.version.unwrap_or(Version::Unknown);
            block.finish(self.ensure_run(), version);
        }
    }

    /// Ends the run being read, if there is one.
    pub fn end_run(&mut self, sink: &mut Sink) {
        self.end_block();
        let version = self.version.unwrap_or(Version::Unknown);
        if let Some(mut run) = self.run.take() {
            null_io(&mut run, version);
            self.remote_calls(&mut run);
            sink.run(run);
        }
        self.failures.clear();
        self.headed = false;
        self.version = None;
    }

    /// Remote procedure calls that timed out are failed, not absent.
    fn remote_calls(&self, run: &mut Run) {
        let Some(why) = self.failures.iter().find(|line| line.contains("RPC: ")) else { return };
        for name in ["RPC/UDP latency", "RPC/TCP latency"] {
            let metric = format!("lmbench/{name}");
            if !run.has(&metric) {
                let invocation = Invocation::foreign(&metric, US, Direction::Smaller);
                run.invocations.push(invocation.without_value(Status::Failed, why));
            }
        }
    }

    /// Hands over the last run.
    pub fn finish(mut self, sink: &mut Sink) {
        self.end_run(sink);
    }
}

/// The summary's "null I/O" is the mean of read and write.
fn null_io(run: &mut Run, version: Version) {
    let shown = |name: &str| {
        let found = run.invocations.iter().find(|i| i.metric == name)?;
        found.value.zip(found.printed)
    };
    let (Some(read), Some(write)) = (shown("lmbench/Simple read"), shown("lmbench/Simple write")) else {
        return;
    };
    let mean = |a: f64, b: f64| (a + b) / 2.0;
    let printed = Printed { lo: mean(read.1.lo, write.1.lo), hi: mean(read.1.hi, write.1.hi) };
    let mut invocation = value("null I/O", US, Direction::Smaller, version, mean(read.0, write.0), printed);
    invocation.extra.insert("derived".into(), json!("mean of Simple read and Simple write"));
    run.invocations.push(invocation);
}

/// Rows of `lat_mem_rd` pasted without their title: five decimals, three decimals, growing sizes.
#[derive(Default)]
pub(in super::super) struct LadderRows {
    rows: Vec<(Decimal, Decimal)>,
}

impl LadderRows {
    /// Takes a row, or ends the ladder.
    pub fn line(&mut self, line: &Line, sink: &mut Sink) -> bool {
        let mut parts = words(line.text);
        let pair = (parts.next().and_then(decimal), parts.next().and_then(decimal), parts.next());
        if let (Some(size), Some(ns), None) = pair {
            let grows = self.rows.last().is_none_or(|(last, _)| last.value < size.value);
            if size.decimals == 5 && ns.decimals == 3 && grows && self.rows.len() < 10_000 {
                self.rows.push((size, ns));
                return true;
            }
        }
        self.finish(sink);
        false
    }

    /// Hands over a ladder of at least three rows.
    pub fn finish(&mut self, sink: &mut Sink) {
        let rows = std::mem::take(&mut self.rows);
        if rows.len() < 3 {
            return;
        }
        sink.note("lat_mem_rd rows without a title: stride and access order are not in the text");
        let mut run = Run::new(Version::Unknown.tool());
        for (size, ns) in rows {
            let name = format!("lat_mem_rd {:.5} MiB", size.value);
            let unit = crate::Unit::NS;
            let printed = ns.rounded();
            let version = Version::Unknown;
            let mut invocation = value(&name, unit, Direction::Smaller, version, ns.value, printed);
            let bytes = ((size.value * 1_048_576.0 / 512.0).round() * 512.0) as u64;
            invocation.extra.insert("bytes".into(), json!(bytes));
            run.invocations.push(invocation);
        }
        sink.run(run);
    }
}
