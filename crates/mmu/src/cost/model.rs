//! Cycles by the machine's cost model.

use crate::machine::{Handler, Machine, WalkKind};
use crate::sim::Outcome;

/// Factors for sensitivity runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// On the cost of a miss.
    pub miss: f64,
    /// Cycles per instruction instead of the machine's.
    pub cpi: Option<f64>,
}

impl Default for Scale {
    fn default() -> Self {
        Scale { miss: 1.0, cpi: None }
    }
}

/// Cycles of address translation beyond first-level hits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cycles {
    /// Misses of the last level.
    pub walks: f64,
    /// Hits of later levels.
    pub later_hits: f64,
    /// Invalidations.
    pub flushes: f64,
    /// Share of all cycles, when the machine has a CPI and the trace its instructions.
    pub share: Option<f64>,
}

impl Cycles {
    /// All of them.
    pub fn total(&self) -> f64 {
        self.walks + self.later_hits + self.flushes
    }
}

/// Costs an outcome. `thinned` traces have no instruction count and so no share.
///
/// # Errors
/// The number that the machine file lacks, in words.
pub fn cycles(outcome: &Outcome, scale: Scale, thinned: bool) -> Result<Cycles, String> {
    let machine = &outcome.machine;
    let walks = walk_cycles(outcome)? * scale.miss;
    let mut later_hits = 0.0;
    for (tlb, spec) in outcome.tlbs.iter().zip(&machine.tlbs).filter(|(t, _)| t.level > 1) {
        let hits = (tlb.lookups - tlb.misses).saturating_sub(first_hits(outcome, tlb.level));
        if hits > 0 {
            let cost = spec.hit_cycles.ok_or_else(|| format!("hit_cycles of {} is not known", spec.name))?;
            later_hits += hits as f64 * cost;
        }
    }
    let flushes = flush_cycles(outcome)?;
    let sum = walks + later_hits + flushes;
    let cpi = scale.cpi.or(machine.cpi).filter(|_| !thinned && outcome.instructions > 0);
    let share = cpi.map(|cpi| sum / (sum + cpi * outcome.instructions as f64));
    Ok(Cycles { walks, later_hits, flushes, share })
}

/// Hits at a later level that no lookup at the first level went before, because the machine has none there for that side:
/// what they cost beyond a first-level hit is not known, so they are not charged. Exact for the last level.
fn first_hits(outcome: &Outcome, level: u32) -> u64 {
    let side = |data: bool| {
        let classes = if data { 1..3 } else { 0..1 };
        let serving = outcome.machine.tlbs.iter().filter(|t| classes.clone().any(|c| t.serves.class(c)));
        let lookups: u64 = outcome.lookups[classes.clone()].iter().flatten().sum();
        match serving.map(|t| t.level).min() {
            Some(first) if first == level => lookups - outcome.walks.of_side(data).min(lookups),
            _ => 0,
        }
    };
    side(false) + side(true)
}

fn walk_cycles(outcome: &Outcome) -> Result<f64, String> {
    if outcome.walks.total() == 0 {
        return Ok(0.0);
    }
    let machine = &outcome.machine;
    match machine.walk.map(|w| w.kind) {
        Some(WalkKind::Software) => {
            let handler = machine.handler.ok_or("the machine file has no [handler] cycles")?;
            software_cycles(outcome, &handler)
        }
        Some(_) if machine.walk.is_some_and(|w| w.cycles.is_some()) => {
            let each = machine.walk.and_then(|w| w.cycles).unwrap_or_default();
            Ok(outcome.walks.total() as f64 * each)
        }
        Some(_) => {
            let each = machine.walk.and_then(|w| w.refs_cycles).ok_or("walk.refs_cycles is not known")?;
            let references = outcome.walk_refs.ok_or("the references per walk are not known")?;
            Ok(references as f64 * each)
        }
        None => Err("the machine file has no [walk]".into()),
    }
}

fn software_cycles(outcome: &Outcome, handler: &Handler) -> Result<f64, String> {
    let walks = &outcome.walks;
    let kernel_large = walks.large[1];
    let parts = [
        (walks.of_owner(false), handler.user_4k, "handler.user_4k"),
        (walks.of_owner(true) - kernel_large, handler.kernel_4k, "handler.kernel_4k"),
        (kernel_large, handler.kernel_large, "handler.kernel_large"),
    ];
    let mut sum = 0.0;
    for (n, each, name) in parts.into_iter().filter(|p| p.0 > 0) {
        sum += n as f64 * each.ok_or_else(|| format!("{name} is not known"))?;
    }
    let extra = handler.cold_extra.unwrap_or(0.0) + pin_extra(&outcome.machine);
    Ok(sum + walks.total() as f64 * extra)
}

/// Cycles that pinned entries add to every miss.
pub(super) fn pin_extra(machine: &Machine) -> f64 {
    if machine.pins() { machine.handler.and_then(|h| h.pin_extra).unwrap_or(0.0) } else { 0.0 }
}

fn flush_cycles(outcome: &Outcome) -> Result<f64, String> {
    // A machine file without flush costs says nothing of them; then they count as free.
    let Some(flush) = outcome.machine.flush else { return Ok(0.0) };
    let whole = if outcome.machine.pins() { flush.loop_cycles } else { flush.mm };
    let cost = |n: u64, each: Option<f64>, name: &str| match (n, each) {
        (0, _) => Ok(0.0),
        (_, Some(each)) => Ok(n as f64 * each),
        _ => Err(format!("{name} is not known")),
    };
    Ok(cost(outcome.flushes, whole, "flush.mm or flush.loop_cycles")?
        + cost(outcome.page_flushes, flush.page, "flush.page")?)
}
