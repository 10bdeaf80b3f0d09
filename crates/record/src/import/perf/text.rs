//! The text of `perf stat`, alone or inside a mail: quoted, folded, in any locale, before and after tables in prose.

use serde_json::json;

use super::locale::{Sign, evidence, looks_numeric, number};
use super::text_row::{Row, read};
use super::{Counter, direction, invocations, unit};
use crate::import::ImportError;
use crate::import::lines::Line;
use crate::import::sink::{Run, Sink};
use crate::{Invocation, Status, Summary};

/// Lines over which a header (the command may hold newlines) can go on.
const MOST_HEADER_LINES: usize = 50;
const HEADER: &[u8] = b"Performance counter stats for";

/// `0.009357 +- 0.000997 seconds time elapsed  ( +- 10.66% )`, with its numbers still as text.
#[derive(Clone, Debug)]
struct Time {
    line: usize,
    name: &'static str,
    value: String,
    error: Option<String>,
    rel_se: Option<String>,
}

#[derive(Debug, Default)]
struct Block {
    line: usize,
    /// The line of prose above, which names the state in mails.
    heading: String,
    header: String,
    rows: Vec<Row>,
    times: Vec<Time>,
    /// Rows of `--table`, one per run.
    table: Vec<(usize, String)>,
    in_table: bool,
    sliced: bool,
    /// What a folded line continues.
    last: Last,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Last {
    #[default]
    Header,
    Row,
    Time,
    Other,
}

/// Reads the blocks of one text.
#[derive(Default)]
pub(in super::super) struct Reader {
    open: Option<Block>,
    blocks: Vec<Block>,
    /// The last line of text that is no measurement.
    heading: Vec<u8>,
}

impl Reader {
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Remembers a line of prose, which may be the heading of the next block.
    #[inline]
    pub fn heading(&mut self, text: &[u8]) {
        self.heading.clear();
        if text.len() <= 100 && text.first() != Some(&b'#') {
            self.heading.extend_from_slice(text);
        }
    }

    /// Takes the first line of a block.
    pub fn starts(&mut self, line: &Line) -> bool {
        let text = line.text.trim_ascii_start();
        let sliced = text.starts_with(b"#") && text.ends_with(b"counts unit events");
        if !sliced && !text.starts_with(HEADER) {
            return false;
        }
        self.close();
        let heading = String::from_utf8_lossy(&self.heading).trim().to_owned();
        self.heading.clear();
        let header = String::from_utf8_lossy(text).into_owned();
        let last = if sliced || header.ends_with(':') { Last::Other } else { Last::Header };
        self.open = Some(Block { line: line.number, heading, header, sliced, last, ..Block::default() });
        true
    }

    /// Takes a line of an open block; false when the line ends it.
    pub fn line(&mut self, line: &Line, sink: &mut Sink) -> bool {
        let Some(block) = &mut self.open else { return false };
        let shown = String::from_utf8_lossy(line.text);
        let shown = shown.trim();
        if shown.is_empty() {
            return true;
        }
        if block.last == Last::Header {
            block.header.push(' ');
            block.header.push_str(shown);
            if shown.ends_with(':') {
                block.last = Last::Other;
            } else if line.number > block.line + MOST_HEADER_LINES {
                sink.skip(block.line, block.header.as_bytes(), "the header of perf stat never ends");
                self.open = None;
            }
            return true;
        }
        if let Some(time) = time(shown, line.number) {
            block.times.push(time);
            block.last = Last::Time;
            block.in_table = false;
            return true;
        }
        if shown.starts_with("# Table of individual") {
            block.in_table = true;
            return true;
        }
        if block.in_table {
            let first = shown.split_whitespace().next().unwrap_or_default();
            match looks_numeric(first) {
                true => block.table.push((line.number, first.to_owned())),
                false if shown.starts_with('#') => {}
                false => sink.skip(line.number, line.text, "not a row of perf's table of runs"),
            }
            return true;
        }
        if block.times.is_empty()
            && let Some(row) = read(shown, line.number, block.sliced)
        {
            block.rows.push(row);
            block.last = Last::Row;
            return true;
        }
        match block.last {
            Last::Row => {
                if let Some(row) = block.rows.last_mut() {
                    row.tail.push(' ');
                    row.tail.push_str(shown);
                }
                return true;
            }
            Last::Time if shown.starts_with("( +-") => {
                if let Some(time) = block.times.last_mut() {
                    time.rel_se = percent(shown);
                }
                return true;
            }
            _ if shown.starts_with('#') => return true,
            _ => {}
        }
        if block.times.is_empty() && block.rows.is_empty() {
            sink.skip(line.number, line.text, "not a row of perf stat");
            return true;
        }
        self.close();
        false
    }

