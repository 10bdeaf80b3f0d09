//! Per-access times: each load alone between two time stamps, over memory that all is the zero page.
//!
//! A descendant of the test program Ingo Molnar posted to linux-mm in 2005 (written in 1999). Its three-number line is
//! kept; what is new: the random order is a permutation (drawing with replacement visits 63 % of the pages), the
//! threshold is the valley of the histogram instead of one cycle, and averages are also given without the 1 % that
//! interrupts lengthen.

use harness::Clock;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use crate::backing::{page_bytes, zero_pages};
use crate::kernel::{EACH_ACCESS_CLOCK, OFFSET_UNIT, time_each};
use crate::recording::quantile;

/// Passes before the one that is kept, as in the original.
const WARM_PASSES: usize = 10;

/// Fewest pages whose times are a distribution.
const FEWEST_PAGES: usize = 256;

/// Order of the accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// A random permutation of the pages.
    Random,
    /// Ascending.
    Linear,
}

/// One peak of the distribution.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mode {
    /// Ticks above the overhead.
    pub at: f64,
    /// Share of accesses nearest to it.
    pub share: f64,
    /// What it is taken to be: `hit`, `L2 hit`, `walk`, `walk, entries in L2` and so on.
    pub name: String,
}

/// The distribution of one size and order. Times are in ticks above the overhead.
#[derive(Clone, Debug, Serialize)]
pub struct Distribution {
    /// Bytes covered.
    pub bytes: u64,
    /// Order.
    pub order: Order,
    /// Smallest time of a load that hits everything, ticks.
    pub overhead: u32,
    /// Mean of these without the slowest 1 %: what averages are above where the counter is [coarse](Distribution::coarse).
    pub overhead_mean: f64,
    /// ns per tick.
    pub ns_per_tick: f64,
    /// Mean above the overhead.
    pub average: f64,
    /// Mean without the slowest 1 %.
    pub trimmed: f64,
    /// Median.
    pub median: f64,
    /// Between first-level hits and everything slower: the valley of the histogram; `None` where there is one mode only.
    pub threshold: Option<f64>,
    /// Accesses above the threshold, per cent; `None` without one.
    pub misses_pct: Option<f64>,
    /// Peaks by ascending time.
    pub modes: Vec<Mode>,
    /// Smallest steps between times, ticks.
    pub step: u32,
    /// Counts by step from 0 upwards; the last one holds everything beyond.
    pub counts: Vec<u32>,
    /// Every time of the last pass in the order taken; only kept for a dump.
    #[serde(skip)]
    pub deltas: Vec<u32>,
}

/// Steps of the counter beyond this, in ns, are more than a second-level hit and a walk add: about 2 and 4 to 10 ns.
const COARSE_NS: f64 = 3.0;

impl Distribution {
    /// Whether the counter steps by more than one access takes longer than another: then only averages tell anything.
    pub fn coarse(&self) -> bool {
        f64::from(self.step) * self.ns_per_tick > COARSE_NS
    }
}

/// What each access is compared with: times of a page visited again and again.
struct Baseline {
    overhead: u32,
    hit: Vec<u32>,
}

/// Measures one size and order. `first_pages` is the first TLB level's size, where known, used only to name modes.
pub fn distribution(clock: &Clock, bytes: u64, order: Order, seed: u64) -> Result<Distribution, String> {
    if !EACH_ACCESS_CLOCK {
        return Err(
            "per-access times can't be had: this machine's counter steps by more than one load takes".into(),
        );
    }
    let page = page_bytes();
    let pages = usize::try_from(bytes / page as u64).map_err(|_| "too large".to_owned())?;
    if pages < FEWEST_PAGES {
        return Err(format!("fewer than {FEWEST_PAGES} pages are no distribution; give a larger size"));
    }
    let mapping = zero_pages(pages, 1).map_err(|e| e.to_string())?;
    let units = page / OFFSET_UNIT;
    let mut list: Vec<u32> = (0..pages).map(|p| (p * units) as u32).collect();
    if order == Order::Random {
        list.shuffle(&mut Pcg64Mcg::seed_from_u64(seed));
    }
    let baseline = baseline(mapping.base());
    let mut deltas = vec![0u32; pages];
    for _ in 0..=WARM_PASSES {
        // SAFETY: all offsets lie in the mapping.
        unsafe { time_each(mapping.base(), &list, &mut deltas) };
    }
    Ok(describe(clock, bytes, order, &baseline, deltas))
}

