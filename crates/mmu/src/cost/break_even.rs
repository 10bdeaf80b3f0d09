//! When does pinning kernel entries pay?
//!
//! With p of N entries pinned, the kernel misses they cover are gone, user pages have N - p entries, every miss
//! runs a slightly longer handler, and clearing the TLB takes a loop. Pinning wins if and only if
//!
//! `K c_k > dU c_u + M d + F L`
//!
//! where K = kernel misses removed, dU = user misses added, M = misses left, d = extra handler cycles, F = clears,
//! L = loop minus single-instruction clear.

use super::model::pin_extra;
use crate::machine::WalkKind;
use crate::sim::Outcome;

/// Which side of the inequality is larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Fewer cycles, whatever the cost of a miss within the range tried.
    Wins,
    /// More cycles, likewise.
    Loses,
    /// Less than 0.3 % of the baseline's miss cycles apart.
    Tie,
    /// The sign hangs on a number that was not measured.
    Unknown,
}

/// The inequality with this stream's numbers, and its solved forms.
#[derive(Clone, Debug, PartialEq)]
pub struct BreakEven {
    /// Entries pinned.
    pub pinned: usize,
    /// Entries in all.
    pub entries: u32,
    /// Kernel misses removed (negative: added).
    pub kernel_removed: i64,
    /// User misses added (negative: removed).
    pub user_added: i64,
    /// Cycles gained (negative: lost).
    pub gain: f64,
    /// Smallest and largest gain with miss costs halved to half again as much.
    pub gain_range: (f64, f64),
    /// Kernel share of the baseline's misses.
    pub kernel_share: f64,
    /// Kernel share at which both sides are equal; `None` when pinning wins at any.
    pub share_needed: Option<f64>,
    /// Cycles per miss at which both sides are equal; `None` when there is none.
    pub miss_cycles_needed: Option<f64>,
    /// Clears of the whole TLB at which both sides are equal; `None` when it loses without any.
    pub clears_allowed: Option<f64>,
    /// Clears in the stream.
    pub clears: u64,
    /// What follows.
    pub verdict: Verdict,
}

/// Shares of the baseline's miss cycles that count as no difference.
const TIE: f64 = 0.003;
/// Factors on the miss cost that the verdict must survive.
const SENSITIVITY: [f64; 3] = [0.5, 1.0, 1.5];

/// Compares a pinned configuration with its baseline on the same stream.
///
/// # Errors
/// The number that the machine file lacks, in words.
pub fn break_even(base: &Outcome, pinned: &Outcome) -> Result<BreakEven, String> {
    let machine = &pinned.machine;
    let (c_user, c_kernel) = miss_costs(pinned)?;
    let removed = base.walks.of_owner(true) as i64 - pinned.walks.of_owner(true) as i64;
    let added = pinned.walks.of_owner(false) as i64 - base.walks.of_owner(false) as i64;
    let left = pinned.walks.total() as f64;
    let longer = pin_extra(machine) - pin_extra(&base.machine);
    let flush = machine.flush.unwrap_or_default();
    let slower = flush.loop_cycles.unwrap_or(0.0) - flush.mm.unwrap_or(0.0);
    let fixed = left * longer + pinned.flushes as f64 * slower;
    let gain = |factor: f64| factor * (removed as f64 * c_kernel - added as f64 * c_user) - fixed;
    let gains = SENSITIVITY.map(gain);
    let total = base.walks.total() as f64;
    let base_cycles =
        base.walks.of_owner(false) as f64 * c_user + base.walks.of_owner(true) as f64 * c_kernel;
    let net = removed as f64 * c_kernel - added as f64 * c_user;
    let verdict = if gains.iter().all(|g| g.abs() < TIE * base_cycles) {
        Verdict::Tie
    } else if gains.iter().all(|&g| g > 0.0) {
        Verdict::Wins
    } else if gains.iter().all(|&g| g < 0.0) {
        Verdict::Loses
    } else {
        Verdict::Unknown
    };
    let last = machine.tlbs.iter().map(|t| t.level).max().unwrap_or(1);
    let spec = machine.tlbs.iter().find(|t| t.level == last);
    Ok(BreakEven {
        pinned: spec.map_or(0, |t| t.pinned.len()),
        entries: spec.map_or(0, |t| t.entries),
        kernel_removed: removed,
        user_added: added,
        gain: gains[1],
        gain_range: gains.iter().fold((f64::MAX, f64::MIN), |(a, b), &g| (a.min(g), b.max(g))),
        kernel_share: if total > 0.0 { base.walks.of_owner(true) as f64 / total } else { 0.0 },
        share_needed: share_needed(added as f64 * c_user + fixed, c_kernel, total),
        miss_cycles_needed: (net > 0.0).then(|| fixed / net * c_user),
        clears_allowed: (slower > 0.0 && net > left * longer).then(|| (net - left * longer) / slower),
        clears: pinned.flushes,
        verdict,
    })
}

fn share_needed(price: f64, c_kernel: f64, total: f64) -> Option<f64> {
    (price > 0.0 && total > 0.0).then(|| price / c_kernel / total)
}

fn miss_costs(outcome: &Outcome) -> Result<(f64, f64), String> {
    let machine = &outcome.machine;
    match machine.walk.map(|w| w.kind) {
        Some(WalkKind::Software) => {
            let handler = machine.handler.unwrap_or_default();
            let user = handler.user_4k.ok_or("handler.user_4k is not known")?;
            Ok((user, handler.kernel_4k.ok_or("handler.kernel_4k is not known")?))
        }
        Some(_) if machine.walk.is_some_and(|w| w.cycles.is_some()) => {
            let each = machine.walk.and_then(|w| w.cycles).unwrap_or_default();
            Ok((each, each))
        }
        Some(_) => {
            let each = machine.walk.and_then(|w| w.refs_cycles).ok_or("walk.refs_cycles is not known")?;
            let references = outcome.walk_refs.ok_or("the references per walk are not known")? as f64;
            let walks = outcome.walks.total().max(1) as f64;
            Ok((each * references / walks, each * references / walks))
        }
        None => Err("the machine file has no [walk]".into()),
    }
}