    fn close(&mut self) {
        if let Some(block) = self.open.take() {
            self.blocks.push(block);
        }
    }

    /// Hands over every block as a run.
    pub fn finish(mut self, sink: &mut Sink) -> Result<(), ImportError> {
        self.close();
        if self.blocks.is_empty() {
            return Ok(());
        }
        sink.note("the exit status of the command is not in the file");
        let names = names(&self.blocks);
        for (block, name) in self.blocks.into_iter().zip(names) {
            let mut run = block.run(sink)?;
            run.configuration = name;
            sink.run(run);
        }
        Ok(())
    }
}

/// Names of the blocks: the headings where they tell them apart, else the commands; one block needs none.
fn names(blocks: &[Block]) -> Vec<Option<String>> {
    let distinct = |of: &dyn Fn(&Block) -> String| {
        let all: Vec<String> = blocks.iter().map(of).collect();
        let mut sorted = all.clone();
        sorted.sort();
        sorted.dedup();
        (sorted.len() > 1 && !sorted[0].is_empty()).then_some(all)
    };
    let heading = |block: &Block| block.heading.trim_end_matches(':').trim().to_owned();
    let found = distinct(&heading).or_else(|| distinct(&Block::command));
    match found {
        Some(names) => names.into_iter().map(Some).collect(),
        None => vec![None; blocks.len()],
    }
}

/// The text of a percentage in `( +- 10.66% )`.
fn percent(shown: &str) -> Option<String> {
    let after = &shown[shown.find("( +-")? + 4..];
    Some(after[..after.find('%')?].trim().to_owned())
}

fn time(shown: &str, line: usize) -> Option<Time> {
    let names = [("seconds time elapsed", "elapsed"), ("seconds user", "user"), ("seconds sys", "sys")];
    let (at, name) = names.iter().find_map(|(words, name)| Some((shown.find(words)?, *name)))?;
    let mut words = shown[..at].split_whitespace();
    let value = words.next().filter(|w| looks_numeric(w))?.to_owned();
    let error = match (words.next(), words.next(), words.next()) {
        (None, ..) => None,
        (Some("+-"), Some(error), None) => Some(error.to_owned()),
        _ => return None,
    };
    Some(Time { line, name, value, error, rel_se: percent(&shown[at..]) })
}

impl Block {
    fn command(&self) -> String {
        let from = self.header.find('\'').map_or(0, |at| at + 1);
        let to = self.header.rfind('\'').filter(|to| *to > from).unwrap_or(self.header.len());
        self.header[from..to].to_owned()
    }

    /// The number of runs in `(10 runs):`.
    fn runs(&self) -> Option<u32> {
        let before = self.header.strip_suffix("):")?.trim_end_matches('s').strip_suffix(" run")?;
        before.rsplit('(').next()?.trim().parse().ok()
    }

    fn sign(&self) -> Option<Sign> {
        let times = self.times.iter().flat_map(|t| [Some(&t.value), t.error.as_ref(), t.rel_se.as_ref()]);
        // a time has nine decimals or as many as its error; counts may be grouped
        let first = times.flatten().map(String::as_str);
        let table = self.table.iter().map(|(_, shown)| shown.as_str());
        let tails =
            self.rows.iter().flat_map(|row| [row.rel_se(), row.running(), row.cpus(), row.slice.as_deref()]);
        let counts = self.rows.iter().map(|row| row.reading.as_str());
        first.chain(table).chain(tails.flatten()).chain(counts).find_map(evidence)
    }

