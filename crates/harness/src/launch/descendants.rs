//! What a command left behind: processes that outlived it and were handed to us, the reaper of our descendants.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// A killed process that is not gone by then hangs in the kernel; nobody can end it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Kills and reaps every child of this process except `keep` and `launcher`, and their children as they are handed to
/// us, until none is left. Returns how many there were.
pub(super) fn end_all(keep: &[i32], launcher: i32) -> usize {
    let started = Instant::now();
    let mut seen = 0;
    loop {
        let children: Vec<i32> =
            children().into_iter().filter(|pid| *pid != launcher && !keep.contains(pid)).collect();
        if children.is_empty() || started.elapsed() > PATIENCE {
            return seen;
        }
        let mut waiting = false;
        for pid in children {
            // SAFETY: pid is our own unreaped child, so its number is not used again.
            unsafe { libc::kill(pid, libc::SIGKILL) };
            // SAFETY: no status is asked for.
            match unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG) } {
                0 => waiting = true,
                _ => seen += 1,
            }
        }
        if waiting {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

/// Our children. The list the kernel keeps (`CONFIG_PROC_CHILDREN`), or else a search through all processes.
fn children() -> Vec<i32> {
    by_thread().or_else(|_| search()).unwrap_or_default()
}

fn by_thread() -> io::Result<Vec<i32>> {
    // The directory has a link for each thread and two more: with a single thread, as usual, it need not be read.
    if std::fs::metadata("/proc/self/task")?.nlink() == 3 {
        return listed(Path::new("/proc/thread-self/children"));
    }
    let mut children = Vec::new();
    for thread in std::fs::read_dir("/proc/self/task")? {
        children.extend(listed(&thread?.path().join("children"))?);
    }
    Ok(children)
}

fn listed(path: &Path) -> io::Result<Vec<i32>> {
    let list = std::fs::read_to_string(path)?;
    Ok(list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect())
}

fn search() -> io::Result<Vec<i32>> {
    let parent = std::process::id();
    let is_ours = |pid: i32| {
        // The name, in parentheses, may hold spaces: the parent is the second word after the last parenthesis.
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
        after.split_whitespace().nth(1).and_then(|p| p.parse().ok()) == Some(parent)
    };
    let pids = std::fs::read_dir("/proc")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|&pid| is_ours(pid));
    Ok(pids.collect())
}
