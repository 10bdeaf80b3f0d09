//! How much memory may be used, and which footprints are measured.

use environment::{Options, Root, Topology, collect, known};

/// What bounds the footprints.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Last-level cache, bytes, and where the figure is from.
    pub last_level: u64,
    /// Most bytes one buffer may have.
    pub most: u64,
    /// What capped it, for the reader; `None` when nothing did.
    pub capped_by: Option<String>,
}

/// Largest last-level cache figure believed for default footprints: guests are told the whole socket's.
const TARGET_FACTOR: u64 = 4;
/// A buffer uses at most this share of the memory that is free.
const SHARE: u64 = 3;

/// Reads limits. `asked` is the user's own bound.
pub fn limits(root: &Root, topology: &Topology, asked: Option<u64>) -> Limits {
    let last_level = (1..=4).rev().find_map(|level| topology.cache_bytes(level)).unwrap_or(32 << 20);
    let wanted = asked.unwrap_or((last_level * TARGET_FACTOR).max(64 << 20));
    let environment = collect(root, &Options::default());
    let available = root
        .keyed("/proc/meminfo", "MemAvailable")
        .ok()
        .and_then(|text| text.split_ascii_whitespace().next()?.parse::<u64>().ok())
        .map(|kb| kb << 10);
    let group = known(&environment, "cgroup.memory_max_bytes").and_then(serde_json::Value::as_u64);
    let mut limits = Limits { last_level, most: wanted, capped_by: None };
    let bounds = [(available, "available memory"), (group, "the control group's memory limit")];
    for (bytes, what) in bounds {
        if let Some(bytes) = bytes.filter(|b| b / SHARE < limits.most) {
            limits.most = (bytes / SHARE) >> 20 << 20;
            limits.capped_by = Some(format!(
                "footprints end at {} MiB instead of {}: {what} is {} MiB",
                limits.most >> 20,
                wanted >> 20,
                bytes >> 20
            ));
        }
    }
    if limits.most < last_level * 2 {
        let note = format!(
            "{} MiB do not leave the last-level cache of {} MiB behind: there is no memory latency in this report",
            limits.most >> 20,
            last_level >> 20
        );
        limits.capped_by = Some(match limits.capped_by.take() {
            Some(first) => format!("{first}; {note}"),
            None => note,
        });
    }
    limits
}

/// Footprints from 4 KiB to the limit: `per_octave` points per doubling.
pub fn footprints(most: u64, per_octave: u32) -> Vec<u64> {
    let page = crate::backing::page_bytes() as u64;
    let mut sizes: Vec<u64> = (0..)
        .map(|i| (4096.0 * 2f64.powf(f64::from(i) / f64::from(per_octave))) as u64)
        .map(|bytes| bytes.next_multiple_of(if bytes < 8 * page { 64 } else { page }))
        .take_while(|&bytes| bytes <= most)
        .collect();
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn footprints_rise_to_the_limit() {
        let sizes = footprints(64 << 20, 4);
        assert!(sizes.windows(2).all(|w| w[0] < w[1]));
        assert_eq!((sizes[0], *sizes.last().unwrap()), (4096, 64 << 20));
        assert!(footprints(1000, 4).is_empty());
    }

    #[test]
    fn a_cap_is_never_silent() {
        let root = Root::host();
        let topology = Topology::read(&root);
        let limits = limits(&root, &topology, Some(1 << 20));
        assert_eq!(limits.most, 1 << 20);
        let note = limits.capped_by.unwrap_or_default();
        assert_eq!(note.contains("last-level cache"), limits.last_level > 1 << 19, "{note}");
    }
}
