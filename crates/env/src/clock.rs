//! What the time comes from.

use serde_json::Value;

use crate::cpu::{cpuinfo_flags, invariant_tsc};
use crate::section::Section;
use crate::{Missing, Root};

const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0";

pub(crate) fn section(root: &Root) -> Value {
    let mut section = Section::default();
    section.put("source", root.text(&format!("{SOURCE}/current_clocksource")));
    section.put("available", root.text(&format!("{SOURCE}/available_clocksource")));
    let flags = cpuinfo_flags(root).map(|flags| {
        let tsc =
            ["tsc", "constant_tsc", "nonstop_tsc", "tsc_known_freq", "tsc_reliable", "tsc_adjust", "rdtscp"];
        let present = flags.split_whitespace().filter(|flag| tsc.contains(flag));
        present.collect::<Vec<_>>().join(" ")
    });
    section.put("tsc_flags", flags);
    let invariant = if root.is_host() { invariant_tsc() } else { None };
    section.put(
        "tsc_invariant",
        invariant.ok_or_else(|| Missing::because("cpuid does not say (or is not this machine's)")),
    );
    section.put("event_device", root.text("/sys/devices/system/clockevents/clockevent0/current_device"));
    section.into()
}
