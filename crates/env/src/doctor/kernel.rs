//! Rules about the kernel: how it was built, what it does in the background, who looks at it.

use super::Severity::{High, Low, Medium};
use super::{Facts, Finding, Rule, finding};

pub(super) const RULES: &[Rule] = &[
    debug_build,
    taint,
    complaints,
    not_linux,
    tracing,
    probes,
    perf_users,
    bpf,
    nmi_watchdog,
    thp,
    khugepaged,
    ksm,
    numa_balancing,
    damon,
    sched_ext,
    livepatch,
];

fn debug_build(facts: &Facts) -> Option<Finding> {
    let options = facts.value("kernel.config.debug")?.as_object()?;
    let names: Vec<&str> = options.keys().map(String::as_str).collect();
    if names.is_empty() {
        return None;
    }
    finding(
        High,
        "kernel.config.debug",
        format!("the kernel is built with debug options: {}", names.join(", ")),
        "checks in hot paths make operations up to ten times slower and shift them against each other",
        "measure a kernel built without them",
    )
}

fn taint(facts: &Facts) -> Option<Finding> {
    let flags = facts.value("kernel.taint.flags")?.as_array()?;
    let grave =
        ["oops", "warning", "soft_lockup", "machine_check", "bad_page", "forced_module", "cpu_out_of_spec"];
    let found: Vec<&str> =
        flags.iter().filter_map(|flag| flag.as_str()).filter(|flag| grave.contains(flag)).collect();
    if found.is_empty() {
        return None;
    }
    finding(
        High,
        "kernel.taint",
        format!("the kernel is tainted: {}", found.join(", ")),
        "after a warning, an oops or a hardware error, lock checking stops and locks or memory may be left behind",
        "read the kernel log, reboot, and measure before it happens again",
    )
}

fn complaints(facts: &Facts) -> Option<Finding> {
    let stalls = ["rcu_stall_count", "softlockup_count", "hardlockup_count"];
    let seen: Vec<String> = stalls
        .iter()
        .filter_map(|name| Some((name, facts.number(&format!("now.{name}")).filter(|&count| count > 0.0)?)))
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    if seen.is_empty() {
        return None;
    }
    finding(
        Medium,
        "now",
        format!("the kernel has seen stalls since boot: {}", seen.join(", ")),
        "CPUs stood still for seconds; in a virtual machine usually because the host is overcommitted",
        "look into the kernel log; move to a quieter host",
    )
}

fn not_linux(facts: &Facts) -> Option<Finding> {
    let name = facts.text("machine.sandbox").filter(|name| *name != "none")?;
    let gvisor = name == "gvisor";
    finding(
        if gvisor { High } else { Low },
        "machine.sandbox",
        format!("this is {name}"),
        if gvisor {
            "system calls are served by a user-space kernel: numbers say nothing about Linux, and /proc and /sys are imitations"
        } else {
            "the kernel is a patched one inside a small virtual machine that shares time with Windows"
        },
        "say so with every number, or measure outside",
    )
}

fn tracing(facts: &Facts) -> Option<Finding> {
    let tracer = facts.text("observers.tracer").filter(|tracer| *tracer != "nop");
    let events = facts.number("observers.trace_events").filter(|&count| count > 0.0);
    let what = match (tracer, events) {
        (Some(tracer), _) => format!("the tracer {tracer} is on"),
        (None, Some(events)) => format!("{events} trace events are on"),
        (None, None) => return None,
    };
    finding(
        High,
        "observers.tracer",
        what,
        "every traced function or event adds tens to hundreds of nanoseconds",
        "stop it (`trace-cmd reset`), if it is yours",
    )
}

fn probes(facts: &Facts) -> Option<Finding> {
    let files = ["kprobes", "kprobe_events", "uprobe_events", "patched_functions"];
    let count =
        files.iter().filter_map(|name| facts.number(&format!("observers.{name}"))).fold(0.0, f64::max);
    if count == 0.0 {
        return None;
    }
    finding(
        Medium,
        "observers.kprobes",
        format!("{count} kernel functions are probed or patched"),
        "a probed function pays for a trap or a call on every pass",
        "find out which with /sys/kernel/debug/kprobes/list and tracing/enabled_functions; stop the monitoring agent for the run",
    )
}

fn perf_users(facts: &Facts) -> Option<Finding> {
    let count = facts.number("observers.holders.perf_events").filter(|&count| count > 0.0)?;
    finding(
        Medium,
        "observers.holders",
        format!("other processes hold {count} perf events"),
        "they take hardware counters, make ours share time, and add work to each context switch",
        "stop perf, profilers and monitoring agents for the time of the run",
    )
}

