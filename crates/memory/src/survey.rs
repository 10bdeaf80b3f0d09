//! What to measure next: a grid, then the steps found on it more finely, then page strides.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use crate::analyse::knee::{Step, departure};
use crate::analyse::level::{grid, grid_plateaus, levels};
use crate::curve::{Curve, Point};
use crate::recording::{Batch, Chain, Recording, Request};

/// Something that measures points: the hardware, or a simulated table.
pub trait Probe {
    /// Makes a fresh mapping for up to `most` pages of a chain and stride. The error says why it can't be had.
    fn prepare(&mut self, chain: Chain, stride: u32, most: u32) -> Result<(), String>;

    /// One batch of a point in the mapping last prepared, in a fresh permutation.
    fn batch(&mut self, request: Request, round: u32) -> Result<Batch, String>;

    /// Whether a chain over so many pages costs no more than `limit` cycles per access at some moment of a short while.
    fn holds(&mut self, _pages: u32, _limit: f64) -> bool {
        false
    }

    /// From now on, runs a chain over so many pages beside every batch: see [`crate::recording::Look`]; it is quiet up to
    /// `limit` cycles per access. False when it can't.
    fn watch(&mut self, _pages: u32, _limit: f64) -> bool {
        false
    }

    /// True when the user wants to stop.
    fn interrupted(&self) -> bool {
        false
    }
}

/// Rounds of every point at least, and of those that differ between rounds at most.
const ROUNDS: u32 = 3;
const MOST_ROUNDS: u32 = 6;
/// Rounds of the points around a step: they are many and short, so that some of them fall into quiet moments.
const STEP_ROUNDS: u32 = 9;
/// Most rounds of a step's points, with those of [`Survey::again`].
const MOST_STEP_ROUNDS: u32 = 90;
/// A point is settled after so many quiet rounds: two for each of two groups that must agree. Unwatched, when its two best rounds
/// are this near, as a share: a quiet moment was met twice.
const QUIET_ROUNDS: usize = 4;
/// Quiet rounds of the points of a grid.
const GRID_ROUNDS: usize = 2;
/// Rounds of [`Survey::again`] after which the grid is asked anew where the steps are.
const REFINED: u32 = 4;
const SETTLED: f64 = 0.03;
/// So many points of a step may remain unsettled: one in this many.
const UNSETTLED: usize = 8;

/// How far the rounds of a point may be apart, as a share, before more are taken.
const SPREAD: f64 = 0.02;

/// Pages of the sentinel chain: of the first level's entries, or of the page count half up its step while only the grid
/// is known, which is 0.92 to 1.09 times the entries.
const WATCHED_OF_ENTRIES: f64 = 0.93;
const WATCHED_OF_HALF: f64 = 0.85;
/// Steps in which more pages are tried; the sentinel stays one step below what was held.
const CLIMB: f64 = 1.03;
/// Rounds of [`Survey::again`] before which more pages are tried: a neighbour may stay for tenths of a second.
const CLIMBS: u32 = 8;

/// Largest page count of the load grid: far enough to see the plateau beyond 4096 entries (AMD Zen 5), which random
/// victims and page table entries that leave the L1 data cache push out.
pub const MOST_PAGES: u32 = 65_536;

/// Takes points into a recording.
pub struct Survey<'p, P: Probe> {
    probe: &'p mut P,
    /// What was measured so far.
    pub recording: Recording,
    /// Points that could not be had, with the reason.
    pub refused: BTreeMap<(Chain, u32), String>,
    rng: Pcg64Mcg,
    /// Curves taken so far, with their most pages.
    curves: Vec<(Chain, u32)>,
    /// Their points, and how many quiet rounds they need.
    parts: Vec<(Vec<Request>, usize)>,
    /// The next round of the points around steps.
    next: u32,
    /// Pages of the sentinel that runs beside every batch; 0 while there is none.
    watching: u32,
}

impl<'p, P: Probe> Survey<'p, P> {
    /// An empty survey. `own_lines` bounds the pages of [`Chain::Load`].
    pub fn new(probe: &'p mut P, page_bytes: u64, own_lines: u32, seed: u64) -> Self {
        let recording = Recording { page_bytes, own_lines, batches: Vec::new() };
        Survey {
            probe,
            recording,
            refused: BTreeMap::new(),
            rng: Pcg64Mcg::seed_from_u64(seed),
            curves: Vec::new(),
            parts: Vec::new(),
            next: STEP_ROUNDS,
            watching: 0,
        }
    }