    fn run(self, sink: &mut Sink) -> Result<Run, ImportError> {
        let sign = self.sign();
        let runs = self.runs();
        let mut run = Run::new("perf stat");
        if !self.sliced {
            run.environment.insert("command".into(), json!(self.command()));
        }
        let mut counters = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            match counter(row, sign) {
                Ok(counter) => counters.push(counter),
                Err(why) => sink.skip(row.line, row.reading.as_bytes(), why),
            }
        }
        let clock = clock(&counters);
        run.invocations = invocations(counters, runs, sink)?;
        if self.times.iter().all(|time| time.name != "elapsed") && !self.sliced {
            sink.skip(
                self.line,
                self.header.as_bytes(),
                "the block ends before its elapsed time: truncated, the counters so far are kept",
            );
        }
        let mut tabled = false;
        for (line, shown) in &self.table {
            match number(shown, sign) {
                Ok(value) => {
                    let mut one = Invocation::foreign("perf/elapsed", unit("seconds"), direction("elapsed"))
                        .with_value(value.value);
                    one.printed = Some(value.rounded());
                    run.invocations.push(one);
                    tabled = true;
                }
                Err(why) => sink.skip(*line, shown.as_bytes(), why),
            }
        }
        for time in &self.times {
            // the single runs say more than their mean
            if tabled && time.name == "elapsed" {
                continue;
            }
            match elapsed(time, sign, runs) {
                Ok(made) => run.invocations.push(flag_late_start(made, clock, sink)),
                Err(why) => sink.skip(time.line, time.value.as_bytes(), why),
            }
        }
        Ok(run)
    }
}

fn counter(row: &Row, sign: Option<Sign>) -> Result<Counter, String> {
    let value = |shown: Option<&str>| shown.map(|shown| number(shown, sign)).transpose();
    let (reading, printed) = if row.reading.starts_with('<') {
        (Err(row.reading.trim_matches(['<', '>']).to_owned()), None)
    } else {
        let shown = number(&row.reading, sign)?;
        (Ok(shown.value), (shown.decimals > 0).then(|| shown.rounded()))
    };
    Ok(Counter {
        line: row.line,
        place: row.place.clone(),
        aggregated: row.aggregated,
        slice: value(row.slice.as_deref())?.map(|shown| shown.value),
        reading,
        printed,
        unit: row.unit.clone(),
        event: row.event.clone(),
        rel_se: value(row.rel_se())?.map(|shown| (shown.value, 0.5 * 10f64.powi(-(shown.decimals as i32)))),
        running_pct: value(row.running())?.map(|shown| shown.value),
        cpus: value(row.cpus()).unwrap_or_default().map(|shown| shown.value),
    })
}

/// Milliseconds of CPU time, when the block counted them.
fn clock(counters: &[Counter]) -> Option<f64> {
    let clock = counters.iter().find(|c| c.event.starts_with("task-clock") && c.place.is_none())?;
    clock.reading.clone().ok().filter(|_| clock.unit == "msec")
}

fn elapsed(time: &Time, sign: Option<Sign>, runs: Option<u32>) -> Result<Invocation, String> {
    let shown = number(&time.value, sign)?;
    let metric = format!("perf/{}", time.name);
    let bare = Invocation::foreign(&metric, unit("seconds"), direction(time.name));
    if shown.value == 0.0 {
        return Ok(bare.without_value(Status::Skipped, "printed 0: below the resolution of the clock"));
    }
    let mut made = bare.with_value(shown.value);
    made.printed = Some(shown.rounded());
    let rel_se = match (&time.rel_se, &time.error) {
        (Some(rel_se), _) => {
            let shown = number(rel_se, sign)?;
            Some((shown.value, 0.5 * 10f64.powi(-(shown.decimals as i32))))
        }
        (None, Some(error)) => {
            let error = number(error, sign)?;
            let half = 0.5 * 10f64.powi(-(error.decimals as i32));
            Some((100.0 * error.value / shown.value, 100.0 * half / shown.value))
        }
        (None, None) => None,
    };
    if let (Some((rel_se_pct, half)), Some(n_runs)) = (rel_se, runs) {
        made.summary = Some(Summary { mean: shown.value, rel_se_pct, rel_se_half_digit_pct: half, n_runs });
    }
    Ok(made)
}

/// More CPU time than elapsed time: several threads, or an elapsed time that began late.
fn flag_late_start(mut made: Invocation, clock: Option<f64>, sink: &mut Sink) -> Invocation {
    if made.metric == "perf/elapsed"
        && let (Some(ms), Some(s)) = (clock, made.value)
        && ms > s * 1e3
    {
        made.extra.insert("cpu_time_exceeds_elapsed".into(), json!(true));
        sink.note(format!(
            "{ms} ms of CPU time in {s} s elapsed: several threads, or perf started its clock late; for one thread the elapsed time is wrong"
        ));
    }
    made
}