fn bpf(facts: &Facts) -> Option<Finding> {
    let held = facts.number("observers.holders.bpf_objects").unwrap_or(0.0);
    let loaded = facts.number("observers.bpf_programs").unwrap_or(0.0);
    // systemd attaches a handful of device and firewall filters to control groups on any machine.
    if held == 0.0 && loaded <= 32.0 {
        return None;
    }
    finding(
        Low,
        "observers.bpf_programs",
        format!(
            "{loaded} BPF programs are loaded, {held} BPF descriptors are held by processes we may look into"
        ),
        "programs attached to system calls, the scheduler or sockets run in the timed path",
        "`bpftool prog` lists them; stop the agent that attached them",
    )
}

fn nmi_watchdog(facts: &Facts) -> Option<Finding> {
    facts.number("kernel.nmi_watchdog").filter(|&on| on == 1.0)?;
    finding(
        Low,
        "kernel.nmi_watchdog",
        "the NMI watchdog is on",
        "it keeps one hardware counter, so that groups of events may be counted part of the time only",
        "`sysctl kernel.nmi_watchdog=0` when counters are scaled",
    )
}

fn thp(facts: &Facts) -> Option<Finding> {
    facts.text("memory.thp.enabled").filter(|mode| *mode == "always")?;
    finding(
        Low,
        "memory.thp.enabled",
        "transparent huge pages are on for everything",
        "whether a buffer gets huge pages depends on free memory and alignment, so page faults and TLB misses come in two modes",
        "probes fix their own backing; for your own programs compare with `madvise` or `never`",
    )
}

fn khugepaged(facts: &Facts) -> Option<Finding> {
    if facts.number("memory.thp.khugepaged_defrag")? == 0.0 || facts.text("memory.thp.enabled")? != "always" {
        return None;
    }
    let pause = facts.number("memory.thp.khugepaged_scan_sleep_millisecs").filter(|&pause| pause < 1000.0)?;
    finding(
        Low,
        "memory.thp.khugepaged_scan_sleep_millisecs",
        format!("khugepaged scans every {pause} ms"),
        "it copies pages and changes mappings under running programs",
        "set scan_sleep_millisecs back to 10000",
    )
}

fn ksm(facts: &Facts) -> Option<Finding> {
    facts.number("memory.ksm_run").filter(|&run| run == 1.0)?;
    finding(
        Medium,
        "memory.ksm_run",
        "page merging (KSM) is on",
        "it reads and write-protects memory in the background; a later write costs a copy",
        "`echo 0 > /sys/kernel/mm/ksm/run` for the run",
    )
}

fn numa_balancing(facts: &Facts) -> Option<Finding> {
    let nodes = facts.value("topology.nodes")?.as_object()?.len();
    facts.number("topology.numa_balancing").filter(|&on| on > 0.0 && nodes > 1)?;
    finding(
        Medium,
        "topology.numa_balancing",
        "automatic NUMA balancing is on",
        "it unmaps pages to learn who uses them: extra faults, and memory that moves between nodes",
        "`sysctl kernel.numa_balancing=0` for the run, or bind with numactl",
    )
}

fn damon(facts: &Facts) -> Option<Finding> {
    let on = |field: &str| facts.text(field).is_some_and(|flag| flag == "Y");
    if !on("memory.damon_reclaim") && !on("memory.damon_stat") {
        return None;
    }
    finding(
        Low,
        "memory.damon_reclaim",
        "DAMON watches memory accesses",
        "it clears accessed bits, which the CPU must set again on the next walk",
        "switch damon_reclaim and damon_stat off for TLB measurements",
    )
}

fn sched_ext(facts: &Facts) -> Option<Finding> {
    facts.text("scheduler.sched_ext.state").filter(|state| *state == "enabled")?;
    let name = facts.text("scheduler.sched_ext.scheduler").unwrap_or("unnamed");
    finding(
        Medium,
        "scheduler.sched_ext",
        format!("a BPF scheduler runs: {name}"),
        "switches and wake-ups are its, not the kernel's own",
        "stop it unless it is what you want to measure",
    )
}

fn livepatch(facts: &Facts) -> Option<Finding> {
    let patches = facts.value("kernel.livepatches")?.as_array().filter(|patches| !patches.is_empty())?;
    finding(
        Low,
        "kernel.livepatches",
        format!("{} live patches are active", patches.len()),
        "patched functions go through a trampoline, and the release name no longer says what runs",
        "boot a kernel with the fixes built in for exact comparisons",
    )
}
