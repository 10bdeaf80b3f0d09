//! Whether the kernel complained during a run: new warnings, oopses, stalls, out-of-memory kills, taint.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

use serde::Serialize;

use crate::{Root, taint};

/// Lines kept for the record.
const MAX_LINES: usize = 20;

/// Messages read before giving up: a flood of messages is itself a finding.
const MAX_MESSAGES: usize = 100_000;

/// Longest record of `/dev/kmsg` (`CONSOLE_EXT_LOG_MAX`).
const MESSAGE_BYTES: usize = 8192;

/// Signs in a kernel message that make the run worthless.
const GRAVE: [&str; 15] = [
    "------------[ cut here ]------------",
    "WARNING: ",
    "BUG: ",
    "kernel BUG at",
    "Oops",
    "general protection fault",
    "Unable to handle kernel",
    "Internal error:",
    "rcu: INFO:",
    "detected stall",
    "soft lockup",
    "hard LOCKUP",
    "blocked for more than",
    "Out of memory:",
    "[Hardware Error]",
];

/// Signs that deserve a mention: the numbers may still be right.
const MILD: [&str; 7] = [
    // Some container hit its own limit; if it was one of our workers, its row says failed.
    "Memory cgroup out of memory",
    "clock throttled",
    "interrupt took too long",
    "perf: interrupt took",
    "NMI handler",
    "Marking clocksource",
    "page allocation failure",
];

/// Kernel counters that any user may read, and what an increase means.
const COUNTERS: [(&str, &str); 5] = [
    ("warn_count", "kernel warning"),
    ("oops_count", "kernel oops"),
    ("rcu_stall_count", "RCU stall"),
    ("softlockup_count", "soft lockup"),
    ("hardlockup_count", "hard lockup"),
];

/// A mark in the kernel's log and counters, taken before a run.
#[derive(Debug)]
pub struct KernelWatch {
    root: Root,
    log: Result<File, String>,
    taint: Option<i64>,
    counters: Vec<Option<i64>>,
}

/// What the kernel said since the mark.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KernelReport {
    /// Why the log could not be read; `None` when it was. Taint and counters are looked at either way.
    pub log_unreadable: Option<String>,
    /// Names of new taint flags.
    pub new_taint: Vec<String>,
    /// Increases of the kernel's warning, oops and stall counters, in words.
    pub counters: Vec<String>,
    /// Messages that void the run (the first 20).
    pub grave: Vec<String>,
    /// Messages to mention (the first 20).
    pub mild: Vec<String>,
}

impl KernelReport {
    /// Why the run is void, in one sentence; `None` when nothing grave was seen.
    pub fn void_reason(&self) -> Option<String> {
        let mut reasons: Vec<String> = self.counters.clone();
        if !self.new_taint.is_empty() {
            reasons.push(format!("new taint: {}", self.new_taint.join(", ")));
        }
        if let Some(line) = self.grave.first() {
            reasons.push(format!("the kernel log says \"{line}\""));
        }
        (!reasons.is_empty()).then(|| format!("the kernel complained during the run: {}", reasons.join("; ")))
    }
}

impl KernelWatch {
    /// Takes the mark. Never fails: without the right to read the log, the report says so.
    pub fn start(root: &Root) -> Self {
        KernelWatch {
            root: root.clone(),
            log: open_at_end(root),
            taint: root.number("/proc/sys/kernel/tainted").ok(),
            counters: read_counters(root),
        }
    }

    /// What happened since the mark.
    pub fn finish(mut self) -> KernelReport {
        let mut report = KernelReport::default();
        match &mut self.log {
            Ok(file) => read_log(file, &mut report),
            Err(reason) => report.log_unreadable = Some(reason.clone()),
        }
        let now = self.root.number("/proc/sys/kernel/tainted").ok();
        if let (Some(before), Some(now)) = (self.taint, now) {
            report.new_taint = taint::decode((now & !before).cast_unsigned());
        }
        let counters = read_counters(&self.root).into_iter().zip(&self.counters).zip(COUNTERS);
        for ((now, before), (_, what)) in counters {
            if let (Some(now), Some(before)) = (now, before)
                && now > *before
            {
                report.counters.push(format!("{what} ({} new)", now - before));
            }
        }
        report
    }
}

fn read_counters(root: &Root) -> Vec<Option<i64>> {
    COUNTERS.iter().map(|(name, _)| root.number(&format!("/sys/kernel/{name}")).ok()).collect()
}

/// `/dev/kmsg` behind its last message; of a file in its place (fixtures), the end.
fn open_at_end(root: &Root) -> Result<File, String> {
    let open = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(root.path("/dev/kmsg"));
    let opened = open.and_then(|mut file| file.seek(SeekFrom::End(0)).map(|_| file));
    opened.map_err(|error| format!("/dev/kmsg: {error}"))
}

/// Reads message by message: each read of the device gives one.
fn read_log(file: &mut File, report: &mut KernelReport) {
    let mut buffer = vec![0; MESSAGE_BYTES];
    for _ in 0..MAX_MESSAGES {
        match file.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => {
                for line in String::from_utf8_lossy(&buffer[..length]).lines() {
                    sort_message(line, report);
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            // The ring was overwritten behind us: go on with the oldest message left.
            Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {
                push(&mut report.mild, "kernel messages were lost: the log wrapped during the run");
            }
            Err(error) => {
                report.log_unreadable = Some(format!("/dev/kmsg: {error}"));
                return;
            }
        }
    }
    push(&mut report.mild, "more kernel messages than are read (100000)");
}

/// `prio,sequence,time,flags;text`; continuation lines begin with a space.
fn sort_message(line: &str, report: &mut KernelReport) {
    if line.starts_with(' ') {
        return;
    }
    let (prefix, text) = line.split_once(';').unwrap_or(("", line));
    // Priority and facility share the first number; facility 0 is the kernel, others are user space writing there.
    let facility = prefix
        .split(',')
        .next()
        .and_then(|number| number.parse::<u32>().ok())
        .map_or(0, |number| number >> 3);
    if facility != 0 {
        return;
    }
    if GRAVE.iter().any(|sign| text.contains(sign)) {
        push(&mut report.grave, text);
    } else if MILD.iter().any(|sign| text.contains(sign)) {
        push(&mut report.mild, text);
    }
}

fn push(lines: &mut Vec<String>, text: &str) {
    if lines.len() < MAX_LINES {
        lines.push(text.chars().take(200).collect());
    }
}
