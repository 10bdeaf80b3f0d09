//! The scheduler as it runs now.

use serde_json::{Value, json};

use crate::config::Config;
use crate::section::{Section, unknown};
use crate::{Missing, Root};

const DEBUG: &str = "/sys/kernel/debug/sched";

pub(crate) fn section(root: &Root, config: &Result<Config, Missing>) -> Value {
    let mut section = Section::default();
    match preempt(root, config) {
        Ok((mode, source)) => {
            section.set("preempt", mode);
            section.set("preempt_source", source);
        }
        Err(missing) => {
            section.set("preempt", unknown(&missing.reason));
            section.set("preempt_source", unknown(&missing.reason));
        }
    }
    section.put("features", root.text(&format!("{DEBUG}/features")));
    section.set("sched_ext", sched_ext(root));
    section.numbers(
        root,
        &[
            ("autogroup", "/proc/sys/kernel/sched_autogroup_enabled"),
            ("rt_period_us", "/proc/sys/kernel/sched_rt_period_us"),
            ("rt_runtime_us", "/proc/sys/kernel/sched_rt_runtime_us"),
            ("cfs_bandwidth_slice_us", "/proc/sys/kernel/sched_cfs_bandwidth_slice_us"),
            ("energy_aware", "/proc/sys/kernel/sched_energy_aware"),
            ("itmt", "/proc/sys/kernel/sched_itmt_enabled"),
            ("schedstats", "/proc/sys/kernel/sched_schedstats"),
            ("task_delayacct", "/proc/sys/kernel/task_delayacct"),
        ],
    );
    for name in ["base_slice_ns", "migration_cost_ns", "nr_migrate", "latency_warn_ms"] {
        section.put(name, root.number(&format!("{DEBUG}/{name}")));
    }
    section.into()
}

/// The preemption model in force and where that was read.
///
/// `uname` is not asked: it says `PREEMPT_DYNAMIC` whatever the mode. The debug file knows; without it the
/// configuration and the boot parameter tell what was set at boot.
fn preempt(root: &Root, config: &Result<Config, Missing>) -> Result<(String, String), Missing> {
    if root.text("/sys/kernel/realtime").is_ok_and(|text| text == "1") {
        return Ok(("rt".to_owned(), "/sys/kernel/realtime".to_owned()));
    }
    let debug = match root.chosen(&format!("{DEBUG}/preempt")) {
        Ok(mode) => return Ok((mode, format!("{DEBUG}/preempt"))),
        Err(missing) => missing,
    };
    let config = config.as_ref().map_err(|missing| Missing::because(format!("{debug}; {missing}")))?;
    if config.is_set("PREEMPT_RT") {
        return Ok(("rt".to_owned(), "kernel configuration".to_owned()));
    }
    let line = root.contents("/proc/cmdline").unwrap_or_default();
    let chosen = line
        .split_whitespace()
        .take_while(|word| *word != "--")
        .filter_map(|word| word.strip_prefix("preempt="))
        .last();
    if let Some(mode) = chosen.filter(|_| config.is_set("PREEMPT_DYNAMIC")) {
        return Ok((
            mode.to_owned(),
            "boot parameter; a later change through debugfs would not be seen".to_owned(),
        ));
    }
    let modes = [
        ("PREEMPT_LAZY", "lazy"),
        ("PREEMPT_NONE", "none"),
        ("PREEMPT_VOLUNTARY", "voluntary"),
        ("PREEMPT", "full"),
    ];
    let built = modes.iter().find(|(option, _)| config.is_set(option));
    let (_, mode) = built
        .ok_or_else(|| Missing::because(format!("{debug}; the configuration names no preemption model")))?;
    let source = if config.is_set("PREEMPT_DYNAMIC") {
        "kernel configuration; a later change through debugfs would not be seen"
    } else {
        "kernel configuration"
    };
    Ok(((*mode).to_owned(), source.to_owned()))
}

/// Whether a BPF scheduler runs, and which.
fn sched_ext(root: &Root) -> Value {
    match root.text("/sys/kernel/sched_ext/state") {
        Err(missing) => unknown(&format!("{missing}: this kernel has no sched_ext, or /sys is not shown")),
        Ok(state) => {
            let scheduler = root.text("/sys/kernel/sched_ext/root/ops").unwrap_or_else(|_| "none".to_owned());
            json!({"state": state, "scheduler": scheduler})
        }
    }
}
