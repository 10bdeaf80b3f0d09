//! States of this machine under comparison: the commands that set them up and put things back.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use harness::{Session, Variant};

/// One state.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Its name in the record.
    pub name: String,
    /// Shell command run before each of its turns.
    pub set_up: Option<String>,
    /// Shell command run after each of its turns, whatever happened.
    pub undo: Option<String>,
    /// What its workers get.
    pub variant: Variant,
}

impl State {
    /// A state that changes nothing.
    pub fn named(name: &str) -> Self {
        State {
            name: name.to_owned(),
            variant: Variant { name: Some(name.to_owned()), ..Variant::default() },
            ..State::default()
        }
    }

    /// Brings the machine into this state. The undo command is kept by the janitor first, so that it runs even if this
    /// process is killed; a failing set-up is undone.
    pub fn enter(&self, session: &mut Session) -> anyhow::Result<()> {
        if let Some(undo) = &self.undo {
            session.coordinator().keep_undo(undo);
        }
        if let Some(command) = &self.set_up
            && let Err(error) = shell(command)
        {
            self.leave(session)?;
            return Err(error.context(format!("setting up {}", self.name)));
        }
        Ok(())
    }

    /// Puts things back.
    pub fn leave(&self, session: &mut Session) -> anyhow::Result<()> {
        if let Some(undo) = &self.undo {
            let done = shell(undo).with_context(|| format!("putting back what {} changed", self.name));
            session.coordinator().keep_undo("");
            done?;
        }
        Ok(())
    }
}

/// Runs a shell command with its output on standard error.
fn shell(command: &str) -> anyhow::Result<()> {
    let output = Command::new("/bin/sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .with_context(|| format!("`{command}`"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    bail!("`{command}` ended with {}; it said: {}", output.status, said.trim())
}

/// `NAME=VALUE` for a worker's environment.
pub fn parse_variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("{text}: write NAME=VALUE")),
    }
}

/// `STATE=COMMAND` for further states.
pub fn parse_state(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, command)) if !name.is_empty() => Ok((name.to_owned(), command.to_owned())),
        _ => Err(format!("{text}: write STATE=COMMAND")),
    }
}

/// `STATE=PATH`.
pub fn parse_binary(text: &str) -> Result<(String, PathBuf), String> {
    parse_state(text).map(|(name, path)| (name, PathBuf::from(path)))
}
