//! When pinning pays: sentences for every pinned configuration, and the sizes at which the answer flips.

use std::io::{self, Write};

use mmu::cost::{BreakEven, Verdict, break_even};
use mmu::event::Event;
use mmu::machine::Variation;
use mmu::sim::{Options, Simulation};
use report::wrapped;

use super::configurations::{Row, base_machines};
use super::{Args, configurations};

/// Sizes of the TLB at which the question is asked again.
const SIZES: &str = "8,12,16,20,24,28,32,40,48,56,62,63,64,80,96,128,192,256";

/// The same question for other sizes of the first machine.
pub struct Flips {
    simulation: Simulation,
    /// Size and pinned entries of each configuration.
    points: Vec<(u32, u32)>,
}

/// For one number of pinned entries, the verdict at each size.
pub struct Flip {
    /// Pinned entries.
    pub pinned: u32,
    /// Verdict by size.
    pub verdicts: Vec<(u32, Verdict)>,
}

impl Flips {
    /// `None` when the machine's kernel is not known, so that nothing can be pinned.
    pub fn new(args: &Args) -> anyhow::Result<Option<Self>> {
        let Some(machine) = base_machines(args)?.into_iter().next() else { return Ok(None) };
        if machine.kernel.is_none() {
            return Ok(None);
        }
        let pins: Vec<u32> = match &args.pin {
            Some(list) => list.split(',').filter_map(|p| p.parse().ok()).filter(|&p| p > 0).collect(),
            None => vec![1, 2],
        };
        let mut unpinned = machine.clone();
        unpinned.tlbs.iter_mut().for_each(|t| t.ways = None);
        let mut points = Vec::new();
        let mut list = Vec::new();
        for (i, size) in SIZES.split(',').filter_map(|s| s.parse::<u32>().ok()).enumerate() {
            let dim = Variation::parse(&format!("entries={size}"))?;
            let Some((_, sized)) = Variation::cross(&unpinned, &[dim])?.into_iter().next() else { continue };
            for pin in std::iter::once(0).chain(pins.iter().copied()) {
                list.push((format!("{i}"), sized.with_preset(&format!("pin={pin}"))?));
                points.push((size, pin));
            }
        }
        let options = Options { page_limit: args.max_pages, ..Options::default() };
        Ok(Some(Flips { simulation: Simulation::new(list, options)?, points }))
    }

    /// Looks at the next records.
    pub fn feed(&mut self, events: &[Event]) -> anyhow::Result<()> {
        Ok(self.simulation.feed(events)?)
    }

    /// The verdicts.
    pub fn finish(self) -> anyhow::Result<Vec<Flip>> {
        let outcomes = self.simulation.finish()?;
        let mut flips: Vec<Flip> = Vec::new();
        for (&(size, pinned), outcome) in self.points.iter().zip(&outcomes) {
            let base = self.points.iter().position(|&p| p == (size, 0)).map(|i| &outcomes[i]);
            let Some(base) = base.filter(|_| pinned > 0) else { continue };
            let Ok(answer) = break_even(base, outcome) else { continue };
            let at = flips.iter().position(|f| f.pinned == pinned).unwrap_or_else(|| {
                flips.push(Flip { pinned, verdicts: Vec::new() });
                flips.len() - 1
            });
            flips[at].verdicts.push((size, answer.verdict));
        }
        Ok(flips)
    }
}

