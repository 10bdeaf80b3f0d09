//! Rules about the hardware, the hypervisor and who else uses the machine.

use super::Severity::{High, Low, Medium};
use super::{Facts, Finding, Rule, finding};

/// Load average per allowed CPU above which other work is certain to get in the way.
const BUSY_PER_CPU: f64 = 0.5;

/// Share of time stolen by the hypervisor, per cent, from which it shows in every table.
const STEAL_PCT: f64 = 1.0;

/// Share of the last 10 s in which some task waited for a CPU, per cent.
const CPU_PRESSURE_PCT: f64 = 10.0;

/// Idle states slower than this to leave dominate wake-up numbers (a wake-up itself costs a few microseconds).
const SLOW_IDLE_US: u64 = 50;

/// Memory the biggest rows of the suite need at once: 1 GiB resident and as much again.
const MEMORY_KB: f64 = 2.5 * 1024.0 * 1024.0;

pub(super) const RULES: &[Rule] = &[
    load,
    pressure,
    steal,
    heat,
    undervoltage,
    battery,
    governor,
    mixed_governors,
    turbo,
    frequency_unknown,
    hypervisor,
    smt,
    hybrid,
    idle_states,
    one_cpu,
    clock,
    memory,
    no_pmu,
];

fn load(facts: &Facts) -> Option<Finding> {
    let (load, cpus) = (facts.number("now.load_1")?, facts.allowed_cpus()?);
    if load < BUSY_PER_CPU * cpus as f64 {
        return None;
    }
    finding(
        High,
        "now.load_1",
        format!("the load average is {load} on {cpus} usable CPUs"),
        "other work takes CPU time, cache and memory bandwidth while the loops run",
        "stop it, or wait; `ps -eo pcpu,comm --sort=-pcpu | head` shows who it is",
    )
}

fn pressure(facts: &Facts) -> Option<Finding> {
    let share = facts.number("now.cpu_pressure_pct").filter(|&share| share > CPU_PRESSURE_PCT)?;
    finding(
        Medium,
        "now.cpu_pressure_pct",
        format!("tasks waited for a CPU in {share} % of the last 10 seconds"),
        "our process will wait as well, which shows as set-aside samples and long tails",
        "stop the other work, or expect more blocks to be needed",
    )
}

fn steal(facts: &Facts) -> Option<Finding> {
    let share = facts.number("now.steal_pct_since_boot").filter(|&share| share >= STEAL_PCT)?;
    finding(
        High,
        "now.steal_pct_since_boot",
        format!("the hypervisor took {share} % of this machine's CPU time since boot"),
        "stolen time falls into samples and looks like slow operations",
        "use an instance with dedicated CPUs, or compare only interleaved runs (`tlbench ab`)",
    )
}

fn heat(facts: &Facts) -> Option<Finding> {
    let times = facts.number("now.thermal_throttles").filter(|&times| times > 0.0)?;
    finding(
        Medium,
        "now.thermal_throttles",
        format!("the usable CPUs were slowed down by heat {times} times since boot"),
        "the clock falls in the middle of a run, and later configurations look slower",
        "improve cooling, lower the maximum frequency, or interleave configurations",
    )
}

fn undervoltage(facts: &Facts) -> Option<Finding> {
    facts.flag("now.undervoltage").filter(|&low| low)?;
    finding(
        High,
        "now.undervoltage",
        "the supply voltage is or was too low",
        "the firmware caps the clock until the voltage recovers",
        "use a stronger power supply or a shorter cable",
    )
}

fn battery(facts: &Facts) -> Option<Finding> {
    facts.flag("frequency.on_battery").filter(|&on| on)?;
    finding(
        Medium,
        "frequency.on_battery",
        "the machine runs on its battery",
        "firmware limits frequency and turbo, and the limit moves with the charge",
        "plug it in",
    )
}

fn governor(facts: &Facts) -> Option<Finding> {
    let governor = facts.text("frequency.governor").filter(|governor| *governor != "performance")?;
    finding(
        Medium,
        "frequency.governor",
        format!("the frequency governor is {governor}"),
        "the clock follows the load, so short loops run at another frequency than long ones",
        "for the time of the run: `cpupower frequency-set -g performance` (tlbench never changes it)",
    )
}

fn mixed_governors(facts: &Facts) -> Option<Finding> {
    let limits = facts.text("frequency.max_khz").filter(|limits| limits.contains(','))?;
    finding(
        Low,
        "frequency.max_khz",
        format!("CPUs have different frequency limits: {limits} kHz"),
        "a number depends on the CPU it ran on",
        "pin to one CPU with `taskset -c`",
    )
}

