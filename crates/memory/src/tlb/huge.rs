//! Rows for huge pages, each with the test whether the hypervisor maps small pages underneath.

use crate::analyse::levels;
use crate::claim::{Claim, Kind, about};
use crate::curve::Curve;
use crate::recording::{Chain, Request};
use crate::survey::{Probe, Survey};

use super::hardware::huge_page_bytes;
use super::report::Structure;

/// Rows of the huge page sizes asked for; `small` are the rows of base pages.
pub fn huge_rows<P: Probe>(
    survey: &mut Survey<P>,
    sizes: &[u64],
    small: &[Structure],
    claims: &[Claim],
) -> Vec<Structure> {
    let mut rows = Vec::new();
    for &size in sizes {
        if size == survey.recording.page_bytes {
            continue;
        }
        rows.push(match huge_page_bytes() {
            Some(bytes) if bytes as u64 == size => transparent(survey, size, small, claims),
            _ => Structure::unresolved(
                Kind::Load,
                1,
                size,
                format!("no pages of {} MiB: none in the pool of /sys/kernel/mm/hugepages", size >> 20),
                claims,
            ),
        });
    }
    rows
}

/// Transparent huge pages, by the huge zero page: first the splinter test, then the curve.
fn transparent<P: Probe>(
    survey: &mut Survey<P>,
    size: u64,
    small: &[Structure],
    claims: &[Claim],
) -> Structure {
    let unresolved = |reason: String| Structure::unresolved(Kind::Load, 1, size, reason, claims);
    let first = small.iter().find(|s| s.kind == Kind::Load && s.level == 1);
    let Some((entries, penalty)) = first.and_then(|s| s.entries.zip(s.penalty_cycles)) else {
        return unresolved("the base page row it is compared with was not resolved".into());
    };
    // Spots in twice as many base pages as the first level holds, in an eighth of that many huge pages or fewer.
    let (few, many) = (entries / 2, entries * 2);
    let request = |pages| Request { chain: Chain::HugeSplinter, stride: 1, pages };
    survey.take(&[request(few), request(many)], 0..3);
    let curve = Curve::of(&survey.recording, Chain::HugeSplinter, 1);
    let at = |pages| curve.points.iter().find(|p| p.pages == pages).map(|p| p.p10);
    let (Some(few_cycles), Some(many_cycles)) = (at(few), at(many)) else {
        let reason = survey.refused.get(&(Chain::HugeSplinter, 1)).cloned();
        return unresolved(reason.unwrap_or_else(|| "the splinter test gave no number".into()));
    };
    if many_cycles - few_cycles > penalty / 2.0 {
        let mut row = unresolved(format!(
            "splintered: {many} spots in {} huge pages cost {many_cycles:.1} cycles, {few} spots {few_cycles:.1}; the \
             entries cover base pages",
            many.div_ceil(16)
        ));
        row.page_size_effective = Some(survey.recording.page_bytes);
        return row;
    }
    let claim = about(claims, Kind::Load, 1, size).map_or(64, |c| c.entries);
    survey.single(Chain::Huge, (claim * 4).clamp(128, 512), false);
    let found = levels(&Curve::of(&survey.recording, Chain::Huge, 1), 1);
    let cycle_ns =
        crate::recording::median(&survey.recording.batches.iter().map(|b| b.cycle_ns).collect::<Vec<_>>());
    // The offset list takes one entry of a base page where sizes share the table.
    Structure::of(Kind::Load, 1, size, &found[0], 0, cycle_ns, claims)
}
