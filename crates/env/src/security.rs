//! What each system call of this process pays for: filters, modules, audit, speculation control, rights.

use serde_json::{Map, Value, json};

use crate::root::keyed;
use crate::section::{Section, unknown};
use crate::{Missing, Root};

/// Capabilities that decide what can be measured, with their bit (`linux/capability.h`).
const CAPABILITIES: [(&str, u32); 8] = [
    ("net_admin", 12),
    ("ipc_lock", 14),
    ("sys_ptrace", 19),
    ("sys_admin", 21),
    ("sys_nice", 23),
    ("sys_resource", 24),
    ("perfmon", 38),
    ("bpf", 39),
];

pub(crate) fn section(root: &Root) -> Value {
    let mut section = Section::default();
    let status = root.contents("/proc/self/status");
    let field = |key: &str| -> Result<String, Missing> {
        let status = status.as_ref().map_err(|missing| missing.clone())?;
        let found = keyed(status, key).map(str::to_owned);
        found.ok_or_else(|| Missing::because(format!("no {key} in /proc/self/status")))
    };
    section.put("user_is_root", field("Uid").map(|ids| ids.split_whitespace().nth(1) == Some("0")));
    section.put("capabilities", field("CapEff").and_then(|mask| capabilities(&mask)));
    section.put("seccomp", field("Seccomp").map(|mode| seccomp_mode(&mode)));
    section
        .put("seccomp_filters", field("Seccomp_filters").and_then(|count| number(&count, "Seccomp_filters")));
    section.put("no_new_privs", field("NoNewPrivs").map(|flag| flag == "1"));
    section.put("speculation_store_bypass", field("Speculation_Store_Bypass"));
    section.put("speculation_indirect_branch", field("SpeculationIndirectBranch"));
    section.put("lsm", root.text("/sys/kernel/security/lsm"));
    section.put("lsm_profile", root.text("/proc/self/attr/current"));
    section.put("selinux_enforcing", root.number("/sys/fs/selinux/enforce"));
    section.set("audit", audit(root));
    section.numbers(
        root,
        &[
            ("unprivileged_bpf_disabled", "/proc/sys/kernel/unprivileged_bpf_disabled"),
            ("bpf_jit", "/proc/sys/net/core/bpf_jit_enable"),
            ("io_uring_disabled", "/proc/sys/kernel/io_uring_disabled"),
        ],
    );
    section.into()
}

fn number(text: &str, what: &str) -> Result<i64, Missing> {
    text.parse().map_err(|_| Missing::because(format!("{what} is not a number")))
}

fn seccomp_mode(mode: &str) -> Value {
    match mode {
        "0" => "off".into(),
        "1" => "strict".into(),
        "2" => "filter".into(),
        other => other.into(),
    }
}

fn capabilities(mask: &str) -> Result<Value, Missing> {
    let mask = u64::from_str_radix(mask, 16)
        .map_err(|_| Missing::because("CapEff of /proc/self/status is not hexadecimal"))?;
    let held: Map<String, Value> =
        CAPABILITIES.iter().map(|(name, bit)| ((*name).to_owned(), (mask >> bit & 1 == 1).into())).collect();
    Ok(held.into())
}

/// Whether system calls may be audited: the boot parameter, and whether an audit daemon holds the stream.
/// The kernel's own switch needs a netlink socket and CAP_AUDIT_CONTROL, which an observer should not use.
fn audit(root: &Root) -> Value {
    let line = root.contents("/proc/cmdline").unwrap_or_default();
    let parameter =
        line.split_whitespace().find_map(|word| word.strip_prefix("audit=")).unwrap_or("not given");
    let daemon = ["/run/auditd.pid", "/var/run/auditd.pid"].iter().any(|path| root.exists(path));
    // Since 2.6.23 every task has a login id file when the kernel can audit.
    if !root.exists("/proc/self/loginuid") {
        return unknown("no /proc/self/loginuid: this kernel was built without auditing, or hides it");
    }
    json!({"boot_parameter": parameter, "daemon": daemon})
}