    /// The probe, to measure something else with.
    pub fn probe(&mut self) -> &mut P {
        self.probe
    }

    /// Measures `requests` in shuffled order in `rounds`; a chain and stride that can't be had is not tried again.
    pub fn take(&mut self, requests: &[Request], rounds: std::ops::Range<u32>) {
        for round in rounds {
            let mut order = requests.to_vec();
            order.shuffle(&mut self.rng);
            // One mapping at a time: by chain and stride, shuffled within.
            order.sort_by_key(|r| (r.chain, r.stride));
            for group in order.chunk_by(|a, b| (a.chain, a.stride) == (b.chain, b.stride)) {
                if self.probe.interrupted() {
                    return;
                }
                let key = (group[0].chain, group[0].stride);
                if !self.refused.contains_key(&key)
                    && let Err(reason) = self.group(group, round)
                {
                    self.refused.insert(key, reason);
                }
            }
        }
    }

    /// Requests of one chain and stride in one mapping.
    fn group(&mut self, requests: &[Request], round: u32) -> Result<(), String> {
        let most = requests.iter().map(|r| r.pages).max().unwrap_or(0);
        self.probe.prepare(requests[0].chain, requests[0].stride, most)?;
        for &request in requests {
            let batch = self.probe.batch(request, round)?;
            self.recording.batches.push(batch);
        }
        Ok(())
    }

    /// Takes more rounds of the points that were not quiet twice or, unwatched, whose rounds are far apart.
    fn take_more(&mut self, requests: &[Request]) {
        for round in ROUNDS..MOST_ROUNDS {
            let watching = self.watching > 0;
            let wanted = self.select(requests, |p| if watching { p.quiet < GRID_ROUNDS } else { wide(p) });
            // Once a third of the points is wide, the machine is noisy and more rounds only take time.
            let limit = if round < 5 { requests.len() } else { requests.len() / 3 };
            if wanted.is_empty() || wanted.len() > limit || self.probe.interrupted() {
                return;
            }
            self.take(&wanted, round..round + 1);
        }
    }

    /// Those of the requests whose points so far are as `wanted` says.
    fn select(&self, requests: &[Request], wanted: impl Fn(&Point) -> bool) -> Vec<Request> {
        let mut chains: Vec<(Chain, u32)> = requests.iter().map(|r| (r.chain, r.stride)).collect();
        chains.sort_unstable();
        chains.dedup();
        let mut found = Vec::new();
        for (chain, stride) in chains {
            for point in Curve::of(&self.recording, chain, stride).points {
                let request = Request { chain, stride, pages: point.pages };
                if requests.contains(&request) && wanted(&point) {
                    found.push(request);
                }
            }
        }
        found
    }

    /// Has a chain that the first level just holds run beside every batch from now on, once a first level is seen.
    fn watch(&mut self) {
        let curve = Curve::loads(&self.recording, 1);
        let entries = levels(&curve, 1)[0].entries.map(f64::from);
        let (coarse, plateaus) = grid_plateaus(&curve);
        let half =
            plateaus.windows(2).next().and_then(|p| Step::between(&coarse, &p[0], &p[1])).map(|s| s.half);
        let pages = entries.map(|e| WATCHED_OF_ENTRIES * e).or(half.map(|h| WATCHED_OF_HALF * h));
        let Some((pages, limit)) = pages.zip(self.recording.quiet_limit()) else { return };
        // What was seen so far may be what a neighbour left: the table holds as much as it ever holds.
        let mut held = pages.max(f64::from(self.watching));
        while self.probe.holds((held * CLIMB) as u32 + 1, limit) {
            held = (held * CLIMB).floor() + 1.0;
        }
        let watched = (held / CLIMB) as u32;
        if watched > self.watching && self.probe.watch(watched, limit) {
            self.watching = watched;
        }
    }

    /// The load side: the grid, both steps finely.
    pub fn loads(&mut self, most_pages: u32) {
        // First as far as it takes to know what to watch.
        let first = self.load_requests(&grid(4, self.recording.own_lines.min(most_pages)), 1, false);
        self.take(&first, 0..ROUNDS);
        self.watch();
        let requests = self.load_requests(&grid(4, most_pages), 1, true);
        let watching = self.watching > 0;
        let rest: Vec<Request> =
            requests.iter().copied().filter(|r| watching || !first.contains(r)).collect();
        self.take(&rest, 0..ROUNDS);
        self.take_more(&requests);
        self.parts.push((requests, GRID_ROUNDS));
        self.curves.push((Chain::Load, most_pages));
        self.refine(Chain::Load, most_pages);
    }

