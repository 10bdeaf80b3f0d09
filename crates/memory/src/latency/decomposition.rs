//! How much of a memory latency is cache and how much translation.
//!
//! Four chains of equally many lines: A random over all lines, on base pages; B page-local (all lines of a page before
//! the next); C as A on huge pages, verified; Z one zero-page load per page, random: translation alone, a lower bound,
//! since its page table entries do not compete with data. Translation = A - B; what huge pages would gain = A - C.

use serde::Serialize;

use crate::recording::{Chain, Request, quantile};
use crate::sampler::Sampler;

use super::measure::latency_of;
use super::ring::{LINE, Pages, Pattern, Ring};

/// One footprint's parts, ns per load.
#[derive(Clone, Debug, Serialize)]
pub struct Decomposition {
    /// Footprint.
    pub bytes: u64,
    /// A.
    pub random_ns: Option<f64>,
    /// B.
    pub page_local_ns: Option<f64>,
    /// C; `None` without verified huge pages.
    pub huge_ns: Option<f64>,
    /// Z, less a first-level hit.
    pub zero_ns: Option<f64>,
    /// A - B.
    pub translation_ns: Option<f64>,
    /// A - C.
    pub gain_ns: Option<f64>,
    /// Bytes that huge entries really map in C.
    pub huge_bytes: Option<u64>,
    /// Why a part is missing.
    pub reason: Option<String>,
}

/// Measures one footprint.
pub fn decompose(sampler: &mut Sampler, bytes: u64, last_level: u64, seed: u64) -> Decomposition {
    let mut reasons = Vec::new();
    let mut part = |pattern, pages| -> (Option<f64>, Option<u64>) {
        match Ring::new(bytes as usize, pattern, pages, seed) {
            Ok(mut ring) => {
                let huge = ring.backed().ok().map(|b| b.huge);
                if pages == Pages::Transparent && huge.is_none_or(|h| h < bytes * 9 / 10) {
                    let got = huge.map_or("unknown".into(), |h| format!("{} MiB", h >> 20));
                    reasons.push(format!("huge pages: {got} of {} MiB are huge", bytes >> 20));
                    return (None, huge);
                }
                ring.settle(last_level);
                (Some(latency_of(sampler, &mut ring).1), huge)
            }
            Err(reason) => {
                reasons.push(reason);
                (None, None)
            }
        }
    };
    let (random_ns, _) = part(Pattern::Random, Pages::Base);
    let (page_local_ns, _) = part(Pattern::PageLocal, Pages::Base);
    let (huge_ns, huge_bytes) = part(Pattern::Random, Pages::Transparent);
    let zero_ns = zero(sampler, bytes, seed).map_err(|reason| reasons.push(reason)).ok();
    let difference = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a - b);
    Decomposition {
        bytes,
        random_ns,
        page_local_ns,
        huge_ns,
        zero_ns,
        translation_ns: difference(random_ns, page_local_ns),
        gain_ns: difference(random_ns, huge_ns),
        huge_bytes,
        reason: (!reasons.is_empty()).then(|| reasons.join("; ")),
    }
}

/// The zero chain over as many pages, less the same chain over 16 pages repeated per line (what reaching a line by many
/// addresses costs without any miss).
fn zero(sampler: &mut Sampler, bytes: u64, seed: u64) -> Result<f64, String> {
    let mut hardware = crate::tlb::Hardware::new(sampler.clock, None, seed, None);
    let page = crate::backing::page_bytes() as u64;
    let pages = u32::try_from(bytes / page).map_err(|_| "too many pages".to_owned())?;
    let mut at = |pages| -> Result<f64, String> {
        use crate::survey::Probe;
        let request = Request { chain: Chain::LoadAliased, stride: 1, pages };
        hardware.prepare(request.chain, 1, pages)?;
        let mut times: Vec<f64> =
            hardware.batch(request, 0)?.chunk_ns.iter().map(|&ns| f64::from(ns)).collect();
        times.sort_by(f64::total_cmp);
        Ok(quantile(&times, 0.1))
    };
    // Twice as many pages as lines: every line has several addresses, and most tables still hold them.
    let base = at(2 * (page as usize / LINE).min(64) as u32)?;
    Ok((at(pages)? - base).max(0.0))
}
