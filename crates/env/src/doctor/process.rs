//! Rules about this process: limits, filters, containers, how the program was built.

use super::Severity::{High, Low, Medium};
use super::{Facts, Finding, Rule, finding};

/// The suite's largest file-descriptor set and some room.
const OPEN_FILES: f64 = 600.0;

pub(super) const RULES: &[Rule] = &[
    own_build,
    quota,
    throttled,
    seccomp,
    speculation,
    container,
    preload,
    tunables,
    no_layout_randomization,
    priority,
    open_files,
    audit,
    file_system,
];

fn own_build(facts: &Facts) -> Option<Finding> {
    let level = facts.text("tool.opt_level").filter(|level| !["2", "3"].contains(level))?;
    finding(
        High,
        "tool.opt_level",
        format!("tlbench itself was built with optimisation level {level}"),
        "its own loops and overheads are larger than those of a release build",
        "build with `cargo build --release`",
    )
}

fn quota(facts: &Facts) -> Option<Finding> {
    let cpus = facts.number("cgroup.cpu_quota_cpus")?;
    finding(
        High,
        "cgroup.cpu_quota_cpus",
        format!("a control group limits this process to the time of {cpus} CPUs"),
        "when the quota of a period is used up, everything stops for up to 100 ms",
        "run outside the limit (`docker run` without --cpus, a pod without a CPU limit)",
    )
}

fn throttled(facts: &Facts) -> Option<Finding> {
    let times = facts.number("now.throttled_by_quota.times").filter(|&times| times > 0.0)?;
    finding(
        Medium,
        "now.throttled_by_quota",
        format!("this control group was stopped {times} times because its quota was used up"),
        "the stops fall into samples and look like a slow kernel",
        "raise the quota",
    )
}

fn seccomp(facts: &Facts) -> Option<Finding> {
    facts.text("security.seccomp").filter(|mode| *mode != "off")?;
    let filters = facts.number("security.seccomp_filters");
    let filters = filters.map_or_else(|| "filters".to_owned(), |count| format!("{count} filter(s)"));
    finding(
        Medium,
        "security.seccomp",
        format!("system calls of this process pass seccomp {filters}"),
        "every call pays for the filter, and old kernels also switch speculation off for the task",
        "compare only with runs under the same filter; `docker run --security-opt seccomp=unconfined` shows the cost",
    )
}

fn speculation(facts: &Facts) -> Option<Finding> {
    let bypass =
        facts.text("security.speculation_store_bypass").filter(|state| state.contains("force mitigated"));
    let branch =
        facts.text("security.speculation_indirect_branch").filter(|state| state.contains("force disabled"));
    let state = bypass.or(branch)?;
    finding(
        Medium,
        "security.speculation_store_bypass",
        format!("speculation is restricted for this task: {state}"),
        "memory and indirect-branch speculation is off in user space too, for this process and its children",
        "start from a shell without that restriction (often a seccomp filter of a container)",
    )
}

fn container(facts: &Facts) -> Option<Finding> {
    let kind = facts.text("machine.container.kind").filter(|kind| *kind != "none")?;
    finding(
        Low,
        "machine.container",
        format!("this is a container ({kind})"),
        "filters, limits and an overlay file system come with it; the host's other containers can't be seen",
        "run the same binary on the host to see what the container adds",
    )
}

fn preload(facts: &Facts) -> Option<Finding> {
    facts.flag("process.preloaded_library").filter(|&set| set)?;
    finding(
        Medium,
        "process.preloaded_library",
        "LD_PRELOAD is set",
        "programs started by process benchmarks load one more library, which may replace the allocator or wrap calls",
        "unset LD_PRELOAD",
    )
}

fn tunables(facts: &Facts) -> Option<Finding> {
    let set = facts.value("process.tunables")?.as_object().filter(|set| !set.is_empty())?;
    let names: Vec<&str> = set.keys().map(String::as_str).collect();
    finding(
        Low,
        "process.tunables",
        format!("variables change the C library: {}", names.join(", ")),
        "allocation and start-up of child programs differ from the default",
        "unset them unless they are what you compare",
    )
}

fn no_layout_randomization(facts: &Facts) -> Option<Finding> {
    let system = facts.number("memory.aslr").is_some_and(|mode| mode == 0.0);
    let task = facts.flag("process.personality.layout_randomized") == Some(false);
    if !system && !task {
        return None;
    }
    finding(
        Medium,
        "memory.aslr",
        "address-space layout randomisation is off",
        "every process gets the same layout, so a lucky or unlucky one shifts all samples of a run alike and looks like an effect",
        "leave it on: tlbench averages over layouts (`setarch -R` and randomize_va_space=0 switch it off)",
    )
}

fn priority(facts: &Facts) -> Option<Finding> {
    let nice = facts.number("process.nice")?;
    let policy = facts.text("process.policy")?;
    if nice == 0.0 && policy == "other" {
        return None;
    }
    finding(
        Low,
        "process.policy",
        format!("scheduling policy {policy}, nice {nice}"),
        "switches and wake-ups cost and wait differently from those of an ordinary process",
        "start from an ordinary shell",
    )
}

fn open_files(facts: &Facts) -> Option<Finding> {
    let files = facts.number("process.limits.open_files").filter(|&files| files < OPEN_FILES)?;
    finding(
        Low,
        "process.limits.open_files",
        format!("only {files} files may be open"),
        "select, poll and epoll rows with 500 descriptors are skipped",
        "`ulimit -n 1024`",
    )
}

fn audit(facts: &Facts) -> Option<Finding> {
    let daemon = facts.flag("security.audit.daemon").unwrap_or(false);
    if !daemon && facts.text("security.audit.boot_parameter") != Some("1") {
        return None;
    }
    finding(
        Medium,
        "security.audit",
        "the audit system is on",
        "with any rule loaded, each system call takes the slow entry path",
        "`auditctl -s` shows the state; compare only with runs that have it too",
    )
}

fn file_system(facts: &Facts) -> Option<Finding> {
    let kind = facts.text("filesystem.type")?;
    let network =
        ["nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "fuse", "ceph", "fuseblk"].contains(&kind);
    if !network && kind != "overlay" && kind != "tmpfs" {
        return None;
    }
    finding(
        Low,
        "filesystem.type",
        format!("the test directory is on {kind}"),
        if network {
            "file rows measure a server or a host, not this kernel's disk path"
        } else {
            "file rows never reach a disk"
        },
        "name another directory with TMPDIR if that is not what you want",
    )
}
