//! Counting what a command asks of the kernel, and what the counting itself costs.

use counters::{Counters, Event, Group, Linux, Reading, SYSCALL_KINDS, Surroundings, Tally};
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

/// How system calls, forks and execs are counted.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// By tracepoints where they may be used, else by ptrace.
    #[default]
    Auto,
    /// By tracepoints: needs root or CAP_PERFMON, and tracefs.
    Tracepoints,
    /// By ptrace: needs no right, and slows the counted runs down. Programs run with the caller's rights only.
    Ptrace,
    /// Not at all: faults and switches only, by getrusage.
    Usage,
}

/// Counts per run of one command.
#[derive(Clone, Debug)]
pub struct Counted {
    /// What happened how often per run (mean over the runs), or why it can't be told.
    pub events: Vec<(String, Result<f64, String>)>,
    /// Wall time of a run that is not counted, median, ns.
    pub wall_ns: f64,
    /// CPU time of such a run, median, ns.
    pub cpu_ns: f64,
    /// How much more CPU time a counted run takes, as a fraction, and the standard error of that.
    pub counting_cost: (f64, Option<f64>),
    /// Runs of either kind.
    pub runs: u32,
    /// What counted system calls, forks and execs.
    pub by: By,
}

/// How to count.
pub struct Plan<'a> {
    /// Runs of either kind.
    pub runs: u32,
    /// What counts.
    pub by: By,
    /// What decides over events here.
    pub surroundings: &'a Surroundings,
    /// An exit status other than 0 is a result like any other.
    pub ignore_failure: bool,
}

/// Runs `subject` with and without counting, in turn. `None` when interrupted.
pub fn count(runner: &mut Runner<'_>, subject: &Subject, plan: &Plan<'_>) -> anyhow::Result<Option<Counted>> {
    let (groups, by) = plan.groups();
    let mut counting = Counters::probe(&Linux, groups, plan.surroundings);
    let (mut plain, mut counted) = (Vec::new(), Vec::new());
    for block in 1..=plan.runs {
        for turn in 0..2 {
            // Either kind goes first in every other block.
            let count = (turn + block).is_multiple_of(2);
            if count {
                std::mem::swap(&mut runner.counters, &mut counting);
            }
            runner.tracing = count && by == By::Ptrace;
            let run = runner.run(subject, block, turn);
            runner.tracing = false;
            if count {
                std::mem::swap(&mut runner.counters, &mut counting);
            }
            let run = run?;
            if runner.signals.interrupted().is_some() {
                return Ok(None);
            }
            if let Some(how) = failure(&run.finished.end, plan.ignore_failure) {
                anyhow::bail!("`{}`: {how}; a mix of failed runs would mean nothing", subject.command);
            }
            if count { counted.push(run) } else { plain.push(run) }
        }
    }
    let wall = |runs: &[Run]| median(&mut runs.iter().map(|run| run.finished.wall_ns).collect::<Vec<_>>());
    let cpu = |runs: &[Run]| median(&mut runs.iter().map(cpu_ns).collect::<Vec<_>>());
    Ok(Some(Counted {
        events: means(&plain, &counted, by),
        wall_ns: wall(&plain),
        cpu_ns: cpu(&plain),
        counting_cost: counting_cost(&plain, &counted),
        runs: plan.runs,
        by,
    }))
}

fn cpu_ns(run: &Run) -> f64 {
    run.finished.usage.user_ns + run.finished.usage.system_ns
}

/// Mean over the blocks of ln(counted / plain), as a fraction, and its standard error.
fn counting_cost(plain: &[Run], counted: &[Run]) -> (f64, Option<f64>) {
    let pairs = plain.iter().zip(counted).map(|(plain, counted)| (cpu_ns(counted) / cpu_ns(plain)).ln());
    let logs: Vec<f64> = pairs.filter(|log| log.is_finite()).collect();
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n.max(1.0);
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let error = (logs.len() > 1).then(|| mean.exp() * (squares / (n - 1.0) / n).sqrt());
    (mean.exp() - 1.0, error)
}