/// The overhead is the usual time of a load that hits everything, by the smallest of many.
fn baseline(base: *const u8) -> Baseline {
    let list = [0u32; 1000];
    let mut hit = vec![0u32; list.len()];
    for _ in 0..3 {
        // SAFETY: the first page of the mapping is readable.
        unsafe { time_each(base, &list, &mut hit) };
    }
    let overhead = hit.iter().copied().min().unwrap_or(0);
    Baseline { overhead, hit }
}

fn describe(clock: &Clock, bytes: u64, order: Order, baseline: &Baseline, deltas: Vec<u32>) -> Distribution {
    let overhead = baseline.overhead;
    let mut net: Vec<f64> = deltas.iter().map(|&d| f64::from(d) - f64::from(overhead)).collect();
    net.sort_by(f64::total_cmp);
    let kept = &net[..net.len() - net.len() / 100];
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let step = deltas
        .iter()
        .chain(&baseline.hit)
        .fold(0, |step, &d| greatest_common_divisor(d.abs_diff(overhead), step))
        .max(1);
    let counts = counts(&net, step);
    let coarse = f64::from(step) * clock.ns_per_tick > COARSE_NS;
    let peaks = if coarse { Vec::new() } else { peaks(&counts) };
    let mut hit: Vec<f64> = baseline.hit.iter().map(|&ticks| f64::from(ticks)).collect();
    hit.sort_by(f64::total_cmp);
    let overhead_mean = mean(&hit[..hit.len() - hit.len() / 100]);
    let beyond = if coarse { overhead_mean - f64::from(overhead) } else { 0.0 };
    let modes = if coarse {
        vec![Mode { at: mean(kept) - beyond, share: 1.0, name: "hits and misses together".into() }]
    } else {
        name_modes(&counts, &peaks, step, net.len())
    };
    let threshold = valley(&counts, &peaks).map(|at| (at as f64 + 0.5) * f64::from(step));
    let misses_pct = threshold.map(|t| {
        let above = net.len() - net.partition_point(|&n| n < t);
        100.0 * above as f64 / net.len() as f64
    });
    Distribution {
        bytes,
        order,
        overhead,
        overhead_mean,
        ns_per_tick: clock.ns_per_tick,
        average: mean(&net) - beyond,
        trimmed: mean(kept) - beyond,
        median: quantile(&net, 0.5),
        threshold,
        misses_pct,
        modes,
        step,
        counts,
        deltas,
    }
}