/// All sentences.
pub fn print(out: &mut impl Write, rows: &[Row], base: usize, flips: Option<&Vec<Flip>>) -> io::Result<()> {
    writeln!(out, "\nDoes pinning pay? Against {}, on the same stream", rows[base].name)?;
    let pinned: Vec<_> = rows.iter().filter(|r| is_pinned(r)).collect();
    if pinned.is_empty() {
        writeln!(out, "  no configuration pins anything; add --pin 0,1,2")?;
    }
    let mut added: Vec<(usize, i64)> = vec![(0, 0)];
    for row in pinned {
        match break_even(&rows[base].outcome, &row.outcome) {
            Ok(answer) => {
                sentences(row, &answer).iter().try_for_each(|s| say(out, s))?;
                added.push((answer.pinned, answer.user_added));
            }
            Err(reason) => say(out, &format!("{}: unknown, {reason}", row.name))?,
        }
    }
    added.sort_unstable();
    if added.windows(2).any(|pair| pair[1].1 < pair[0].1) {
        say(
            out,
            "caution: with fewer entries left user pages miss less here, which fifo and random replacement do by chance \
             (Belady's anomaly); differences of that size say nothing",
        )?;
    }
    for flip in flips.into_iter().flatten() {
        let runs: Vec<_> = stretches(&flip.verdicts)
            .into_iter()
            .map(|(from, to, v)| {
                let sizes = if from == to { from.to_string() } else { format!("{from} to {to}") };
                format!("{sizes} {}", word(v))
            })
            .collect();
        say(out, &format!("{} pinned, by entries in all: {}", flip.pinned, runs.join("; ")))?;
    }
    Ok(())
}

/// A sentence as a list item, wrapped to the width of tables.
fn say(out: &mut impl Write, sentence: &str) -> io::Result<()> {
    let lines = wrapped(sentence, 94);
    let marks = std::iter::once("-").chain(std::iter::repeat(" "));
    lines.iter().zip(marks).try_for_each(|(line, mark)| writeln!(out, "  {mark} {line}"))
}

fn is_pinned(row: &configurations::Row) -> bool {
    row.outcome.machine.tlbs.iter().any(|t| !t.pinned.is_empty())
}

fn sentences(row: &Row, b: &BreakEven) -> Vec<String> {
    let share = 100.0 * b.kernel_share;
    let verdict = word(b.verdict);
    let first = match b.share_needed {
        Some(needed) if needed > 1.0 => format!(
            "{}: pinning {} of {} entries costs more than all misses do now, so it cannot win: {verdict}",
            row.name, b.pinned, b.entries
        ),
        Some(needed) => format!(
            "{}: pinning {} of {} entries wins once {:.2} % of all misses are kernel pages; here {share:.2} %: {verdict}",
            row.name,
            b.pinned,
            b.entries,
            100.0 * needed
        ),
        None => format!(
            "{}: pinning {} of {} entries costs user pages nothing here; {share:.2} % of all misses are kernel pages: \
             {verdict}",
            row.name, b.pinned, b.entries
        ),
    };
    let (low, high) = b.gain_range;
    let mut out = vec![
        first,
        format!(
            "{} kernel misses gone, {:+} user misses; {:.0} cycles gained ({low:.0} to {high:.0} with miss costs \
             halved to half again)",
            b.kernel_removed, b.user_added, b.gain
        ),
    ];
    if let Some(cycles) = b.miss_cycles_needed.filter(|&c| c > 0.0) {
        out.push(format!("it pays as long as a user miss costs more than {cycles:.1} cycles"));
    }
    if let Some(clears) = b.clears_allowed {
        out.push(format!(
            "it pays as long as the TLB is cleared at most {clears:.0} times; here {}",
            b.clears
        ));
    }
    out
}

/// The verdict as a word.
pub fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Wins => "wins",
        Verdict::Loses => "loses",
        Verdict::Tie => "a tie",
        Verdict::Unknown => "unknown, it hangs on the cost of a miss",
    }
}

/// Neighbouring sizes with one verdict, as first size, last size, verdict.
fn stretches(verdicts: &[(u32, Verdict)]) -> Vec<(u32, u32, Verdict)> {
    let mut out: Vec<(u32, u32, Verdict)> = Vec::new();
    for &(size, verdict) in verdicts {
        match out.last_mut() {
            Some(last) if last.2 == verdict => last.1 = size,
            _ => out.push((size, size, verdict)),
        }
    }
    out
}
