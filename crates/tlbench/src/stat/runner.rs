//! One run of one command: what it gets, what it used, how it ended.

use std::ffi::OsString;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use counters::{Counters, Note, Reading, Sampler, SyscallTracer, Tally};
use harness::{
    Clock, Coordinator, Finished, Launcher, Order, Redirection, RunEnd, Signals, Watch, layout_padding,
};

use super::subject::Subject;

/// Where a standard stream of a command comes from or goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stream {
    /// `/dev/null`.
    Null,
    /// Ours.
    Inherit,
    /// A pipe that we read and throw away (standard error: of which the end is kept).
    Pipe,
    /// A file, opened anew for every run.
    File(PathBuf),
}

/// What every command of a sitting gets.
pub struct Policy {
    /// Working directory, absolute.
    pub directory: Option<PathBuf>,
    /// Standard input.
    pub stdin: Stream,
    /// Standard output.
    pub stdout: Stream,
    /// Standard error.
    pub stderr: Stream,
    /// Longest time of a run.
    pub timeout: Option<Duration>,
    /// Standard output is read and compared.
    pub check_output: bool,
}

/// One finished run.
pub struct Run {
    /// Times, usage and end.
    pub finished: Finished,
    /// Event counts.
    pub counters: Vec<Reading>,
    /// What the sampled clock noted, or why it could not, when sampling.
    pub sampled: Option<Result<Sampled, String>>,
    /// What ptrace counted, or why it could not, when tracing.
    pub tally: Option<Result<Tally, String>>,
    /// Hash and length of standard output, when it is compared.
    pub output: Option<(u64, u64)>,
    /// Bytes of padding in its environment.
    pub padding: usize,
}

/// Samples of one run.
pub struct Sampled {
    /// In order of time.
    pub notes: Vec<Note>,
    /// Whether the kernel was sampled too.
    pub sees_kernel: bool,
}

/// Makes runs.
pub struct Runner<'k> {
    /// Guards the scratch directory and whatever runs.
    pub coordinator: Coordinator,
    /// Our signals.
    pub signals: Signals,
    /// The clock.
    pub clock: Clock,
    /// What is counted.
    pub counters: Counters<'k>,
    /// What commands get.
    pub policy: Policy,
    /// Seed of orders and padding.
    pub seed: u64,
    /// Starts commands.
    pub launcher: Launcher,
    /// Whether runs are sampled (`--profile`).
    pub sampling: bool,
    /// Whether runs are traced (`--mix` without tracepoints).
    pub tracing: bool,
}

