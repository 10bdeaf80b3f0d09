//! Driving the real binary in a directory of its own.
#![allow(dead_code, reason = "each test file uses its part")]

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The binary, run in `place`, with its test files there too.
pub fn tlbench(place: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tlbench"));
    command.current_dir(place).env("TMPDIR", place).stdin(Stdio::null());
    command
}

/// Every line as JSON.
pub fn json_lines(bytes: &[u8]) -> Vec<Value> {
    bytes
        .split(|&b| b == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| {
            serde_json::from_slice(line).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(line)))
        })
        .collect()
}

/// A started program in its own process group; killed when dropped.
pub struct Started(pub Child);

impl Started {
    pub fn spawn(mut command: Command) -> Self {
        Started(command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    pub fn signal(&self, name: &str) {
        let status =
            Command::new("kill").args([format!("-{name}"), self.0.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Its exit code within `patience`.
    pub fn ended(&mut self, patience: Duration) -> Option<std::process::ExitStatus> {
        let start = Instant::now();
        while start.elapsed() < patience {
            if let Some(status) = self.0.try_wait().unwrap() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Processes whose working directory is `place` or below it.
pub fn processes_in(place: &Path) -> Vec<(u32, String)> {
    let place = place.canonicalize().unwrap();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse::<u32>().ok()) else { continue };
        let inside = std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| {
            // A removed directory is shown with " (deleted)" behind it.
            cwd.to_string_lossy().starts_with(&*place.to_string_lossy())
        });
        if inside {
            found.push((pid, std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default()));
        }
    }
    found
}

/// Waits until no process is left in `place`; returns those that stay.
pub fn left_after(place: &Path, patience: Duration) -> Vec<(u32, String)> {
    let start = Instant::now();
    loop {
        let left = processes_in(place);
        if left.is_empty() || start.elapsed() > patience {
            return left;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Scratch directories left in `place`.
pub fn scratch_left(place: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(place)
        .unwrap()
        .flatten()
        .map(|e| e.path())
        .filter(|p| {
            p.is_dir()
                && p.file_name().unwrap().to_string_lossy().starts_with("tlbench-")
                && !p.ends_with("tlbench-results")
        })
        .collect()
}
