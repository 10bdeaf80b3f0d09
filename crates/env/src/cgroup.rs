//! The control groups around this process: paths and the limits in force (the tightest on the way up).

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::mounts::Mount;
use crate::section::{Section, unknown};
use crate::{Missing, Root};

/// Deepest hierarchy walked.
const MAX_DEPTH: usize = 64;

/// A v1 limit above this is none (the kernel prints a number near 2^63, rounded to pages).
const V1_UNLIMITED: u64 = 1 << 62;

/// Where the groups of one controller can be read: the process's own directory first, then each parent.
struct Directories(Vec<String>);

impl Directories {
    fn find(root: &Root, mounts: &[Mount], controller: &str) -> Option<(u8, Self)> {
        let membership = membership(root);
        let has_option = |mount: &Mount| mount.options.split(',').any(|option| option == controller);
        let v1 = mounts.iter().find(|mount| mount.kind == "cgroup" && has_option(mount));
        let v2 = mounts.iter().find(|mount| mount.kind == "cgroup2");
        let (version, mount, path) = match (v1, v2) {
            (Some(mount), _) => (1, mount, membership.get(controller)?),
            (None, Some(mount)) => (2, mount, membership.get("")?),
            (None, None) => return None,
        };
        // In a namespace or container the mount shows only a part of the tree.
        let inside = if mount.root == "/" {
            path.as_str()
        } else {
            path.strip_prefix(mount.root.as_str()).unwrap_or("")
        };
        let mut directories = Vec::new();
        let mut inside = inside.trim_end_matches('/');
        while directories.len() < MAX_DEPTH {
            directories.push(format!("{}{inside}", mount.point));
            match inside.rsplit_once('/') {
                Some((parent, _)) => inside = parent,
                None => break,
            }
        }
        Some((version, Directories(directories)))
    }

    /// The smallest number `read` finds on the way up; `None` when no directory has a limit.
    fn tightest(&self, root: &Root, read: impl Fn(&Root, &str) -> Option<f64>) -> Option<f64> {
        self.0.iter().filter_map(|directory| read(root, directory)).reduce(f64::min)
    }

    /// The file nearest to the process.
    fn nearest(&self, root: &Root, names: &[&str]) -> Result<String, Missing> {
        let files =
            self.0.iter().flat_map(|directory| names.iter().map(move |name| format!("{directory}/{name}")));
        let mut missing = Missing::because(format!("no {}", names[0]));
        for file in files {
            match root.text(&file) {
                Ok(text) => return Ok(text),
                Err(why) => missing = why,
            }
        }
        Err(missing)
    }
}

/// This process's directory in the hierarchy of the memory controller, of either version; `None` where it is not seen.
pub fn memory_cgroup(root: &Root) -> Option<PathBuf> {
    let (_, directories) = Directories::find(root, &crate::mounts::read(root), "memory")?;
    let own = root.path(directories.0.first()?);
    own.join("cgroup.procs").exists().then_some(own)
}

/// This process's directory in the cgroup v2 hierarchy; `None` where none is mounted or it lies outside what is seen.
pub fn unified_cgroup(root: &Root) -> Option<PathBuf> {
    let (_, directories) = Directories::find(root, &crate::mounts::read(root), "")?;
    let own = root.path(directories.0.first()?);
    own.join("cgroup.procs").exists().then_some(own)
}

/// Path per controller, the unified hierarchy under `""`.
fn membership(root: &Root) -> BTreeMap<String, String> {
    let text = root.contents("/proc/self/cgroup").unwrap_or_default();
    let mut paths = BTreeMap::new();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        for controller in controllers.split(',') {
            paths.insert(controller.to_owned(), path.to_owned());
        }
    }
    paths
}

/// The memory control group of this process.
pub(crate) fn memory_path(root: &Root) -> Value {
    let paths = membership(root);
    match paths.get("memory").or_else(|| paths.get("")) {
        Some(path) => path.clone().into(),
        None => unknown("no memory control group in /proc/self/cgroup"),
    }
}

