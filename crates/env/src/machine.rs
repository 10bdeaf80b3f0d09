//! The machine as a product, and what stands between us and it: hypervisor, container, sandbox.

use serde_json::{Value, json};

use crate::cpu::cpuinfo_flags;
use crate::memory::kb_to_gib;
use crate::mounts::{Mount, holding};
use crate::section::{Section, unknown};
use crate::{Missing, Root};

pub(crate) fn section(root: &Root, mounts: &[Mount]) -> Value {
    let mut section = Section::default();
    section.set("architecture", architecture(root));
    for (name, file) in [
        ("vendor", "sys_vendor"),
        ("product", "product_name"),
        ("board", "board_name"),
        ("firmware_vendor", "bios_vendor"),
        ("firmware_version", "bios_version"),
        ("firmware_date", "bios_date"),
    ] {
        section.put(name, root.text(&format!("/sys/class/dmi/id/{file}")));
    }
    section.put("device_tree_model", root.text("/sys/firmware/devicetree/base/model"));
    section.put("memory_gib", memory_gib(root));
    section.set("hypervisor", hypervisor(root));
    section.set("container", container(root, mounts));
    section.set("sandbox", sandbox(root));
    section.into()
}

/// The kernel's word for the architecture; this program's own where the file is missing (kernels before 6.1).
fn architecture(root: &Root) -> Value {
    match root.text("/proc/sys/kernel/arch") {
        Ok(arch) => arch.into(),
        Err(_) if root.is_host() => std::env::consts::ARCH.into(),
        Err(missing) => unknown(&missing.reason),
    }
}

fn memory_gib(root: &Root) -> Result<f64, Missing> {
    let total = root.keyed("/proc/meminfo", "MemTotal")?;
    let kb = total.split_whitespace().next().and_then(|kb| kb.parse().ok());
    kb.map(kb_to_gib).ok_or_else(|| Missing::because("MemTotal of /proc/meminfo is not a number"))
}

/// Name of the hypervisor, `"none"` when signs say bare metal, unknown when nothing can be asked.
fn hypervisor(root: &Root) -> Value {
    if let Some(name) = root.is_host().then(crate::cpu::hypervisor_by_cpuid).flatten() {
        return name.into();
    }
    for path in ["/sys/hypervisor/type", "/sys/firmware/devicetree/base/hypervisor/compatible"] {
        if let Ok(name) = root.text(path) {
            return name.into();
        }
    }
    let product = ["sys_vendor", "product_name"]
        .map(|file| root.text(&format!("/sys/class/dmi/id/{file}")).unwrap_or_default());
    let product = product.join(" ");
    let makers = [
        ("QEMU", "qemu"),
        ("KVM", "kvm"),
        ("Amazon EC2", "nitro"),
        ("Google Compute Engine", "kvm"),
        ("VMware", "vmware"),
        ("VirtualBox", "virtualbox"),
        ("Xen", "xen"),
        ("Microsoft Corporation Virtual Machine", "hyperv"),
        ("Parallels", "parallels"),
        ("Bochs", "bochs"),
        ("Apple Virtualization", "apple"),
    ];
    // EC2 bare-metal types carry the same vendor but say so in the product name.
    if let Some((_, name)) =
        makers.iter().find(|(sign, _)| product.contains(sign) && !product.contains(".metal"))
    {
        return (*name).into();
    }
    match cpuinfo_flags(root) {
        Ok(flags) if flags.split_whitespace().any(|flag| flag == "hypervisor") => {
            "present, does not give its name".into()
        }
        Ok(flags) if flags.split_whitespace().any(|flag| flag == "fpu") => "none".into(),
        _ if !product.trim().is_empty() => "none".into(),
        _ => unknown("no sign of one, and nothing that would rule one out"),
    }
}

/// The container we are in (`"none"` when there is no sign), with the signs.
fn container(root: &Root, mounts: &[Mount]) -> Value {
    let mut signs: Vec<(&str, String)> = Vec::new();
    if root.exists("/.dockerenv") {
        signs.push(("docker", "/.dockerenv".to_owned()));
    }
    if root.exists("/run/.containerenv") {
        signs.push(("podman", "/run/.containerenv".to_owned()));
    }
    if let Ok(name) = root.text("/run/systemd/container") {
        signs.push(("container", format!("/run/systemd/container says {name}")));
    }
    let cgroup = root.contents("/proc/self/cgroup").unwrap_or_default();
    for (word, name) in [
        ("kubepods", "kubernetes"),
        ("docker", "docker"),
        ("libpod", "podman"),
        ("lxc", "lxc"),
        ("containerd", "containerd"),
    ] {
        if cgroup.contains(word) {
            signs.push((name, format!("{word} in /proc/self/cgroup")));
        }
    }
    let variables = root.contents("/proc/self/environ").unwrap_or_default();
    if variables.split('\0').any(|variable| variable.starts_with("KUBERNETES_SERVICE_HOST=")) {
        signs.push(("kubernetes", "KUBERNETES_SERVICE_HOST is set".to_owned()));
    }
    if holding(mounts, std::path::Path::new("/")).is_some_and(|mount| mount.kind == "overlay") {
        signs.push(("container", "the root file system is an overlay".to_owned()));
    }
    let kind = signs.iter().map(|(kind, _)| *kind).find(|&kind| kind != "container");
    let kind = kind.unwrap_or(if signs.is_empty() { "none" } else { "unnamed" });
    let signs: Vec<String> = signs.into_iter().map(|(_, sign)| sign).collect();
    json!({"kind": kind, "signs": signs})
}

/// A kernel that is not Linux behind Linux's interface, as far as it can be told.
fn sandbox(root: &Root) -> Value {
    let version = root.contents("/proc/version").unwrap_or_default();
    let release = root.contents("/proc/sys/kernel/osrelease").unwrap_or_default();
    // gVisor's /proc/version is a constant of its source (pkg/sentry/kernel/version.go); newer ones name it.
    if version.contains("#1 SMP Sun Jan 10 15:06:54 PST 2016") || release.contains("gvisor") {
        return "gvisor".into();
    }
    if release.to_lowercase().contains("microsoft") {
        return "wsl".into();
    }
    if version.is_empty() && release.is_empty() {
        return unknown("no /proc/version");
    }
    "none".into()
}
