//! The "because" under a verdict: in which functions, of the kernel and of the command, the time went.

mod symbols;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use counters::Note;
use serde_json::{Value, json};
use stats::Share;

use self::symbols::Symbols;
use super::runner::{Runner, Sampled};
use super::subject::Subject;

/// Runs of each command that are sampled, after the measured ones: at least, and at most.
const RUNS: std::ops::RangeInclusive<u32> = 5..=100;
/// Samples of each command that are enough.
const ENOUGH: u64 = 2000;
/// No further run is begun after this time.
const PATIENCE: Duration = Duration::from_secs(20);
/// Functions shown.
const MOST: usize = 15;
/// Samples of a function in both commands below which its share is not judged.
const FEWEST: u64 = 10;

/// Samples by function of one command.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    by_function: BTreeMap<String, u64>,
    total: u64,
    lost: u64,
    /// False where the kernel's functions may not be sampled.
    sees_kernel: bool,
    /// Runs sampled.
    runs: u32,
    /// Why there is nothing.
    refused: Option<String>,
}

/// Samples further runs of every subject, in turn, until there are enough of each. Where that can't be done, the profiles
/// say why: a verdict needs none.
pub fn sample(runner: &mut Runner<'_>, subjects: &[Subject]) -> Vec<Profile> {
    let mut profiles: Vec<Profile> = subjects.iter().map(|_| Profile::default()).collect();
    let mut symbols = Symbols::read();
    let started = Instant::now();
    runner.sampling = true;
    'all: for turn in 1..=*RUNS.end() {
        for (profile, subject) in profiles.iter_mut().zip(subjects) {
            let run = runner.run(subject, 0, turn);
            if runner.signals.interrupted().is_some() {
                break 'all;
            }
            match run.map(|run| run.sampled) {
                Ok(Some(Ok(sampled))) => profile.add(&sampled, &mut symbols),
                Ok(None) => {}
                Ok(Some(Err(why))) => profile.refused = Some(why),
                Err(error) => profile.refused = Some(format!("{error:#}")),
            }
            if profile.refused.is_some() {
                break 'all;
            }
        }
        let enough = profiles.iter().all(|profile| profile.total >= ENOUGH);
        if turn >= *RUNS.start() && (enough || started.elapsed() > PATIENCE) {
            break;
        }
    }
    runner.sampling = false;
    profiles
}

impl Profile {
    fn add(&mut self, sampled: &Sampled, symbols: &mut Symbols) {
        self.sees_kernel = sampled.sees_kernel;
        self.runs += 1;
        // Mappings by process and first address: length, offset, file.
        let mut maps: BTreeMap<(u32, u64), (u64, u64, String)> = BTreeMap::new();
        for note in &sampled.notes {
            match note {
                Note::Map { pid, start, length, offset, path } => {
                    maps.insert((*pid, *start), (*length, *offset, path.clone()));
                }
                Note::Fork { pid, parent } if pid != parent => {
                    let inherited: Vec<_> = maps
                        .range((*parent, 0)..=(*parent, u64::MAX))
                        .map(|((_, start), map)| ((*pid, *start), map.clone()))
                        .collect();
                    maps.extend(inherited);
                }
                Note::Fork { .. } => {}
                Note::Lost(count) => self.lost += count,
                Note::Sample { address, pid, kernel } => {
                    let function = if *kernel {
                        symbols.kernel(*address)
                    } else {
                        let map = maps.range((*pid, 0)..=(*pid, *address)).next_back();
                        match map.filter(|((_, start), (length, ..))| address - start < *length) {
                            Some(((_, start), (_, offset, path))) => {
                                symbols.user(path, address - start + offset)
                            }
                            None => "[unknown]".into(),
                        }
                    };
                    *self.by_function.entry(function).or_default() += 1;
                    self.total += 1;
                }
            }
        }
    }

    fn count(&self, function: &str) -> u64 {
        self.by_function.get(function).copied().unwrap_or(0)
    }

    fn share(&self, function: &str) -> Share {
        Share { count: self.count(function), total: self.total }
    }

    fn pct(&self, function: &str) -> f64 {
        100.0 * self.share(function).fraction()
    }

    /// Functions by their samples, most first.
    fn hottest(&self) -> Vec<&str> {
        let mut functions: Vec<(&str, u64)> =
            self.by_function.iter().map(|(f, &n)| (f.as_str(), n)).collect();
        functions.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        functions.into_iter().map(|(function, _)| function).collect()
    }
}

