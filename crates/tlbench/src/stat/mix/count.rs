//! Counting what a command asks of the kernel, and what the counting itself costs.

use counters::{Counters, Event, Group, Linux, Reading, SYSCALL_KINDS, Surroundings};
use environment::Root;

use crate::stat::floor::median;
use crate::stat::runner::{Run, Runner, failure};
use crate::stat::subject::Subject;

/// Faults, minor and major.
pub const FAULTS: &str = "page-faults";
/// Context switches.
pub const SWITCHES: &str = "context-switches";
/// Processes and threads made.
pub const FORKS: &str = "sched:sched_process_fork";
/// Programs executed.
pub const EXECS: &str = "sched:sched_process_exec";
/// Others woken.
pub const WAKE_UPS: &str = "sched:sched_waking";
/// TLB flushes.
pub const FLUSHES: &str = "tlb:tlb_flush";
const SYSCALLS: &str = "raw_syscalls:sys_enter";

/// Counts per run of one command.
#[derive(Clone, Debug)]
pub struct Counted {
    /// What happened how often per run (mean over the runs), or why it can't be told.
    pub events: Vec<(String, Result<f64, String>)>,
    /// Wall time of a run that is not counted, median, ns.
    pub wall_ns: f64,
    /// CPU time of such a run, median, ns.
    pub cpu_ns: f64,
    /// How much more CPU time a counted run takes, as a fraction.
    pub counting_cost: f64,
    /// Runs of either kind.
    pub runs: u32,
}

/// Runs `subject` with and without counting, `runs` times each, in turn. `None` when interrupted.
pub fn count(
    runner: &mut Runner<'_>,
    subject: &Subject,
    runs: u32,
    surroundings: &Surroundings,
) -> anyhow::Result<Option<Counted>> {
    let mut counting = Counters::probe(&Linux, groups(&Root::host()), surroundings);
    let (mut plain, mut counted) = (Vec::new(), Vec::new());
    for block in 1..=runs {
        for turn in 0..2 {
            // Either kind goes first in every other block.
            let count = (turn + block).is_multiple_of(2);
            if count {
                std::mem::swap(&mut runner.counters, &mut counting);
            }
            let run = runner.run(subject, block, turn);
            if count {
                std::mem::swap(&mut runner.counters, &mut counting);
            }
            let run = run?;
            if runner.signals.interrupted().is_some() {
                return Ok(None);
            }
            if let Some(how) = failure(&run.finished.end, false) {
                anyhow::bail!("`{}`: {how}; a mix of failed runs would mean nothing", subject.command);
            }
            if count { counted.push(run) } else { plain.push(run) }
        }
    }
    let wall = |runs: &[Run]| median(&mut runs.iter().map(|run| run.finished.wall_ns).collect::<Vec<_>>());
    let cpu_of = |run: &Run| run.finished.usage.user_ns + run.finished.usage.system_ns;
    let cpu = |runs: &[Run]| median(&mut runs.iter().map(cpu_of).collect::<Vec<_>>());
    Ok(Some(Counted {
        events: means(&counted),
        wall_ns: wall(&plain),
        cpu_ns: cpu(&plain),
        counting_cost: cpu(&counted) / cpu(&plain) - 1.0,
        runs,
    }))
}

/// The events counted: faults and switches, system calls in all and by kind, and what tracepoints tell.
fn groups(root: &Root) -> Vec<Group> {
    let named = |list: &str| counters::parse(root, list).unwrap_or_default();
    let mut groups = named(&[FAULTS, SWITCHES, SYSCALLS, FORKS, EXECS, WAKE_UPS, FLUSHES].join(","));
    for kind in SYSCALL_KINDS {
        let all = named(SYSCALLS).remove(0).remove(0);
        let event = Event { name: syscall_name(kind.name), filter: Some(kind.filter()), ..all };
        groups.push(vec![event]);
    }
    groups
}

/// How a kind of system call is called among the events.
pub fn syscall_name(kind: &str) -> String {
    format!("system call {kind}")
}

/// Mean of each event over the runs; system calls of no kind become `other`, faults that perf may not count those of
/// `getrusage`.
fn means(runs: &[Run]) -> Vec<(String, Result<f64, String>)> {
    let mean = |of: &dyn Fn(&Run) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    let names: Vec<&Reading> = runs[0].counters.iter().collect();
    let mut events: Vec<(String, Result<f64, String>)> = names
        .iter()
        .enumerate()
        .map(|(at, reading)| {
            let counts: Result<Vec<f64>, String> =
                runs.iter().map(|run| run.counters[at].value.clone().map(|value| value.count)).collect();
            let mean = counts.map(|counts| counts.iter().sum::<f64>() / counts.len() as f64);
            (reading.name.trim_end_matches(":u").to_owned(), mean)
        })
        .collect();
    let faults = |run: &Run| (run.finished.usage.minor_faults + run.finished.usage.major_faults) as f64;
    let switches =
        |run: &Run| (run.finished.usage.voluntary_switches + run.finished.usage.involuntary_switches) as f64;
    for (name, usage) in [(FAULTS, mean(&faults)), (SWITCHES, mean(&switches))] {
        if let Some((_, count)) = events.iter_mut().find(|(event, count)| event == name && count.is_err()) {
            *count = Ok(usage);
        }
    }
    let all = events.iter().position(|(name, _)| name == SYSCALLS);
    if let Some(at) = all {
        let known: f64 = events
            .iter()
            .filter(|(name, _)| name.starts_with("system call "))
            .filter_map(|(_, count)| count.as_ref().ok())
            .sum();
        let other = events.remove(at).1.map(|all| (all - known).max(0.0));
        events.push((syscall_name("other"), other));
    }
    events
}