fn turbo(facts: &Facts) -> Option<Finding> {
    facts.text("frequency.turbo").filter(|turbo| *turbo == "on")?;
    finding(
        Low,
        "frequency.turbo",
        "turbo is on",
        "the clock depends on temperature and on how many cores are awake",
        "switch it off for fine comparisons (intel_pstate/no_turbo or cpufreq/boost), or trust interleaving",
    )
}

fn frequency_unknown(facts: &Facts) -> Option<Finding> {
    if facts.value("frequency.governor").is_some() || !facts.is_virtual() {
        return None;
    }
    finding(
        Low,
        "frequency.governor",
        "frequency scaling can't be seen from this virtual machine",
        "the host may change the clock without a trace in the guest",
        "look at the host's governor if you can; watch the controls (`ops.*`) in comparisons",
    )
}

fn hypervisor(facts: &Facts) -> Option<Finding> {
    let name = facts.text("machine.hypervisor").filter(|name| *name != "none")?;
    finding(
        Low,
        "machine.hypervisor",
        format!("this is a virtual machine ({name})"),
        "neighbours share caches and memory; page walks go through two tables; the topology shown may not be the real one",
        "compare runs of one boot, interleaved; do not read TLB miss costs as those of the bare CPU",
    )
}

fn smt(facts: &Facts) -> Option<Finding> {
    facts.text("topology.smt_active").filter(|active| *active == "1")?;
    finding(
        Low,
        "topology.smt_active",
        "hyper-threading (SMT) is on",
        "work on the sibling thread slows a core by a third or more",
        "keep the sibling of the measured CPU idle (cpuset or isolcpus), or boot with nosmt",
    )
}

fn hybrid(facts: &Facts) -> Option<Finding> {
    facts.value("topology.core_kinds").filter(|kinds| kinds.is_object())?;
    finding(
        Medium,
        "topology.core_kinds",
        "cores are of different kinds",
        "an unpinned loop runs on a big core in one run and on a small one in the next",
        "pin to cores of one kind with `taskset -c`",
    )
}

fn idle_states(facts: &Facts) -> Option<Finding> {
    let states = facts.value("idle.states")?.as_object()?;
    let slow = states
        .iter()
        .filter(|(_, state)| state.get("disabled").and_then(serde_json::Value::as_bool) != Some(true));
    let latency =
        |state: &serde_json::Value| state.get("exit_latency_us").and_then(serde_json::Value::as_u64);
    let (name, latency) =
        slow.filter_map(|(name, state)| Some((name, latency(state)?))).max_by_key(|(_, latency)| *latency)?;
    if latency < SLOW_IDLE_US {
        return None;
    }
    finding(
        Low,
        "idle.states",
        format!("idle state {name} takes {latency} us to leave"),
        "wake-ups across CPUs measure mostly the way out of idle",
        "read the placement rows as idle-exit cost, or hold idle states off through /dev/cpu_dma_latency",
    )
}

fn one_cpu(facts: &Facts) -> Option<Finding> {
    facts.allowed_cpus().filter(|&cpus| cpus == 1)?;
    finding(
        Medium,
        "topology.allowed",
        "only one CPU may be used",
        "coordinator, workers and everything else take turns on it; rows that need two CPUs are skipped",
        "widen the CPU mask (taskset, cpuset, container limits)",
    )
}

fn clock(facts: &Facts) -> Option<Finding> {
    let source = facts.text("clock.source")?;
    if !["hpet", "acpi_pm", "xen", "jiffies", "refined-jiffies", "pit"].contains(&source) {
        return None;
    }
    finding(
        High,
        "clock.source",
        format!("the clock source is {source}"),
        "each time stamp is a system call or a slow device access",
        "find in the kernel log why tsc was rejected; samples are made longer, but tails of short operations are lost",
    )
}

fn memory(facts: &Facts) -> Option<Finding> {
    let available = facts.number("now.memory_available_kb").filter(|&kb| kb < MEMORY_KB)?;
    finding(
        Low,
        "now.memory_available_kb",
        format!("{:.1} GiB of memory are free", available / 1024.0 / 1024.0),
        "rows with a big footprint are skipped, and reclaim may run beside the others",
        "free memory if you need those rows",
    )
}

fn no_pmu(facts: &Facts) -> Option<Finding> {
    if facts.value("pmu.core").is_some() || facts.value("pmu.devices").is_none() {
        return None;
    }
    let reason = known_reason(facts, "pmu.core");
    finding(
        Low,
        "pmu.core",
        format!("no hardware counters: {reason}"),
        "nothing is measured wrongly, but cycles and TLB misses can't be shown beside a time",
        "enable a virtual PMU for this machine, or run on bare metal when the cause of a difference matters",
    )
}

fn known_reason(facts: &Facts, path: &str) -> String {
    let found = path.split('.').try_fold(facts.0, |at, name| at.get(name));
    found.and_then(crate::reason_of).unwrap_or("unknown").to_owned()
}
