//! Frequency scaling, idle states, batteries.

use serde_json::{Map, Value, json};

use crate::section::{Section, unknown};
use crate::{Missing, Root, Topology};

const CPUS: &str = "/sys/devices/system/cpu";

/// The `frequency` section: facts of each policy, joined with commas where policies differ.
pub(crate) fn frequency(root: &Root, topology: &Topology) -> Value {
    let mut section = Section::default();
    let policies = policies(root, topology);
    for (name, file) in [
        ("driver", "scaling_driver"),
        ("governor", "scaling_governor"),
        ("min_khz", "scaling_min_freq"),
        ("max_khz", "scaling_max_freq"),
        ("hardware_max_khz", "cpuinfo_max_freq"),
        ("energy_preference", "energy_performance_preference"),
    ] {
        section.put(
            name,
            policies.as_ref().map_err(Clone::clone).and_then(|policies| joined(root, policies, file)),
        );
    }
    section.put("turbo", turbo(root));
    section.put("intel_pstate", root.text(&format!("{CPUS}/intel_pstate/status")));
    section.put("amd_pstate", root.text(&format!("{CPUS}/amd_pstate/status")));
    section.put("energy_bias", root.text(&format!("{CPUS}/cpu0/power/energy_perf_bias")));
    section.put("platform_profile", root.text("/sys/firmware/acpi/platform_profile"));
    section.put("on_battery", on_battery(root));
    section.into()
}

/// Directories of the frequency policies of the online CPUs.
fn policies(root: &Root, topology: &Topology) -> Result<Vec<String>, Missing> {
    let names = root.list(&format!("{CPUS}/cpufreq")).unwrap_or_default();
    let mut policies: Vec<String> = names
        .iter()
        .filter(|name| name.starts_with("policy"))
        .map(|name| format!("{CPUS}/cpufreq/{name}"))
        .collect();
    if policies.is_empty() {
        // Kernels before 4.3 and some fixtures have the directory only below each CPU.
        let each = topology.cpus.iter().map(|cpu| format!("{CPUS}/cpu{}/cpufreq", cpu.id));
        policies = each.filter(|path| root.exists(path)).collect();
    }
    if policies.is_empty() {
        return Err(Missing::because(
            "no cpufreq policy in /sys/devices/system/cpu: the kernel or the hypervisor does not show frequency scaling",
        ));
    }
    Ok(policies)
}

/// The different values of one file over all policies.
fn joined(root: &Root, policies: &[String], file: &str) -> Result<String, Missing> {
    let mut values: Vec<String> = Vec::new();
    let mut missing = Missing::because(format!("no {file}"));
    for policy in policies {
        match root.text(&format!("{policy}/{file}")) {
            Ok(value) if !values.contains(&value) => values.push(value),
            Ok(_) => {}
            Err(why) => missing = why,
        }
    }
    if values.is_empty() { Err(missing) } else { Ok(values.join(",")) }
}

/// `on` or `off`.
fn turbo(root: &Root) -> Result<&'static str, Missing> {
    if let Ok(off) = root.number(&format!("{CPUS}/intel_pstate/no_turbo")) {
        return Ok(if off == 0 { "on" } else { "off" });
    }
    root.number(&format!("{CPUS}/cpufreq/boost")).map(|on| if on == 0 { "off" } else { "on" }).map_err(|_| {
        Missing::because("neither intel_pstate/no_turbo nor cpufreq/boost in /sys/devices/system/cpu")
    })
}

/// True when a battery feeds the machine.
fn on_battery(root: &Root) -> Result<bool, Missing> {
    let supplies = root.list("/sys/class/power_supply")?;
    let discharging = |name: &String| {
        root.text(&format!("/sys/class/power_supply/{name}/status"))
            .is_ok_and(|status| status == "Discharging")
            && root
                .text(&format!("/sys/class/power_supply/{name}/scope"))
                .map_or(true, |scope| scope != "Device")
    };
    Ok(supplies.iter().any(discharging))
}

/// The `idle` section: driver, governor and the states of the first online CPU.
pub(crate) fn idle(root: &Root, topology: &Topology) -> Value {
    let mut section = Section::default();
    section.put("driver", root.text(&format!("{CPUS}/cpuidle/current_driver")));
    let governor = root.text(&format!("{CPUS}/cpuidle/current_governor"));
    section.put("governor", governor.or_else(|_| root.text(&format!("{CPUS}/cpuidle/current_governor_ro"))));
    let first = topology.cpus.first().map_or(0, |cpu| cpu.id);
    let base = format!("{CPUS}/cpu{first}/cpuidle");
    match root.list(&base) {
        Err(missing) => section.set("states", unknown(&format!("{}: no idle states shown", missing.reason))),
        Ok(names) => section.set("states", states(root, &base, &names)),
    }
    section.put("haltpoll_guest_ns", root.number("/sys/module/haltpoll/parameters/guest_halt_poll_ns"));
    section.into()
}

fn states(root: &Root, base: &str, names: &[String]) -> Value {
    let mut states = Map::new();
    for state in names.iter().filter(|name| name.starts_with("state")) {
        let name = root.text(&format!("{base}/{state}/name")).unwrap_or_else(|_| state.clone());
        let latency = root.number(&format!("{base}/{state}/latency"));
        let disabled = root.number(&format!("{base}/{state}/disable")).is_ok_and(|disabled| disabled != 0);
        let latency = latency.map_or_else(|missing| unknown(&missing.reason), Value::from);
        states.insert(name, json!({"exit_latency_us": latency, "disabled": disabled}));
    }
    Value::Object(states)
}
