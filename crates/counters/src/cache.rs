//! Cache and TLB events as perf spells them: `L1-dcache-load-misses`, `dTLB-store-misses`, `LLC-loads`.

/// Caches by `PERF_COUNT_HW_CACHE_*`.
const CACHES: [&str; 7] = ["L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"];

/// Operations (`PERF_COUNT_HW_CACHE_OP_*`): accesses are counted in the plural, misses after the singular.
const OPERATIONS: [(&str, &str); 3] = [("loads", "load"), ("stores", "store"), ("prefetches", "prefetch")];

/// The configuration of a cache event: cache, operation << 8, result << 16 (access 0, miss 1).
pub(crate) fn config(name: &str) -> Option<u64> {
    let (cache, rest) = CACHES
        .iter()
        .zip(0u64..)
        .find_map(|(cache, n)| Some((n, name.strip_prefix(cache)?.strip_prefix('-')?)))?;
    OPERATIONS.iter().zip(0u64..).find_map(|((plural, singular), operation)| {
        let miss = match rest {
            _ if rest == *plural => 0,
            _ if rest.strip_prefix(*singular) == Some("-misses") => 1,
            _ => return None,
        };
        Some(cache | operation << 8 | miss << 16)
    })
}

#[cfg(test)]
mod tests {
    use super::config;

    #[test]
    fn cache_names_follow_perf() {
        assert_eq!(config("L1-dcache-loads"), Some(0));
        assert_eq!(config("dTLB-load-misses"), Some(0x1_0003));
        assert_eq!(config("dTLB-store-misses"), Some(0x1_0103));
        assert_eq!(config("iTLB-load-misses"), Some(0x1_0004));
        assert_eq!(config("LLC-loads"), Some(2));
        assert_eq!(config("node-prefetches"), Some(0x206));
        for wrong in ["dTLB", "dTLB-", "dTLB-misses", "L2-loads", "dTLB-load-missesx"] {
            assert_eq!(config(wrong), None, "{wrong}");
        }
    }
}
