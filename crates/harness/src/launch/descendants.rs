//! What a command left behind: processes that outlived it and were handed to us, the reaper of our descendants.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::Urgent;

/// When for so long no process more was stopped or gone, what is left hangs in the kernel; nobody can end it.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest time in which those that fork faster than they are found are stopped.
const HALTED_BY: Duration = Duration::from_secs(120);

/// Kills and reaps every descendant of this process except `keep` and `launcher`, until none is left. Returns how many
/// there were.
pub(super) fn end_all(known: Option<&Children>, keep: &[i32], launcher: i32) -> usize {
    let is_spared = |pid: i32| pid == launcher || keep.contains(&pid);
    let left = || -> Vec<i32> { children(known).into_iter().filter(|pid| !is_spared(*pid)).collect() };
    if left().is_empty() {
        return 0;
    }
    let _urgent = Urgent::start();
    halt(&is_spared);
    let mut seen = 0;
    let mut progress = Instant::now();
    loop {
        let children = left();
        if children.is_empty() || progress.elapsed() > PATIENCE {
            return seen;
        }
        let mut waiting = false;
        for pid in children {
            // SAFETY: pid is our own unreaped child, so its number is not used again.
            unsafe { libc::kill(pid, libc::SIGKILL) };
            // SAFETY: no status is asked for.
            match unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG) } {
                0 => waiting = true,
                _ => {
                    seen += 1;
                    progress = Instant::now();
                }
            }
        }
        if waiting {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

/// Stops every descendant, until a look finds no new one. Killing at once would make room for more: processes that fork as
/// fast as a limit on their number allows outrun whoever kills them, and none that is stopped forks. On a busy machine this takes
/// as long as it takes, within [`HALTED_BY`]: given up, they would stay.
fn halt(is_spared: &dyn Fn(i32) -> bool) {
    let started = Instant::now();
    let mut stopped = HashSet::new();
    while started.elapsed() < HALTED_BY {
        // Dead ones are new as well, when first seen: they may have had a child after the look at its number.
        let new: Vec<i32> = descendants(is_spared).into_iter().filter(|pid| stopped.insert(*pid)).collect();
        if new.is_empty() {
            return;
        }
        for pid in new {
            stop(pid, &stopped);
        }
    }
}

/// Stops a process if it still is a child of one of `known` or ours. (Another's child may be reaped and its number used
/// again, between the look and here.)
fn stop(pid: i32, known: &HashSet<i32>) {
    let Some(number) = Pid::from_raw(pid) else { return };
    let Ok(process) = pidfd_open(number, PidfdFlags::empty()) else { return };
    let parent = parent(pid).unwrap_or(0);
    if known.contains(&parent) || parent as u32 == std::process::id() {
        let _ = pidfd_send_signal(process, Signal::STOP);
    }
}

/// All descendants of this process, without those spared and theirs.
fn descendants(is_spared: &dyn Fn(i32) -> bool) -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for pid in everyone().unwrap_or_default() {
        if let Some(parent) = parent(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = vec![std::process::id() as i32];
    let mut at = 0;
    while let Some(parent) = found.get(at) {
        at += 1;
        let own = children.remove(parent).unwrap_or_default();
        found.extend(own.into_iter().filter(|pid| !is_spared(*pid)));
    }
    found.split_off(1)
}

/// The kernel's list of our children, held open since it is read after every run.
pub(super) struct Children {
    /// Directory with an entry for each of our threads.
    threads: File,
    /// Children of the thread that opened it.
    own: File,
}

impl Children {
    /// Opens it; `None` where the kernel keeps no such list (`CONFIG_PROC_CHILDREN`).
    pub(super) fn open() -> Option<Self> {
        let open = |path| File::open(path).ok();
        Some(Children { threads: open("/proc/self/task")?, own: open("/proc/thread-self/children")? })
    }

    /// Children of all our threads, as long as there is only one.
    fn of_single_thread(&self) -> Option<Vec<i32>> {
        // The directory has a link for each thread and two more.
        if self.threads.metadata().ok()?.nlink() != 3 {
            return None;
        }
        let mut list = [0; 256];
        let length = self.own.read_at(&mut list, 0).ok()?;
        // A list that does not fit is read elsewhere.
        (length < list.len()).then(|| pids(&String::from_utf8_lossy(&list[..length])))
    }
}

/// Our children, by the list the kernel keeps or else by a search through all processes.
fn children(known: Option<&Children>) -> Vec<i32> {
    let quick = known.and_then(Children::of_single_thread);
    quick.unwrap_or_else(|| by_thread().or_else(|_| search()).unwrap_or_default())
}

fn by_thread() -> io::Result<Vec<i32>> {
    let mut children = Vec::new();
    for thread in std::fs::read_dir("/proc/self/task")? {
        children.extend(pids(&std::fs::read_to_string(thread?.path().join("children"))?));
    }
    Ok(children)
}

fn pids(list: &str) -> Vec<i32> {
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

fn search() -> io::Result<Vec<i32>> {
    let us = std::process::id() as i32;
    Ok(everyone()?.into_iter().filter(|pid| parent(*pid) == Some(us)).collect())
}

fn everyone() -> io::Result<Vec<i32>> {
    let number = |entry: io::Result<std::fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    Ok(std::fs::read_dir("/proc")?.filter_map(number).collect())
}

fn parent(pid: i32) -> Option<i32> {
    // The name, in parentheses, may hold spaces: the parent is the second word after the last parenthesis.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after) = stat.rsplit_once(')')?;
    after.split_whitespace().nth(1)?.parse().ok()
}
