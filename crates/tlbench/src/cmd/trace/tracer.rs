//! Running a command under a tracer whose output is read from a pipe, never from a file.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use rustix::io::FdFlags;
use rustix::process::{Pid, Signal};

/// A command being traced. Dropping it kills the command and all that it started.
pub struct Tracer {
    child: Child,
    interrupted: Arc<AtomicI32>,
    limit_reached: bool,
}

impl Tracer {
    /// Starts `command` under the best tracer there is; the second value yields lackey's text.
    ///
    /// The command's own output goes to standard error, so that standard output holds only ours.
    pub fn start(command: &[OsString]) -> anyhow::Result<(Self, Box<dyn Read>)> {
        let Some(valgrind) = find("valgrind") else {
            bail!("no tracer: install valgrind, or trace elsewhere and give the trace as a file");
        };
        if let Some(program) = command.first()
            && find_program(program).is_none()
        {
            bail!("{}: no such program", program.display());
        }
        let (read, write) = io::pipe().context("pipe")?;
        // The tracer must inherit this end; std makes pipes close-on-exec.
        rustix::io::fcntl_setfd(&write, FdFlags::empty()).context("pipe")?;
        let child = Command::new(valgrind)
            .args(["-q", "--tool=lackey", "--trace-mem=yes", "--basic-counts=no"])
            .arg(format!("--log-fd={}", write.as_raw_fd()))
            .args(command)
            .stdout(io::stderr())
            .stdin(Stdio::inherit())
            .process_group(0)
            .spawn()
            .context("valgrind")?;
        drop(write);
        let interrupted = Arc::new(AtomicI32::new(0));
        watch_signals(&child, Arc::clone(&interrupted))?;
        Ok((Tracer { child, interrupted, limit_reached: false }, Box::new(read)))
    }

    /// The signal that asked us to stop, if any.
    pub fn interrupted(&self) -> Option<i32> {
        match self.interrupted.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(signal),
        }
    }

    /// Waits for the command, or kills it if we stopped reading; the exit code for us.
    pub fn end(mut self, references: u64) -> anyhow::Result<u8> {
        if let Some(signal) = self.interrupted() {
            return Ok(128 + signal as u8);
        }
        // After a limit the tracer would block on the full pipe: it is gone once the reading end is.
        let mut waited = 0;
        let status = loop {
            match self.child.try_wait()? {
                Some(status) => break status,
                None if waited < 100 => std::thread::sleep(Duration::from_millis(10)),
                None => {
                    self.limit_reached = true;
                    kill_group(&self.child, Signal::KILL);
                    break self.child.wait()?;
                }
            }
            waited += 1;
        };
        if references == 0 {
            bail!("the tracer gave no references and ended with {status}");
        }
        if let Some(signal) = status.signal().filter(|_| !self.limit_reached) {
            eprintln!(
                "tlbench: the command was ended by signal {signal}; its references until then are kept"
            );
        } else if !status.success() && !self.limit_reached {
            eprintln!("tlbench: the command ended with {status}");
        }
        Ok(0)
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            kill_group(&self.child, Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// A thread that turns SIGINT, SIGTERM and SIGHUP into the end of the command; the pipe then ends and so do we.
fn watch_signals(child: &Child, interrupted: Arc<AtomicI32>) -> anyhow::Result<()> {
    let Some(group) = Pid::from_raw(child.id() as i32) else { return Ok(()) };
    let mut signals = signal_hook::iterator::Signals::new([
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGHUP,
    ])?;
    std::thread::spawn(move || {
        for signal in signals.forever() {
            interrupted.store(signal, Ordering::Relaxed);
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
    });
    Ok(())
}

fn kill_group(child: &Child, signal: Signal) {
    if let Some(group) = Pid::from_raw(child.id() as i32) {
        let _ = rustix::process::kill_process_group(group, signal);
    }
}

/// A program of the search path.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|d| d.join(name)).find(|p| p.is_file())
}

fn find_program(name: &OsStr) -> Option<PathBuf> {
    let text = name.to_string_lossy();
    if text.contains('/') { PathBuf::from(name).exists().then(|| name.into()) } else { find(&text) }
}