    /// Takes the points around the steps of a curve, as far as they were not yet; false when they all were.
    fn refine(&mut self, chain: Chain, most: u32) -> bool {
        let parts = self.parts.len();
        for mut requests in self.around(chain, most) {
            let known =
                |r: &Request| self.parts.iter().any(|(of, need)| *need > GRID_ROUNDS && of.contains(r));
            requests.retain(|request| !known(request));
            if !requests.is_empty() {
                self.take(&requests, 0..STEP_ROUNDS);
                self.parts.push((requests, QUIET_ROUNDS));
            }
        }
        self.parts.len() > parts
    }

    /// The page counts around the steps that the grid of a curve shows: two steps of loads, one of the others.
    fn around(&self, chain: Chain, most: u32) -> Vec<Vec<Request>> {
        let loads = chain == Chain::Load;
        let curve =
            if loads { Curve::loads(&self.recording, 1) } else { Curve::of(&self.recording, chain, 1) };
        let (coarse, plateaus) = grid_plateaus(&curve);
        let steps = plateaus.windows(2).take(if loads { 2 } else { 1 });
        let steps = steps.enumerate().filter_map(|(at, p)| Some((at, Step::between(&coarse, &p[0], &p[1])?)));
        let pages = steps.map(|(at, step)| fine(step.half, at, most));
        let of = |pages: &[u32]| pages.iter().map(|&pages| Request { chain, stride: 1, pages }).collect();
        pages.map(|pages| if loads { self.load_requests(&pages, 1, false) } else { of(&pages) }).collect()
    }

    /// One more round of those points around the steps found so far that are not settled; false when none was needed or
    /// enough were taken. What disturbs (a neighbour on the same core) comes and goes over tenths of a second: call
    /// this between other measurements.
    pub fn again(&mut self) -> bool {
        if self.next >= MOST_STEP_ROUNDS || self.probe.interrupted() {
            return false;
        }
        let round = self.next;
        let climbing = self.watching > 0 && round < STEP_ROUNDS + CLIMBS;
        if climbing {
            self.watch();
        }
        let mut taken = climbing;
        for (requests, needed) in self.parts.clone() {
            let watching = self.watching > 0;
            let unsettled = self.select(&requests, |point| !settled(point, watching, needed));
            if unsettled.len() * UNSETTLED > requests.len() {
                self.take(&unsettled, round..round + 1);
                taken = true;
            }
        }
        if taken == climbing || round.is_multiple_of(REFINED) {
            // What the grid showed so far may have been what a neighbour left.
            for (chain, most) in self.curves.clone() {
                taken |= self.refine(chain, most);
            }
        }
        self.next += 1;
        taken
    }

    /// One chain on its grid from 4 to `most` pages, its first step finely; with `again` as often as it takes, else in a few
    /// rounds. `Chain::Instruction` brings its control on the grid.
    pub fn single(&mut self, chain: Chain, most: u32, again: bool) {
        let control = (chain == Chain::Instruction).then_some(Chain::InstructionPacked);
        let requests = |pages: &[u32]| -> Vec<Request> {
            let of = |chain| move |&pages: &u32| Request { chain, stride: 1, pages };
            pages.iter().map(of(chain)).chain(control.iter().flat_map(|&c| pages.iter().map(of(c)))).collect()
        };
        let coarse = requests(&grid(4, most));
        self.take(&coarse, 0..ROUNDS);
        if self.watching > 0 {
            self.take_more(&coarse);
        }
        if again {
            self.parts.push((coarse, GRID_ROUNDS));
            self.curves.push((chain, most));
            self.refine(chain, most);
            return;
        }
        for requests in self.around(chain, most) {
            self.take(&requests, 0..ROUNDS);
        }
    }

