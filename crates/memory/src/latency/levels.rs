//! Cache levels in a latency curve.

use serde::Serialize;

use crate::analyse::plateau::plateaus;
use crate::curve::{Curve, Point};

/// One latency point.
#[derive(Clone, Debug, Serialize)]
pub struct LatencyPoint {
    /// Footprint, bytes.
    pub bytes: u64,
    /// Order of the lines.
    pub pattern: super::ring::Pattern,
    /// Page size asked for, bytes.
    pub page_size: u64,
    /// Median over chunks, ns per load.
    pub ns: f64,
    /// 10th percentile.
    pub p10: f64,
    /// 90th percentile.
    pub p90: f64,
}

/// A level of the hierarchy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheLevel {
    /// `L1`, `L2`, `L3`, … or `memory`.
    pub name: String,
    /// Size found: where half the step to the next level is climbed; `None` for memory and where no step follows.
    pub bytes: Option<u64>,
    /// Latency on its plateau, ns.
    pub latency_ns: f64,
    /// Size by sysfs, where described.
    pub claim_bytes: Option<u64>,
    /// Why a number is missing or doubtful.
    pub reason: Option<String>,
}

/// Finds the levels of a curve of random loads; `claims` are the caches' sizes by level from sysfs. The last plateau is
/// memory only when it lies beyond twice the last-level cache.
pub fn cache_levels(points: &[LatencyPoint], claims: &[(u32, u64)]) -> Vec<CacheLevel> {
    // Footprints in lines fit the curve's page counts.
    let curve = Curve {
        points: points
            .iter()
            .map(|p| Point {
                pages: (p.bytes / 64).min(u64::from(u32::MAX)) as u32,
                p10: p.p10,
                p50: p.ns,
                p90: p.p90,
                rounds: vec![p.p10],
                ..Point::default()
            })
            .collect(),
    };
    let mut levels = Vec::new();
    let last_level = claims.iter().map(|c| c.1).max();
    for &(level, claim) in claims {
        // The plateau of a level: footprints well inside it and well outside the one before.
        let inside = claims.iter().filter(|c| c.0 < level).map(|c| c.1).max().map_or(0, |b| b * 3 / 2);
        let range = |p: &&LatencyPoint| p.bytes >= inside && p.bytes <= claim * 3 / 4;
        let mut latencies: Vec<f64> = points.iter().filter(range).map(|p| p.p10).collect();
        latencies.sort_by(f64::total_cmp);
        if latencies.is_empty() {
            continue;
        }
        let latency_ns = latencies[latencies.len() / 2];
        let (bytes, reason) = match step_after(points, latency_ns, claim) {
            Some(bytes) => (Some(bytes), None),
            None => (None, Some("no step within twice the size sysfs states".to_owned())),
        };
        levels.push(CacheLevel {
            name: format!("L{level}"),
            bytes,
            latency_ns,
            claim_bytes: Some(claim),
            reason,
        });
    }
    if claims.is_empty() {
        // No description: whatever is flat is a level.
        for (at, plateau) in plateaus(&curve).iter().enumerate() {
            levels.push(CacheLevel {
                name: format!("L{}", at + 1),
                bytes: Some(u64::from(plateau.last) * 64),
                latency_ns: plateau.cycles,
                claim_bytes: None,
                reason: Some("sysfs describes no caches: a flat part of the curve".into()),
            });
        }
    }
    if let (Some(last_level), Some(end)) = (last_level, points.last())
        && end.bytes >= last_level * 2
    {
        let beyond: Vec<f64> = points.iter().filter(|p| p.bytes >= last_level * 2).map(|p| p.p10).collect();
        levels.push(CacheLevel {
            name: "memory".into(),
            bytes: None,
            latency_ns: crate::recording::median(&beyond),
            claim_bytes: None,
            reason: None,
        });
    }
    levels
}

/// Footprint at which the latency has left a plateau for good, between half and twice the claimed size: the largest one
/// still within a quarter of the way to the latency at twice the size.
fn step_after(points: &[LatencyPoint], plateau: f64, claim: u64) -> Option<u64> {
    let beyond = points.iter().find(|p| p.bytes >= claim * 2)?.p10;
    if beyond < plateau * 1.15 {
        return None;
    }
    let limit = plateau + (beyond - plateau) / 4.0;
    points.iter().filter(|p| p.bytes <= claim * 2 && p.p10 <= limit).map(|p| p.bytes).next_back()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::footprint::footprints;
    use crate::latency::ring::Pattern;

    #[test]
    fn three_caches_and_memory_are_read_off_a_staircase() {
        let latency = |bytes: u64| match bytes {
            b if b <= 32 << 10 => 1.3,
            b if b <= 512 << 10 => 4.0,
            b if b <= 32 << 20 => 15.0,
            _ => 110.0,
        };
        let points: Vec<LatencyPoint> = footprints(256 << 20, 4)
            .into_iter()
            .map(|bytes| {
                let ns = latency(bytes);
                LatencyPoint { bytes, pattern: Pattern::Random, page_size: 4096, ns, p10: ns, p90: ns }
            })
            .collect();
        let found = cache_levels(&points, &[(1, 32 << 10), (2, 512 << 10), (3, 32 << 20)]);
        let names: Vec<&str> = found.iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names, ["L1", "L2", "L3", "memory"]);
        assert_eq!(found[1].bytes, Some(512 << 10));
        assert_eq!(found[3].latency_ns, 110.0);
        // A guest told a cache it does not have: the size found stands beside the claim, not in its place.
        let wrong = cache_levels(&points, &[(1, 32 << 10), (2, 4 << 20)]);
        assert_eq!((wrong[1].bytes, wrong[1].claim_bytes), (Some(512 << 10), Some(4 << 20)), "{wrong:?}");
    }
}