/// A function whose share differs between two commands: Fisher's exact test, Holm over the functions tested. Samples of
/// one run are not independent, so this explains a verdict and is none.
struct Moved<'p> {
    function: &'p str,
    p_adjusted: f64,
}

fn moved<'p>(base: &'p Profile, other: &'p Profile) -> Vec<Moved<'p>> {
    let mut functions: Vec<&str> = base.hottest();
    functions.extend(other.hottest());
    functions.sort_unstable();
    functions.dedup();
    functions.retain(|function| base.count(function) + other.count(function) >= FEWEST);
    let p: Vec<f64> = functions
        .iter()
        .map(|function| stats::fisher::two_sided_p(base.share(function), other.share(function)))
        .collect();
    let adjusted = stats::holm::holm(&p);
    let mut moved: Vec<Moved<'p>> = functions
        .into_iter()
        .zip(adjusted)
        .filter(|(_, p)| *p < 0.05)
        .map(|(function, p_adjusted)| Moved { function, p_adjusted })
        .collect();
    let size = |m: &Moved<'_>| (other.pct(m.function) - base.pct(m.function)).abs();
    moved.sort_by(|a, b| size(b).total_cmp(&size(a)));
    moved.truncate(MOST);
    moved
}

/// Prints the hottest functions of a single command, or what moved between the first and each other.
pub fn print(out: &mut impl Write, subjects: &[Subject], profiles: &[Profile]) -> io::Result<()> {
    let (Some(base), Some(first)) = (profiles.first(), subjects.first()) else { return Ok(()) };
    if let Some(why) = profiles.iter().find_map(|profile| profile.refused.as_deref()) {
        return writeln!(out, "\nno profile: {why}");
    }
    let of = |profile: &Profile| format!("{} samples in {} runs", profile.total, profile.runs);
    if profiles.len() == 1 {
        writeln!(out, "\nwhere `{}` spends its CPU time ({})", first.name, of(base))?;
        for function in base.hottest().into_iter().take(MOST) {
            writeln!(out, "  {:6.2} %  {function}", base.pct(function))?;
        }
    }
    for (subject, other) in subjects.iter().zip(profiles).skip(1) {
        writeln!(
            out,
            "\nfunctions whose share of CPU time moved\n  from `{}` ({})\n  to   `{}` ({})",
            first.name,
            of(base),
            subject.name,
            of(other)
        )?;
        let moved = moved(base, other);
        if moved.is_empty() {
            writeln!(out, "  none beyond chance")?;
        }
        for Moved { function, p_adjusted } in moved {
            let (before, after) = (base.pct(function), other.pct(function));
            let change = after - before;
            let p = if p_adjusted < 0.001 { "<.001".into() } else { format!("{p_adjusted:.3}") };
            writeln!(out, "  {before:6.2} %  {after:6.2} %  {change:+7.2}  p {p:>5}  {function}")?;
        }
    }
    if profiles.iter().any(|profile| !profile.sees_kernel && profile.total > 0) {
        writeln!(out, "  user mode only: perf_event_paranoid forbids sampling the kernel")?;
    }
    let lost: u64 = profiles.iter().map(|profile| profile.lost).sum();
    if lost > 0 {
        writeln!(out, "  {lost} samples found no room: the shares are of the beginning of long runs")?;
    }
    Ok(())
}

/// The same as JSON.
pub fn document(subjects: &[Subject], profiles: &[Profile]) -> Value {
    let Some(base) = profiles.first() else { return Value::Null };
    let hot = |profile: &Profile| -> Vec<Value> {
        profile
            .hottest()
            .into_iter()
            .take(MOST)
            .map(|function| json!({"function": function, "pct": profile.pct(function)}))
            .collect()
    };
    let commands: Vec<Value> = subjects
        .iter()
        .zip(profiles)
        .enumerate()
        .map(|(i, (subject, profile))| {
            let moved: Vec<Value> = if i == 0 { Vec::new() } else { moved(base, profile).iter().map(|m| {
                json!({"function": m.function, "base_pct": base.pct(m.function), "pct": profile.pct(m.function), "p_adjusted": m.p_adjusted})
            }).collect() };
            json!({"name": subject.name, "samples": profile.total, "runs": profile.runs, "reason": profile.refused, "lost": profile.lost, "kernel": profile.sees_kernel, "hottest": hot(profile), "moved": moved})
        })
        .collect();
    json!(commands)
}