pub(crate) fn section(root: &Root, mounts: &[Mount]) -> Value {
    let mut section = Section::default();
    let [cpu, memory, pids] =
        ["cpu", "memory", "pids"].map(|controller| Directories::find(root, mounts, controller));
    let version = memory.as_ref().or(cpu.as_ref()).map(|(version, _)| *version);
    section.put("version", version.ok_or_else(|| Missing::because("no cgroup file system is mounted")));
    section.set(
        "cpu_quota_cpus",
        limit(cpu.as_ref().map(|(_, directories)| directories.tightest(root, cpu_quota))),
    );
    let weight =
        cpu.as_ref().map(|(_, directories)| directories.nearest(root, &["cpu.weight", "cpu.shares"]));
    section.put("cpu_weight", weight.unwrap_or_else(|| Err(Missing::because("no cpu controller"))));
    section.put("cpuset", cpuset(root, mounts));
    let limits = |names: [&'static str; 2]| {
        limit(memory.as_ref().map(|(_, directories)| {
            directories.tightest(root, |root, directory| bytes(root, directory, &names))
        }))
    };
    section.set("memory_max_bytes", limits(["memory.max", "memory.limit_in_bytes"]));
    section.set("memory_high_bytes", limits(["memory.high", "memory.soft_limit_in_bytes"]));
    section.set("swap_max_bytes", limits(["memory.swap.max", "memory.memsw.limit_in_bytes"]));
    let pids = pids.map(|(_, directories)| {
        directories.tightest(root, |root, directory| bytes(root, directory, &["pids.max"]))
    });
    section.set("pids_max", limit(pids));
    section.into()
}

/// Outer `None`: no controller; inner: no limit.
fn limit(found: Option<Option<f64>>) -> Value {
    match found {
        None => unknown("no such cgroup controller is mounted"),
        Some(None) => "unlimited".into(),
        Some(Some(number)) if number.fract() == 0.0 => (number as u64).into(),
        Some(Some(number)) => number.into(),
    }
}

/// CPUs' worth of time per period.
fn cpu_quota(root: &Root, directory: &str) -> Option<f64> {
    let (quota, period) = match root.text(&format!("{directory}/cpu.max")) {
        Ok(text) => {
            let (quota, period) = text.split_once(' ')?;
            (quota.parse::<f64>().ok()?, period.parse::<f64>().ok()?)
        }
        Err(_) => {
            let number = |name: &str| {
                root.number(&format!("{directory}/cpu.cfs_{name}_us")).ok().map(|value| value as f64)
            };
            (number("quota")?, number("period")?)
        }
    };
    (quota > 0.0 && period > 0.0).then(|| (quota / period * 1000.0).round() / 1000.0)
}

/// A limit in bytes (or processes); `None` for `max`.
fn bytes(root: &Root, directory: &str, names: &[&str]) -> Option<f64> {
    let text = names.iter().find_map(|name| root.text(&format!("{directory}/{name}")).ok())?;
    text.trim().parse::<u64>().ok().filter(|&limit| limit < V1_UNLIMITED).map(|limit| limit as f64)
}

/// CPUs of the nearest cpuset that has any.
fn cpuset(root: &Root, mounts: &[Mount]) -> Result<String, Missing> {
    let names = ["cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"];
    let found =
        Directories::find(root, mounts, "cpuset").ok_or_else(|| Missing::because("no cpuset controller"))?;
    found.1.nearest(root, &names)
}

/// Times this process's group was stopped because its quota was used up, and microseconds lost.
pub(crate) fn throttled(root: &Root, mounts: &[Mount]) -> Result<Value, Missing> {
    let (_, directories) =
        Directories::find(root, mounts, "cpu").ok_or_else(|| Missing::because("no cpu controller"))?;
    let stat = directories.nearest(root, &["cpu.stat"])?;
    let number = |key: &str| {
        let found = stat.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
        found.ok_or_else(|| Missing::because(format!("no {} in cpu.stat", key.trim())))
    };
    let time = number("throttled_usec ").or_else(|_| number("throttled_time ").map(|ns| ns / 1000))?;
    Ok(json!({"times": number("nr_throttled ")?, "us": time}))
}
