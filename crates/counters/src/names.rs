//! The event names that `perf` and the kernel share.

use perf_event_open_sys::bindings as sys;

use crate::cache;
use crate::event::Event;

/// Software events: name, alias, number.
const SOFTWARE: [(&str, &str, u32); 11] = [
    ("cpu-clock", "", sys::PERF_COUNT_SW_CPU_CLOCK),
    ("task-clock", "", sys::PERF_COUNT_SW_TASK_CLOCK),
    ("page-faults", "faults", sys::PERF_COUNT_SW_PAGE_FAULTS),
    ("context-switches", "cs", sys::PERF_COUNT_SW_CONTEXT_SWITCHES),
    ("cpu-migrations", "migrations", sys::PERF_COUNT_SW_CPU_MIGRATIONS),
    ("minor-faults", "", sys::PERF_COUNT_SW_PAGE_FAULTS_MIN),
    ("major-faults", "", sys::PERF_COUNT_SW_PAGE_FAULTS_MAJ),
    ("alignment-faults", "", sys::PERF_COUNT_SW_ALIGNMENT_FAULTS),
    ("emulation-faults", "", sys::PERF_COUNT_SW_EMULATION_FAULTS),
    ("cgroup-switches", "", sys::PERF_COUNT_SW_CGROUP_SWITCHES),
    ("dummy", "", sys::PERF_COUNT_SW_DUMMY),
];

/// Generic hardware events.
const HARDWARE: [(&str, &str, u32); 10] = [
    ("cycles", "cpu-cycles", sys::PERF_COUNT_HW_CPU_CYCLES),
    ("instructions", "", sys::PERF_COUNT_HW_INSTRUCTIONS),
    ("cache-references", "", sys::PERF_COUNT_HW_CACHE_REFERENCES),
    ("cache-misses", "", sys::PERF_COUNT_HW_CACHE_MISSES),
    ("branches", "branch-instructions", sys::PERF_COUNT_HW_BRANCH_INSTRUCTIONS),
    ("branch-misses", "", sys::PERF_COUNT_HW_BRANCH_MISSES),
    ("bus-cycles", "", sys::PERF_COUNT_HW_BUS_CYCLES),
    ("stalled-cycles-frontend", "idle-cycles-frontend", sys::PERF_COUNT_HW_STALLED_CYCLES_FRONTEND),
    ("stalled-cycles-backend", "idle-cycles-backend", sys::PERF_COUNT_HW_STALLED_CYCLES_BACKEND),
    ("ref-cycles", "", sys::PERF_COUNT_HW_REF_CPU_CYCLES),
];

/// The event of that name among software, generic hardware, cache and raw (`r` and hexadecimal digits) events.
pub(crate) fn find(name: &str) -> Option<Event> {
    let among = |table: &[(&'static str, &'static str, u32)], kind: u32| {
        table
            .iter()
            .find(|(own, alias, _)| *own == name || (!alias.is_empty() && *alias == name))
            .map(|&(_, _, number)| Event::new(name, kind, u64::from(number)))
    };
    among(&SOFTWARE, sys::PERF_TYPE_SOFTWARE)
        .or_else(|| among(&HARDWARE, sys::PERF_TYPE_HARDWARE))
        .or_else(|| cache::config(name).map(|config| Event::new(name, sys::PERF_TYPE_HW_CACHE, config)))
        .or_else(|| raw(name).map(|config| Event::new(name, sys::PERF_TYPE_RAW, config)))
}

/// `r01c2`: a raw event of the core PMU.
fn raw(name: &str) -> Option<u64> {
    let digits = name.strip_prefix('r').filter(|digits| (1..=16).contains(&digits.len()))?;
    u64::from_str_radix(digits, 16).ok()
}

/// Every name that needs no machine: for saying what was probably meant.
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    SOFTWARE
        .iter()
        .chain(&HARDWARE)
        .flat_map(|(name, alias, _)| [*name, *alias])
        .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Attribute, Spec};

    #[test]
    fn names_and_aliases_mean_the_same_number() {
        let spec = |name: &str| find(name).unwrap().spec;
        assert_eq!(spec("faults"), spec("page-faults"));
        assert_eq!(spec("cs"), spec("context-switches"));
        assert_eq!(spec("cpu-cycles"), spec("cycles"));
        assert_eq!(spec("r1a8"), Spec::Perf(Attribute { kind: 4, config: 0x1a8, ..Attribute::default() }));
        for wrong in ["nosuch", "r", "rxyz", "r00000000000000001", ""] {
            assert_eq!(find(wrong), None, "{wrong}");
        }
    }
}
