//! Cycles spent walking page tables, which each CPU family counts under numbers of its own.
//!
//! Source: Intel's event lists as kept in the kernel tree, tools/perf/pmu-events/arch/x86/*/virtual-memory.json
//! (`*.WALK_DURATION` up to Broadwell, `*.WALK_ACTIVE` from Skylake on: cycles with at least one walker busy; walks of
//! nested page tables are excluded on Skylake). AMD's Zen has no event for cycles of walks.

use perf_event_open_sys::bindings as sys;

use crate::event::Event;

/// Event selects and unit masks for loads, stores and instruction fetches, and the counter mask.
struct Walks {
    models: &'static [u32],
    selects: [(u64, u64); 3],
    counter_mask: u64,
}

const NAMES: [&str; 3] = ["dTLB-load-walk-cycles", "dTLB-store-walk-cycles", "iTLB-walk-cycles"];

/// Intel family 6 by model number.
const INTEL: [Walks; 5] = [
    // Sandy Bridge
    Walks { models: &[0x2a, 0x2d], selects: [(0x08, 0x04), (0x49, 0x04), (0x85, 0x04)], counter_mask: 0 },
    // Ivy Bridge
    Walks { models: &[0x3a, 0x3e], selects: [(0x08, 0x84), (0x49, 0x04), (0x85, 0x04)], counter_mask: 0 },
    // Haswell, Broadwell
    Walks {
        models: &[0x3c, 0x3f, 0x45, 0x46, 0x3d, 0x47, 0x4f, 0x56],
        selects: [(0x08, 0x10), (0x49, 0x10), (0x85, 0x10)],
        counter_mask: 0,
    },
    // Skylake to Comet Lake, Ice Lake, Tiger Lake, Rocket Lake
    Walks {
        models: &[0x4e, 0x5e, 0x55, 0x8e, 0x9e, 0xa5, 0xa6, 0x7d, 0x7e, 0x6a, 0x6c, 0x8c, 0x8d, 0xa7],
        selects: [(0x08, 0x10), (0x49, 0x10), (0x85, 0x10)],
        counter_mask: 1,
    },
    // Sapphire Rapids, Emerald Rapids
    Walks { models: &[0x8f, 0xcf], selects: [(0x12, 0x10), (0x13, 0x10), (0x11, 0x10)], counter_mask: 1 },
];

/// The page-walk events of a CPU, by `/proc/cpuinfo`'s vendor, family and model; unknown ones with their reason.
pub(crate) fn events(vendor: &str, family: u32, model: u32) -> Vec<Event> {
    let found = INTEL.iter().find(|w| vendor == "GenuineIntel" && family == 6 && w.models.contains(&model));
    NAMES
        .iter()
        .enumerate()
        .map(|(i, name)| match found {
            Some(walks) => {
                let (select, mask) = walks.selects[i];
                Event::new(*name, sys::PERF_TYPE_RAW, select | mask << 8 | walks.counter_mask << 24)
            }
            None => Event::unknown(*name, "no page-walk event known for this CPU model"),
        })
        .collect()
}
