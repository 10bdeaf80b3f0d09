//! Hardware counters: whether this process can have them, and why not.

use serde_json::Value;

use crate::cpu::counters_by_cpuid;
use crate::section::{Section, known};
use crate::{Missing, Root};

pub(crate) fn section(root: &Root, machine: &Value) -> Value {
    let mut section = Section::default();
    let devices = root.list("/sys/bus/event_source/devices");
    let core = devices.as_ref().map_err(Clone::clone).and_then(|devices| {
        let core: Vec<String> = devices.iter().filter(|name| is_core_pmu(name)).cloned().collect();
        if core.is_empty() { Err(no_pmu(machine)) } else { Ok(core) }
    });
    section.put("core", core);
    section.put("devices", devices);
    let by_cpuid = if root.is_host() { counters_by_cpuid() } else { None };
    let silent = || Missing::because("cpuid does not say (or is not this machine's)");
    section.put("general_counters", by_cpuid.map(|(counters, _)| counters).ok_or_else(silent));
    section.put("counter_bits", by_cpuid.map(|(_, bits)| bits).ok_or_else(silent));
    section.put("name", root.text("/sys/bus/event_source/devices/cpu/caps/pmu_name"));
    section.numbers(
        root,
        &[
            ("perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid"),
            ("max_sample_rate", "/proc/sys/kernel/perf_event_max_sample_rate"),
            ("kptr_restrict", "/proc/sys/kernel/kptr_restrict"),
        ],
    );
    section.put("rdpmc", root.number("/sys/bus/event_source/devices/cpu/rdpmc"));
    section.into()
}

/// The core PMUs of x86 and POWER (`cpu`), hybrid x86, Arm, Apple and s390.
fn is_core_pmu(name: &str) -> bool {
    matches!(name, "cpu" | "cpu_core" | "cpu_atom" | "cpu_lowpower" | "cpum_cf")
        || ["armv", "apple_", "riscv"].iter().any(|start| name.starts_with(start))
}

fn no_pmu(machine: &Value) -> Missing {
    let hypervisor = known(machine, "hypervisor").and_then(Value::as_str).unwrap_or("none");
    Missing::because(if hypervisor == "none" {
        "the kernel has no driver for this CPU's PMU, or there is none".to_owned()
    } else {
        format!("no PMU exposed by the hypervisor ({hypervisor})")
    })
}
