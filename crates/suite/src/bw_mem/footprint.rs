//! How much memory a bandwidth loop works on, derived from the caches.

use environment::Topology;

use super::kernel::STEP;

/// Where the data is meant to come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    L1,
    L2,
    L3,
    Memory,
}

/// Least footprint beyond the caches, and the one used where no cache is described.
const LEAST: u64 = 64 << 20;
const UNDESCRIBED: u64 = 256 << 20;
/// Above this, twice the last-level cache must do.
const COMFORTABLE: u64 = 512 << 20;
/// No loop works on less than a step of each of three arrays.
const SMALLEST: u64 = 3 * STEP as u64;

/// Sizes of the data caches as one CPU sees them, nearest first.
#[derive(Clone, Debug)]
pub(super) struct Caches {
    sizes: Vec<u64>,
    /// Last-level caches of that size in the machine.
    instances: u64,
}

impl Caches {
    /// Of this machine.
    pub(super) fn of(topology: &Topology) -> Caches {
        Caches {
            sizes: (1..=3).map_while(|level| topology.cache_bytes(level)).collect(),
            instances: topology.llc_groups().len().max(1) as u64,
        }
    }

    /// Bytes for `level` with one thread, at most `most`; the error is why there are none.
    pub(super) fn footprint(&self, level: Level, most: u64) -> Result<u64, String> {
        let size = |index: usize| {
            self.sizes.get(index).copied().ok_or_else(|| format!("no L{} cache is described", index + 1))
        };
        let wanted = match level {
            Level::L1 => size(0)? / 2,
            Level::L2 => size(1)? / 2,
            Level::L3 => {
                let (nearer, own) = (size(1)?, size(2)?);
                // Well beyond L2, but within the part of a shared L3 that one CPU can count on.
                let bytes = (own / 8).min(8 * nearer).max(2 * nearer);
                if bytes > own / 2 {
                    return Err(format!(
                        "L3 ({own} bytes) is too small beside L2 ({nearer} bytes) to tell apart"
                    ));
                }
                bytes
            }
            Level::Memory => return self.beyond(1, most),
        };
        if wanted < SMALLEST || wanted > most {
            return Err(format!("a footprint of {wanted} bytes can't be used here"));
        }
        Ok(wanted)
    }

    /// Bytes that no last-level cache holds even when all CPUs share the work.
    pub(super) fn footprint_of_all(&self, most: u64) -> Result<u64, String> {
        self.beyond(self.instances, most)
    }

    fn beyond(&self, instances: u64, most: u64) -> Result<u64, String> {
        let Some(&last) = self.sizes.last() else {
            return Ok(UNDESCRIBED.min(most));
        };
        let cached = last.saturating_mul(instances);
        let wanted = cached.saturating_mul(4).clamp(LEAST, COMFORTABLE.max(cached.saturating_mul(2)));
        if wanted <= most {
            return Ok(wanted);
        }
        if most >= cached.saturating_mul(2).max(LEAST) {
            return Ok(most);
        }
        Err(format!(
            "needs {} MiB to exceed the last-level cache, {} MiB may be used here",
            cached.saturating_mul(2).max(LEAST) >> 20,
            most >> 20
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caches(sizes: &[u64]) -> Caches {
        Caches { sizes: sizes.to_vec(), instances: 4 }
    }

    #[test]
    fn footprints_follow_the_caches_in_64_bits() {
        let desktop = caches(&[32 << 10, 512 << 10, 32 << 20]);
        assert_eq!(desktop.footprint(Level::L1, 1 << 40), Ok(16 << 10));
        assert_eq!(desktop.footprint(Level::L2, 1 << 40), Ok(256 << 10));
        assert_eq!(desktop.footprint(Level::L3, 1 << 40), Ok(4 << 20));
        assert_eq!(desktop.footprint(Level::Memory, 1 << 40), Ok(128 << 20));
        assert_eq!(desktop.footprint_of_all(1 << 40), Ok(512 << 20));
        let server = caches(&[48 << 10, 2 << 20, 480 << 20]);
        assert_eq!(server.footprint(Level::Memory, 1 << 40), Ok(960 << 20));
        for gib in [2u64, 4, 16] {
            let huge = caches(&[64 << 10, 2 << 20, gib << 30]);
            assert_eq!(huge.footprint(Level::Memory, 1 << 40), Ok(gib << 31));
            assert_eq!(huge.footprint_of_all(1 << 40), Ok(gib << 33));
        }
    }

    #[test]
    fn what_can_not_be_told_apart_or_does_not_fit_is_refused_with_the_reason() {
        assert!(caches(&[32 << 10]).footprint(Level::L3, 1 << 30).is_err());
        assert!(caches(&[32 << 10, 1 << 20, 2 << 20]).footprint(Level::L3, 1 << 30).is_err());
        let small = caches(&[32 << 10, 512 << 10, 32 << 20]).footprint(Level::Memory, 48 << 20);
        assert!(small.is_err_and(|reason| reason.contains("48 MiB may be used")));
        assert_eq!(caches(&[]).footprint(Level::Memory, 1 << 40), Ok(256 << 20));
    }
}
