//! Shell commands around runs: `--setup` and `--cleanup` once per command, `--prepare` and `--conclude` around each run.

use std::ffi::{OsStr, OsString};

use anyhow::{Context, bail};
use harness::RunEnd;

use super::runner::{Runner, failure};
use super::subject::{Subject, filled};

/// The hooks, each given once for all commands or once per command.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Hooks {
    /// Shell command run once before the first run of a command (once for all, or given once per command)
    #[arg(long, value_name = "CMD")]
    setup: Vec<OsString>,
    /// Shell command before every run, not timed
    #[arg(long, value_name = "CMD")]
    prepare: Vec<OsString>,
    /// Shell command after every run, not timed
    #[arg(long, value_name = "CMD")]
    conclude: Vec<OsString>,
    /// Shell command run once at the end, whatever happened
    #[arg(long, value_name = "CMD")]
    cleanup: Vec<OsString>,
}

impl Hooks {
    /// Checks that each is given as often as it can be assigned.
    pub fn check(&self, commands: usize) -> anyhow::Result<()> {
        for (name, given) in [
            ("setup", &self.setup),
            ("prepare", &self.prepare),
            ("conclude", &self.conclude),
            ("cleanup", &self.cleanup),
        ] {
            if given.len() > 1 && given.len() != commands {
                bail!(
                    "--{name} given {} times for {commands} commands; give it once, or once per command",
                    given.len()
                );
            }
        }
        Ok(())
    }

    /// Sets `subject` up; what puts it back is kept by the janitor in case this process is killed.
    pub fn set_up(&self, runner: &mut Runner<'_>, subjects: &[Subject], which: usize) -> anyhow::Result<()> {
        let undo: Vec<String> = subjects[..=which]
            .iter()
            .filter_map(|subject| of(&self.cleanup, subject))
            .map(|command| format!("( {} )", command.to_string_lossy()))
            .collect();
        if !undo.is_empty() {
            let place = match &runner.policy.directory {
                Some(directory) => {
                    format!("cd '{}'; ", directory.display().to_string().replace('\'', r"'\''"))
                }
                None => String::new(),
            };
            runner.coordinator.keep_undo(&format!("{place}{}", undo.join("; ")));
        }
        hook(runner, "setup", of(&self.setup, &subjects[which]), true)
    }

    /// Before a run.
    pub fn prepare(&self, runner: &mut Runner<'_>, subject: &Subject) -> anyhow::Result<()> {
        hook(runner, "prepare", of(&self.prepare, subject), true)
    }

    /// After a run.
    pub fn conclude(&self, runner: &mut Runner<'_>, subject: &Subject) -> anyhow::Result<()> {
        hook(runner, "conclude", of(&self.conclude, subject), false)
    }

    /// At the end, for every subject that was set up; all are tried, the first failure is returned.
    pub fn clean_up(&self, runner: &mut Runner<'_>, subjects: &[Subject]) -> anyhow::Result<()> {
        let done: Vec<anyhow::Result<()>> = subjects
            .iter()
            .map(|subject| hook(runner, "cleanup", of(&self.cleanup, subject), false))
            .collect();
        runner.coordinator.keep_undo("");
        done.into_iter().collect()
    }
}

/// The hook of a subject with its parameters filled in.
fn of(given: &[OsString], subject: &Subject) -> Option<OsString> {
    let hook = if given.len() == 1 { given.first() } else { given.get(subject.origin) };
    hook.map(|command| filled(OsStr::new(command), &subject.parameters))
}

fn hook(runner: &mut Runner<'_>, name: &str, command: Option<OsString>, heed: bool) -> anyhow::Result<()> {
    let Some(command) = command else { return Ok(()) };
    let shown = command.to_string_lossy().into_owned();
    let finished = runner.shell(&command, heed).with_context(|| format!("--{name} `{shown}`"))?;
    match failure(&finished.end, false) {
        // An interrupted hook ends the round; its caller sees the interruption.
        _ if matches!(finished.end, RunEnd::Interrupted(_)) => Ok(()),
        None => Ok(()),
        Some(how) => {
            let said = String::from_utf8_lossy(&finished.complaint);
            bail!("--{name} `{shown}`: {how}; it said: {}", said.trim())
        }
    }
}
