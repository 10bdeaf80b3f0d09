//! Arm processors do not state their TLBs; their technical reference manuals do.

use super::{Claim, Kind};

/// Implementer and part of MIDR_EL1, then L1 data, L1 instruction and L2 entries with the L2's ways (Arm Technical
/// Reference Manuals: Cortex-A53 DDI0500, A72 100095, A76 100798; Neoverse N1 100616).
const TABLE: [(u64, u64, &str, Option<u32>, Option<u32>, u32, &str); 5] = [
    (0x41, 0xD03, "Cortex-A53", None, None, 512, "4-way"),
    (0x41, 0xD08, "Cortex-A72", None, None, 1024, "4-way"),
    (0x41, 0xD0B, "Cortex-A76", Some(48), Some(48), 1280, "5-way"),
    (0x41, 0xD0C, "Neoverse N1", Some(48), Some(48), 1280, "5-way"),
    (0x41, 0xD40, "Neoverse V1", Some(40), Some(48), 2048, "4-way"),
];

/// The claims of the manual of the CPU this runs on.
pub fn claims() -> Vec<Claim> {
    let midr = environment::Root::host()
        .text("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1")
        .ok()
        .and_then(|text| u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok());
    let Some(midr) = midr else { return Vec::new() };
    let Some(row) = TABLE.iter().find(|r| r.0 == midr >> 24 & 0xFF && r.1 == midr >> 4 & 0xFFF) else {
        return Vec::new();
    };
    let claim = |kind, level, entries, ways: &str| Claim {
        kind,
        level,
        page_bytes: crate::backing::page_bytes() as u64,
        entries,
        ways: ways.into(),
        source: format!("manual of the {}", row.2),
    };
    let load = row.3.map(|n| claim(Kind::Load, 1, n, "fully associative"));
    let code = row.4.map(|n| claim(Kind::Instruction, 1, n, "fully associative"));
    load.into_iter().chain(code).chain([claim(Kind::Unified, 2, row.5, row.6)]).collect()
}
