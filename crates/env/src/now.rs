//! What changes by the minute: never compared, read by `doctor`.

use serde_json::{Value, json};

use crate::mounts::Mount;
use crate::section::{Section, unknown};
use crate::{Missing, Root, Topology};

pub(crate) fn section(root: &Root, topology: &Topology, mounts: &[Mount]) -> Value {
    let mut section = Section::default();
    section.put("uptime_s", first_number(root, "/proc/uptime"));
    section.put("load_1", first_number(root, "/proc/loadavg"));
    section.put("running", running(root));
    section.put("memory_available_kb", meminfo_kb(root, "MemAvailable"));
    section.set("node_memory_kb", node_memory(topology));
    section.put("swap_free_kb", meminfo_kb(root, "SwapFree"));
    section.put("steal_pct_since_boot", steal_pct(root));
    section.put("cpu_pressure_pct", pressure(root, "cpu"));
    section.put("memory_pressure_pct", pressure(root, "memory"));
    section.put("io_pressure_pct", pressure(root, "io"));
    section.put("throttled_by_quota", crate::cgroup::throttled(root, mounts));
    section.put("thermal_throttles", thermal_throttles(root, topology));
    section.put("undervoltage", undervoltage(root));
    section.put("mhz", mhz(root));
    for name in ["warn_count", "oops_count", "rcu_stall_count", "softlockup_count", "hardlockup_count"] {
        section.put(name, root.number(&format!("/sys/kernel/{name}")));
    }
    section.into()
}

fn first_number(root: &Root, path: &str) -> Result<f64, Missing> {
    let text = root.text(path)?;
    let first = text.split_whitespace().next().and_then(|word| word.parse().ok());
    first.ok_or_else(|| Missing::because(format!("{path} does not begin with a number")))
}

/// Tasks running or ready to run, this one included.
fn running(root: &Root) -> Result<u64, Missing> {
    let text = root.text("/proc/loadavg")?;
    let field = text
        .split_whitespace()
        .nth(3)
        .and_then(|field| field.split('/').next())
        .and_then(|field| field.parse().ok());
    field.ok_or_else(|| Missing::because("/proc/loadavg has no count of tasks"))
}

fn meminfo_kb(root: &Root, key: &str) -> Result<u64, Missing> {
    let text = root.keyed("/proc/meminfo", key)?;
    let kb = text.split_whitespace().next().and_then(|kb| kb.parse().ok());
    kb.ok_or_else(|| Missing::because(format!("{key} of /proc/meminfo is not a number")))
}

/// Memory of each NUMA node: it grows and shrinks where memory is initialised late, plugged or ballooned.
fn node_memory(topology: &Topology) -> Value {
    if topology.nodes.is_empty() {
        return unknown("no /sys/devices/system/node");
    }
    let mut nodes = Section::default();
    for node in &topology.nodes {
        let path = format!("/sys/devices/system/node/node{}/meminfo", node.id);
        let memory = node.memory_kb.ok_or_else(|| Missing::because(format!("no MemTotal in {path}")));
        nodes.put(&node.id.to_string(), memory);
    }
    nodes.into()
}

/// Share of all CPU time since boot that the hypervisor gave to others.
fn steal_pct(root: &Root) -> Result<f64, Missing> {
    let stat = root.contents("/proc/stat")?;
    let times: Vec<f64> = stat
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("cpu "))
        .map(|times| times.split_whitespace().take(8).filter_map(|time| time.parse().ok()).collect())
        .unwrap_or_default();
    let total: f64 = times.iter().sum();
    match times.get(7) {
        Some(steal) if total > 0.0 => Ok((steal / total * 1e4).round() / 100.0),
        _ => Err(Missing::because("/proc/stat has no steal time")),
    }
}

/// Share of the last 10 seconds in which some task waited for the resource.
fn pressure(root: &Root, resource: &str) -> Result<f64, Missing> {
    let path = format!("/proc/pressure/{resource}");
    let text = root.text(&path)?;
    let average = text
        .split_whitespace()
        .find_map(|word| word.strip_prefix("avg10="))
        .and_then(|number| number.parse().ok());
    average.ok_or_else(|| Missing::because(format!("no avg10 in {path}")))
}

/// Times the allowed CPUs were slowed down by heat since boot.
fn thermal_throttles(root: &Root, topology: &Topology) -> Result<i64, Missing> {
    let file = |cpu: &usize| format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count");
    let first = topology
        .allowed
        .first()
        .map_or_else(|| Err(Missing::because("no CPU allowed")), |cpu| root.number(&file(cpu)))?;
    Ok(first + topology.allowed.iter().skip(1).filter_map(|cpu| root.number(&file(cpu)).ok()).sum::<i64>())
}

/// The Raspberry Pi's firmware reports low voltage through a hardware monitor of its own.
fn undervoltage(root: &Root) -> Result<bool, Missing> {
    let monitors = root.list("/sys/class/hwmon")?;
    let name = |monitor: &&String| {
        root.text(&format!("/sys/class/hwmon/{monitor}/name")).is_ok_and(|name| name == "rpi_volt")
    };
    let monitor = monitors
        .iter()
        .find(name)
        .ok_or_else(|| Missing::because("no monitor of the supply voltage in /sys/class/hwmon"))?;
    root.number(&format!("/sys/class/hwmon/{monitor}/in0_lcrit_alarm")).map(|alarm| alarm != 0)
}

/// Lowest and highest frequency the CPUs show at this moment, MHz.
fn mhz(root: &Root) -> Result<Value, Missing> {
    let cpuinfo = root.contents("/proc/cpuinfo")?;
    let lines = cpuinfo.lines().filter_map(|line| line.strip_prefix("cpu MHz"));
    let values =
        lines.filter_map(|rest| rest.trim_start_matches(['\t', ' ', ':']).trim().parse::<f64>().ok());
    let (low, high) =
        values.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), mhz| (low.min(mhz), high.max(mhz)));
    if high > 0.0 {
        Ok(json!({"min": low, "max": high}))
    } else {
        Err(Missing::because("no \"cpu MHz\" in /proc/cpuinfo"))
    }
}