fn greatest_common_divisor(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Most columns of a histogram.
const COLUMNS: usize = 400;

/// Counts by step; times below the overhead count as 0.
fn counts(net: &[f64], step: u32) -> Vec<u32> {
    let mut counts = vec![0u32; COLUMNS];
    for &n in net {
        let at = (n.max(0.0) / f64::from(step)).round() as usize;
        counts[at.min(COLUMNS - 1)] += 1;
    }
    let used = counts.iter().rposition(|&c| c > 0).map_or(1, |last| last + 1);
    counts.truncate(used);
    counts
}

/// Columns that are the highest within three columns either way and hold at least 1 % of all accesses.
fn peaks(counts: &[u32]) -> Vec<usize> {
    let total: u32 = counts.iter().sum();
    let inner = counts.len().min(COLUMNS - 1);
    let mut found: Vec<usize> = Vec::new();
    for at in 0..inner {
        let (from, to) = (at.saturating_sub(3), (at + 4).min(inner));
        let around = &counts[from..to];
        let highest = around.iter().copied().max().unwrap_or(0);
        let first = counts[from..at].iter().all(|&c| c < counts[at]);
        if counts[at] == highest && first && u64::from(counts[at]) * 100 >= u64::from(total) {
            found.push(at);
        }
    }
    found
}

/// The emptiest column between the first two peaks.
fn valley(counts: &[u32], peaks: &[usize]) -> Option<usize> {
    let (&first, &second) = (peaks.first()?, peaks.get(1)?);
    (first..second).min_by_key(|&at| counts[at])
}

/// Names peaks by their order: the loads of a distribution go through the same levels as the curve does.
fn name_modes(counts: &[u32], peaks: &[usize], step: u32, total: usize) -> Vec<Mode> {
    peaks
        .iter()
        .enumerate()
        .map(|(i, &at)| {
            let from = if i == 0 { 0 } else { (peaks[i - 1] + at).div_ceil(2) };
            let to = peaks.get(i + 1).map_or(counts.len(), |next| (at + next).div_ceil(2));
            let share = counts[from..to].iter().sum::<u32>() as f64 / total.max(1) as f64;
            Mode { at: at as f64 * f64::from(step), share, name: String::new() }
        })
        .collect()
}

/// Names the modes of a distribution by what the curve says a second-level hit and a walk cost, in ticks.
pub fn name(modes: &mut [Mode], second_level: Option<f64>, walk: Option<f64>) {
    for mode in modes.iter_mut() {
        mode.name = match (second_level, walk) {
            (Some(second), _) if mode.at < second / 2.0 => "hit".into(),
            (Some(second), Some(walk)) if mode.at < second + walk / 2.0 => "L2 hit".into(),
            (Some(second), Some(walk)) if mode.at < second + walk * 2.5 => "walk".into(),
            (Some(_), Some(_)) => "walk, entries in a far cache or memory".into(),
            _ if mode.at < 4.0 => "hit".into(),
            _ => "miss".into(),
        };
    }
}

/// What a second-level hit and a walk add to a first-level hit, in ticks, from a short look at the chains; `None` where
/// the difference is not clear.
pub fn level_ticks(clock: &Clock, seed: u64) -> (Option<f64>, Option<f64>) {
    let mut hardware = crate::tlb::Hardware::new(*clock, None, seed, None);
    let own_lines = hardware.own_lines;
    let mut survey = crate::survey::Survey::new(&mut hardware, page_bytes() as u64, own_lines, seed);
    survey.loads(crate::survey::MOST_PAGES);
    let curve = crate::curve::Curve::loads(&survey.recording, 1);
    let cycles: Vec<f64> = survey.recording.batches.iter().map(|b| b.cycle_ns).collect();
    let ticks = crate::recording::median(&cycles) / clock.ns_per_tick;
    let found = crate::analyse::levels(&curve, 2);
    let penalty = |at: usize| found.get(at).and_then(|l| l.penalty_cycles).map(|c| c * ticks);
    (penalty(0), penalty(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: &[(u32, usize)]) -> Distribution {
        let clock = Clock::calibrate(None);
        let deltas = times.iter().flat_map(|&(t, n)| std::iter::repeat_n(t, n)).collect();
        describe(&clock, 1 << 24, Order::Random, &Baseline { overhead: 36, hit: vec![36, 38] }, deltas)
    }

    #[test]
    fn three_modes_and_the_valley_between_hits_and_misses() {
        let found = of(&[(36, 500), (38, 60), (44, 300), (46, 40), (60, 90), (62, 5), (90_036, 5)]);
        assert_eq!(found.modes.iter().map(|m| m.at).collect::<Vec<_>>(), [0.0, 8.0, 24.0]);
        assert_eq!(found.step, 2);
        let threshold = found.threshold.unwrap();
        assert!((2.0..8.0).contains(&threshold), "{threshold}");
        assert!((found.misses_pct.unwrap() - 44.0).abs() < 0.01, "{:?}", found.misses_pct);
        assert!(found.average > 400.0 && found.trimmed < 20.0, "{} {}", found.average, found.trimmed);
    }

    /// A counter in steps of 26 ticks of 0.4 ns: half of the hits take no step, three quarters of the others one or more.
    #[test]
    fn a_coarse_counter_gives_averages_only() {
        let mut clock = Clock::calibrate(None);
        clock.ns_per_tick = 0.4;
        let deltas = [0, 26, 26, 52].repeat(100);
        let baseline = Baseline { overhead: 0, hit: [0, 26].repeat(50) };
        let found = describe(&clock, 1 << 24, Order::Random, &baseline, deltas);
        assert!(found.coarse() && found.modes.len() == 1 && found.threshold.is_none());
        assert!((found.overhead_mean - 13.0).abs() < 0.5 && (found.average - 13.0).abs() < 0.5, "{found:?}");
    }

    #[test]
    fn one_mode_has_no_threshold() {
        let found = of(&[(60, 900), (62, 100)]);
        assert_eq!((found.threshold, found.misses_pct), (None, None));
        assert_eq!(found.median, 24.0);
    }
}