impl Plan<'_> {
    /// The events counted: faults and switches, system calls in all and by kind, and what tracepoints tell; and what is
    /// left to count the calls by.
    fn groups(&self) -> (Vec<Group>, By) {
        let root = Root::host();
        let named = |list: &str| counters::parse(&root, list).unwrap_or_default();
        let mut groups = Vec::new();
        let usable = || {
            let calls = Counters::probe(&Linux, named(SYSCALLS), self.surroundings);
            calls.events().all(|(_, refused)| refused.is_none())
        };
        let by = match self.by {
            By::Auto if usable() => By::Tracepoints,
            By::Auto => By::Ptrace,
            given => given,
        };
        let (traced, others) = ([SYSCALLS, FORKS, EXECS].join(","), [WAKE_UPS, FLUSHES].join(","));
        if by == By::Tracepoints {
            groups = named(&[others, traced].join(","));
            for kind in SYSCALL_KINDS {
                let all = named(SYSCALLS).remove(0).remove(0);
                let event = Event { name: syscall_name(kind.name), filter: Some(kind.filter()), ..all };
                groups.push(vec![event]);
            }
        }
        (groups, by)
    }
}

/// How a kind of system call is called among the events.
pub fn syscall_name(kind: &str) -> String {
    format!("system call {kind}")
}

/// Mean of each event over the runs; system calls of no kind become `other`. Faults and switches are those of the runs
/// that are not counted (a tracer makes switches of its own), by `getrusage` where perf may not count them.
fn means(plain: &[Run], counted: &[Run], by: By) -> Vec<(String, Result<f64, String>)> {
    let faults = |run: &Run| (run.finished.usage.minor_faults + run.finished.usage.major_faults) as f64;
    let switches =
        |run: &Run| (run.finished.usage.voluntary_switches + run.finished.usage.involuntary_switches) as f64;
    let mean = |of: &dyn Fn(&Run) -> f64| plain.iter().map(of).sum::<f64>() / plain.len() as f64;
    let known = readings(plain);
    let undisturbed = |name: &str, usage: f64| {
        let by_perf = known.iter().find(|(event, count)| event == name && count.is_ok());
        (name.to_owned(), by_perf.map_or(Ok(usage), |(_, count)| count.clone()))
    };
    let mut events = vec![undisturbed(FAULTS, mean(&faults)), undisturbed(SWITCHES, mean(&switches))];
    events.extend(readings(counted).into_iter().filter(|(name, _)| name != FAULTS && name != SWITCHES));
    if by != By::Tracepoints {
        let why = if rustix::process::geteuid().is_root() {
            "tracepoints tell it; they need tracefs: mount -t tracefs nodev /sys/kernel/tracing"
        } else {
            "tracepoints tell it; they need root or CAP_PERFMON, and tracefs"
        };
        events.extend([WAKE_UPS, FLUSHES].map(|name| (name.to_owned(), Err(why.to_owned()))));
    }
    if by == By::Ptrace {
        events.extend(traced(counted));
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

/// Mean of what perf counted, by event.
fn readings(runs: &[Run]) -> Vec<(String, Result<f64, String>)> {
    let mean = |at: usize| {
        let counts: Result<Vec<f64>, String> =
            runs.iter().map(|run| run.counters[at].value.clone().map(|value| value.count)).collect();
        counts.map(|counts| counts.iter().sum::<f64>() / counts.len() as f64)
    };
    let named = |(at, reading): (usize, &Reading)| (reading.name.trim_end_matches(":u").to_owned(), mean(at));
    runs[0].counters.iter().enumerate().map(named).collect()
}

/// What ptrace counted, under the names of the tracepoints.
fn traced(runs: &[Run]) -> Vec<(String, Result<f64, String>)> {
    let tallies: Result<Vec<&Tally>, String> = runs
        .iter()
        .map(|run| run.tally.as_ref().ok_or("not traced".to_owned())?.as_ref().map_err(String::clone))
        .collect();
    let mean = |of: &dyn Fn(&Tally) -> u64| -> Result<f64, String> {
        let tallies = tallies.as_ref().map_err(String::clone)?;
        Ok(tallies.iter().map(|tally| of(tally) as f64).sum::<f64>() / tallies.len() as f64)
    };
    let calls = |tally: &Tally, numbers: &[i64]| numbers.iter().filter_map(|n| tally.calls.get(n)).sum();
    let mut events = vec![
        (SYSCALLS.to_owned(), mean(&|tally| tally.calls.values().sum())),
        (FORKS.to_owned(), mean(&|tally| tally.forks)),
        (EXECS.to_owned(), mean(&|tally| tally.execs)),
    ];
    for kind in SYSCALL_KINDS {
        events.push((syscall_name(kind.name), mean(&|tally| calls(tally, kind.numbers))));
    }
    events
}
