//! The CPU itself: model, stepping, microcode, features.

use serde_json::Value;

use crate::section::Section;
use crate::{Missing, Root};

pub(crate) fn section(root: &Root) -> Value {
    let mut section = Section::default();
    let cpuinfo = root.contents("/proc/cpuinfo");
    let first = cpuinfo.as_deref().map(first_cpu).map_err(Clone::clone);
    let field = |names: &[&str]| -> Result<String, Missing> {
        let text = first.as_ref().map_err(|missing| (*missing).clone())?;
        let found =
            names.iter().find_map(|name| crate::root::keyed(text, name)).filter(|value| !value.is_empty());
        found
            .map(str::to_owned)
            .ok_or_else(|| Missing::because(format!("no \"{}\" in /proc/cpuinfo", names[0])))
    };
    // x86, Arm, RISC-V, POWER, s390 name the same things differently.
    section.put("vendor", field(&["vendor_id", "CPU implementer", "mvendorid"]));
    section.put("model_name", field(&["model name", "Model Name", "cpu", "uarch", "Processor", "isa"]));
    section.put("family", field(&["cpu family", "CPU architecture"]));
    section.put("model", field(&["model", "CPU part", "marchid"]));
    section.put("stepping", field(&["stepping", "CPU revision", "mimpid", "revision"]));
    section.put("variant", field(&["CPU variant"]));
    section.put("microcode", field(&["microcode"]));
    section.put("address_sizes", field(&["address sizes"]));
    section.put("flags", cpuinfo_flags(root).map(|flags| sorted_words(&flags)));
    section.put("bugs", field(&["bugs"]).map(|bugs| sorted_words(&bugs)));
    section.into()
}

/// The feature flags of the first CPU, as the kernel prints them.
pub(crate) fn cpuinfo_flags(root: &Root) -> Result<String, Missing> {
    let cpuinfo = root.contents("/proc/cpuinfo")?;
    let first = first_cpu(&cpuinfo);
    let flags =
        ["flags", "Features", "features", "isa"].iter().find_map(|name| crate::root::keyed(first, name));
    flags.map(str::to_owned).ok_or_else(|| Missing::because("no flags in /proc/cpuinfo"))
}

/// The block of the first CPU: x86 and Arm repeat everything for each.
fn first_cpu(cpuinfo: &str) -> &str {
    cpuinfo.split("\n\n").next().unwrap_or(cpuinfo)
}

fn sorted_words(text: &str) -> String {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    words.sort_unstable();
    words.join(" ")
}

/// Facts only the `cpuid` instruction tells. Each execution traps in a virtual machine, so it is asked little.
#[cfg(target_arch = "x86_64")]
mod cpuid {
    use raw_cpuid::{CpuId, CpuIdReaderNative, Hypervisor};

    fn cpuid() -> CpuId<CpuIdReaderNative> {
        CpuId::new()
    }

    /// Name of the hypervisor by its signature, `None` when the CPU doesn't claim one.
    pub(crate) fn hypervisor_by_cpuid() -> Option<String> {
        let cpuid = cpuid();
        Some(match cpuid.get_hypervisor_info()?.identify() {
            Hypervisor::Xen => "xen".to_owned(),
            Hypervisor::VMware => "vmware".to_owned(),
            Hypervisor::HyperV => "hyperv".to_owned(),
            Hypervisor::KVM => "kvm".to_owned(),
            Hypervisor::QEMU => "qemu".to_owned(),
            Hypervisor::Bhyve => "bhyve".to_owned(),
            Hypervisor::QNX => "qnx".to_owned(),
            Hypervisor::ACRN => "acrn".to_owned(),
            Hypervisor::Unknown(b, c, d) => signature([b, c, d]),
        })
    }

    fn signature(registers: [u32; 3]) -> String {
        let bytes = registers.iter().flat_map(|register| register.to_le_bytes());
        let name: String = bytes.filter(u8::is_ascii_graphic).map(char::from).collect();
        if name.is_empty() { "present, does not give its name".to_owned() } else { name }
    }

    /// General counters per CPU and width in bits: Intel leaf 0xA, AMD's fixed 4 or 6 of 48 bits. `None` when neither speaks.
    pub(crate) fn counters_by_cpuid() -> Option<(u32, u32)> {
        let cpuid = cpuid();
        if let Some(info) = cpuid.get_performance_monitoring_info()
            && info.version_id() > 0
        {
            return Some((u32::from(info.number_of_counters()), u32::from(info.counter_bit_width())));
        }
        if let Some(info) = cpuid.get_extended_performance_monitoring_and_debug()
            && info.has_perf_mon_v2()
        {
            return Some((u32::from(info.num_perf_ctr_core()), 48));
        }
        let extended = cpuid.get_extended_processor_and_feature_identifiers()?;
        extended.has_perf_cntr_extensions().then_some((6, 48))
    }

    /// True when the time-stamp counter runs at a constant rate in all states.
    pub(crate) fn invariant_tsc() -> Option<bool> {
        cpuid().get_advanced_power_mgmt_info().map(|info| info.has_invariant_tsc())
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod cpuid {
    pub(crate) fn hypervisor_by_cpuid() -> Option<String> {
        None
    }

    pub(crate) fn counters_by_cpuid() -> Option<(u32, u32)> {
        None
    }

    pub(crate) fn invariant_tsc() -> Option<bool> {
        None
    }
}

pub(crate) use cpuid::{counters_by_cpuid, hypervisor_by_cpuid, invariant_tsc};