    /// Capacities at strides 2, 4, 8 … of the table that is full at `step` with `entries` entries; measured until the
    /// capacity has stayed the same twice after falling, or `widest` is reached.
    pub fn strides(&mut self, step: &Step, entries: u32, threshold: f64, widest: u32) {
        let mut last = f64::from(entries);
        let mut same = 0;
        let mut halved = false;
        let mut stride = 1;
        while stride < widest && same < if halved { 3 } else { 16 } && !self.probe.interrupted() {
            stride *= 2;
            // Halved or the same: coarse points tell, and every count where the ways themselves are counted.
            let mut pages = between(0.3 * last, 1.3 * last + 4.0);
            let mut kept = 0;
            pages.retain(|&page| {
                let far = page <= 20 || f64::from(page) > 1.04 * f64::from(kept);
                if far {
                    kept = page;
                }
                far
            });
            let requests = self.load_requests(&pages, stride, false);
            self.take(&requests, 0..ROUNDS);
            let Some(capacity) = capacity(&self.recording, stride, step, threshold) else { return };
            if capacity > 0.8 * last || (capacity - last).abs() <= 1.0 {
                same += 1;
            } else {
                (same, halved) = (0, true);
            }
            last = capacity;
        }
    }

    /// Requests for load points: pointer chains as far as the lines go, the zero page beyond; `overlap` measures the
    /// upper part of the former by both, so that their difference is known.
    fn load_requests(&self, pages: &[u32], stride: u32, overlap: bool) -> Vec<Request> {
        let own = self.recording.own_lines;
        let mut requests = Vec::new();
        for &pages in pages {
            if pages <= own {
                requests.push(Request { chain: Chain::Load, stride, pages });
            }
            if pages > own || (overlap && pages >= own / 3 && pages >= 2 * LINES) {
                requests.push(Request { chain: Chain::LoadAliased, stride, pages });
            }
        }
        requests
    }
}

/// A point whose middle rounds are further apart than [`SPREAD`]; outliers beyond the quartiles do not move its value.
fn wide(point: &Point) -> bool {
    let mut rounds = point.rounds.clone();
    rounds.sort_by(f64::total_cmp);
    let n = rounds.len();
    rounds[(3 * n / 4).min(n - 1)] - rounds[n / 4] > SPREAD * point.p10
}

/// A point that needs no more rounds: quiet often enough or, unwatched, met the same twice.
fn settled(point: &Point, watching: bool, needed: usize) -> bool {
    if watching {
        return point.quiet >= needed;
    }
    let mut rounds = point.rounds.clone();
    rounds.sort_by(f64::total_cmp);
    matches!(rounds[..], [best, next, ..] if next <= best * (1.0 + SETTLED))
}

/// Lines of the zero page: with twice as many pages, each line has at least two addresses.
const LINES: u32 = 64;

/// The capacity at a stride: the last page count of its curve below `threshold` of the step.
pub fn capacity(recording: &Recording, stride: u32, step: &Step, threshold: f64) -> Option<f64> {
    let curve = Curve::loads(recording, stride);
    let points: Vec<&Point> = curve.points.iter().collect();
    departure(&points, step, threshold).map(|(below, above)| f64::from(below + above - 1) / 2.0)
}

/// Page counts around a step: every one for a small table, every 2.5 % for a large one.
fn fine(half: f64, at: usize, most: u32) -> Vec<u32> {
    let (from, to) = if at == 0 { (0.6 * half, 1.3 * half) } else { (0.55 * half, 1.5 * half) };
    between(from, to.min(f64::from(most)))
}

/// Every page count up to 160, then 2.5 % apart on a fixed lattice.
fn between(from: f64, to: f64) -> Vec<u32> {
    const DENSE: u32 = 160;
    let dense = from.max(3.0).round() as u32..=(to as u32).min(DENSE);
    let lattice = (1..).map(|k| f64::from(DENSE) * 1.025f64.powi(k)).take_while(|&pages| pages <= to);
    dense.chain(lattice.filter(|&pages| pages >= from).map(|pages| pages.round() as u32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_counts_rise_and_stay_in_range() {
        for (from, to) in [(1.0, 20.0), (40.0, 90.0), (100.0, 400.0), (1000.0, 4000.0)] {
            let pages = between(from, to);
            assert!(pages.windows(2).all(|w| w[0] < w[1]), "{pages:?}");
            assert!(
                f64::from(pages[0]) >= from && f64::from(*pages.last().unwrap()) <= to + 0.5,
                "{pages:?}"
            );
        }
        assert_eq!(between(40.0, 44.0), [40, 41, 42, 43, 44]);
    }
}