impl Runner<'_> {
    /// Runs `subject` once.
    pub fn run(&mut self, subject: &Subject, block: u32, slot: u32) -> anyhow::Result<Run> {
        let padding = layout_padding(self.seed, block, slot);
        let environment = [(OsString::from("TLBENCH_PADDING"), OsString::from("x".repeat(padding)))];
        let stdout = if self.policy.check_output { &Stream::Pipe } else { &self.policy.stdout };
        let order = Order {
            program: &subject.program,
            arguments: &subject.arguments,
            environment: &environment,
            directory: self.policy.directory.as_deref(),
            stdin: input(&self.policy.stdin)?,
            stdout: output(stdout)?,
            stderr: output(&self.policy.stderr)?,
            own_group: !self.shares_terminal(),
        };
        let held = self.launcher.hold(order).with_context(|| format!("starting `{}`", subject.command))?;
        self.coordinator.guard_group(held.group().unwrap_or(0));
        let attached = self.counters.attach(held.pid());
        let sampler = self.sampling.then(|| Sampler::attach(held.pid(), &self.cpus()));
        let tracer = self.tracing.then(|| SyscallTracer::attach(held.pid()));
        let (mut hash, mut length) = (DefaultHasher::new(), 0u64);
        let keep = [self.coordinator.janitor_pid()];
        let watch = self.watch(&keep, self.policy.timeout, true);
        let checked = self.policy.check_output;
        let finished = held.run(&watch, &mut |piece| {
            if checked {
                hash.write(piece);
                length += piece.len() as u64;
            }
        });
        let tally = tracer.map(|tracer| Ok(tracer.map_err(|error| format!("ptrace: {error}"))?.finish()));
        let counters = attached.read();
        drop(attached);
        let sampled = sampler.map(|sampler| {
            let sampler = sampler.map_err(|error| format!("perf_event_open: {error}"))?;
            Ok(Sampled { notes: sampler.notes(), sees_kernel: sampler.sees_kernel })
        });
        self.coordinator.guard_group(0);
        let mut finished = finished.with_context(|| format!("waiting for `{}`", subject.command))?;
        if self.shares_terminal()
            && finished.end == RunEnd::Killed(libc_sigint())
            && let Some(interrupt) = self.signals.interrupted()
        {
            finished.end = RunEnd::Interrupted(interrupt);
        }
        let output = checked.then(|| (hash.finish(), length));
        Ok(Run { finished, counters, sampled, tally, output, padding })
    }

    /// Runs a shell command that belongs to no measurement; `heed_interrupts` is false for one that puts things back.
    pub fn shell(&mut self, command: &OsString, heed_interrupts: bool) -> anyhow::Result<Finished> {
        let arguments = ["sh".into(), "-c".into(), command.clone()];
        let order = Order {
            program: std::path::Path::new("/bin/sh"),
            arguments: &arguments,
            environment: &[],
            directory: self.policy.directory.as_deref(),
            stdin: Redirection::Null,
            stdout: Redirection::Null,
            stderr: Redirection::Pipe,
            own_group: true,
        };
        let held = self.launcher.hold(order)?;
        self.coordinator.guard_group(held.group().unwrap_or(0));
        let keep = [self.coordinator.janitor_pid()];
        let finished = held.run(&self.watch(&keep, None, heed_interrupts), &mut |_| {});
        self.coordinator.guard_group(0);
        Ok(finished?)
    }

    fn watch<'a>(&'a self, keep: &'a [i32], limit: Option<Duration>, heed_interrupts: bool) -> Watch<'a> {
        Watch { clock: &self.clock, signals: &self.signals, heed_interrupts, limit, keep }
    }

    /// The CPUs a command may run on.
    fn cpus(&self) -> Vec<usize> {
        harness::allowed_cpus().unwrap_or_else(|_| vec![0])
    }

    /// A command that reads our terminal must be in the terminal's foreground group, which is ours.
    fn shares_terminal(&self) -> bool {
        self.policy.stdin == Stream::Inherit && std::io::IsTerminal::is_terminal(&std::io::stdin())
    }
}

fn libc_sigint() -> i32 {
    signal_hook::consts::SIGINT
}

fn input(stream: &Stream) -> anyhow::Result<Redirection> {
    Ok(match stream {
        Stream::Null | Stream::Pipe => Redirection::Null,
        Stream::Inherit => Redirection::Inherit,
        Stream::File(path) => {
            Redirection::File(File::open(path).with_context(|| path.display().to_string())?)
        }
    })
}

fn output(stream: &Stream) -> anyhow::Result<Redirection> {
    Ok(match stream {
        Stream::Null => Redirection::Null,
        Stream::Inherit => Redirection::Inherit,
        Stream::Pipe => Redirection::Pipe,
        Stream::File(path) => {
            Redirection::File(File::create(path).with_context(|| path.display().to_string())?)
        }
    })
}

/// How a run ended, for a reader; `None` when it ended well.
pub fn failure(end: &RunEnd, ignore_failure: bool) -> Option<String> {
    Some(match end {
        RunEnd::Exited(0) => return None,
        RunEnd::Exited(_) if ignore_failure => return None,
        RunEnd::Exited(status) => format!("exit status {status}"),
        RunEnd::Killed(signal) => format!("killed by {}", signal_name(*signal)),
        RunEnd::TimedOut => "time-out".into(),
        RunEnd::WantsTerminal => "stopped: it wants the terminal; --stdin inherit lets it have ours".into(),
        RunEnd::Interrupted(_) => "interrupted".into(),
        RunEnd::NotExecuted(errno) => {
            format!("can't be executed: {}", std::io::Error::from_raw_os_error(*errno))
        }
    })
}

fn signal_name(signal: i32) -> String {
    signal_hook::low_level::signal_name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned)
}
