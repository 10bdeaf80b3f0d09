//! Who else is watching or patching the kernel: ftrace, kprobes, BPF, perf.

use serde_json::{Value, json};

use crate::section::Section;
use crate::{Missing, Root};

/// File descriptors looked at before the search ends; reading a link costs about a microsecond.
const MAX_DESCRIPTORS: usize = 4000;

const ALLOCATIONS: &str = "/proc/vmallocinfo";

/// Some 5000 allocations, 30 ms.
const MAX_ALLOCATION_BYTES: u64 = 512 << 10;

pub(crate) fn section(root: &Root) -> Value {
    let mut section = Section::default();
    section.put("tracer", tracing(root, "current_tracer", |text| Ok(text.trim().into())));
    section.put("trace_events", tracing(root, "set_event", |text| Ok(lines(text))));
    section.put("tracing_on", tracing(root, "tracing_on", |text| Ok((text.trim() == "1").into())));
    section.put("kprobe_events", tracing(root, "kprobe_events", |text| Ok(lines(text))));
    section.put("uprobe_events", tracing(root, "uprobe_events", |text| Ok(lines(text))));
    section.put("patched_functions", tracing(root, "enabled_functions", |text| Ok(lines(text))));
    section.put("kprobes", root.contents("/sys/kernel/debug/kprobes/list").map(|text| lines(&text)));
    section.put("bpf_programs", bpf_programs(root));
    section.put("bpf_stats", root.number("/proc/sys/kernel/bpf_stats_enabled"));
    section.put("holders", holders(root));
    section.into()
}

fn lines(text: &str) -> Value {
    text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).count().into()
}

/// A file of tracefs, at its own mount point or below debugfs.
fn tracing(root: &Root, name: &str, read: fn(&str) -> Result<Value, Missing>) -> Result<Value, Missing> {
    let text = root.contents(&format!("/sys/kernel/tracing/{name}"));
    let text =
        text.or_else(|first| root.contents(&format!("/sys/kernel/debug/tracing/{name}")).map_err(|_| first));
    text.and_then(|text| read(&text))
}

/// Loaded BPF programs, counted by their allocations. The kernel looks up a symbol for each line (some 6 us), so a
/// list that fills the limit is given up.
fn bpf_programs(root: &Root) -> Result<usize, Missing> {
    let allocations = root.start(ALLOCATIONS, MAX_ALLOCATION_BYTES)?;
    if allocations.len() as u64 == MAX_ALLOCATION_BYTES {
        return Err(Missing::because(format!("{ALLOCATIONS} is too long to read in passing")));
    }
    let programs = memchr::memmem::find_iter(&allocations, b"bpf_prog_alloc");
    Ok(programs.count())
}

/// Descriptors of perf events and BPF objects held by processes we may look into.
fn holders(root: &Root) -> Result<Value, Missing> {
    let processes = root.list("/proc")?;
    let (mut perf, mut bpf, mut seen, mut hidden) = (0u32, 0u32, 0usize, 0u32);
    'processes: for process in processes.iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
    {
        let base = format!("/proc/{process}/fd");
        let Ok(descriptors) = root.list(&base) else {
            hidden += 1;
            continue;
        };
        for descriptor in descriptors {
            seen += 1;
            if seen > MAX_DESCRIPTORS {
                break 'processes;
            }
            match root.link(&format!("{base}/{descriptor}")).as_deref() {
                Ok("anon_inode:[perf_event]") => perf += 1,
                Ok(target) if target.starts_with("anon_inode:bpf") => bpf += 1,
                _ => {}
            }
        }
    }
    Ok(
        json!({"perf_events": perf, "bpf_objects": bpf, "all_looked_at": hidden == 0 && seen <= MAX_DESCRIPTORS}),
    )
}
