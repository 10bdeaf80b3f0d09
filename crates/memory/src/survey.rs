//! What to measure next: a grid, then the steps found on it more finely, then page strides.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use crate::analyse::knee::{Step, departure};
use crate::analyse::level::{grid, grid_plateaus};
use crate::curve::{Curve, Point};
use crate::recording::{Batch, Chain, Recording, Request};

/// Something that measures points: the hardware, or a simulated table.
pub trait Probe {
    /// Makes a fresh mapping for up to `most` pages of a chain and stride. The error says why it can't be had.
    fn prepare(&mut self, chain: Chain, stride: u32, most: u32) -> Result<(), String>;

    /// One batch of a point in the mapping last prepared, in a fresh permutation.
    fn batch(&mut self, request: Request, round: u32) -> Result<Batch, String>;

    /// True when the user wants to stop.
    fn interrupted(&self) -> bool {
        false
    }
}

/// Rounds of every point at least, and of those that differ between rounds at most.
const ROUNDS: u32 = 3;
const MOST_ROUNDS: u32 = 6;
/// Rounds of the points around a step: they are many and short, so that some of them fall into quiet moments.
pub const STEP_ROUNDS: u32 = 9;
/// Most rounds of a step's points, with those of [`Survey::again`].
const MOST_STEP_ROUNDS: u32 = 30;
/// A point is settled when its two best rounds are this near, as a share: a quiet moment was met twice.
const SETTLED: f64 = 0.03;
/// So many points of a step may remain unsettled: one in this many.
const UNSETTLED: usize = 8;

/// How far the rounds of a point may be apart, as a share, before more are taken.
const SPREAD: f64 = 0.02;

/// Largest page count of the load grid.
pub const MOST_PAGES: u32 = 16_384;

/// Takes points into a recording.
pub struct Survey<'p, P: Probe> {
    probe: &'p mut P,
    /// What was measured so far.
    pub recording: Recording,
    /// Points that could not be had, with the reason.
    pub refused: BTreeMap<(Chain, u32), String>,
    rng: Pcg64Mcg,
    /// Points around the steps found, by curve.
    steps: Vec<Vec<Request>>,
    /// The next round of the points around steps.
    next: u32,
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
            steps: Vec::new(),
            next: STEP_ROUNDS,
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

    /// Takes more rounds of the points whose rounds are far apart.
    fn take_more(&mut self, requests: &[Request]) {
        for round in ROUNDS..MOST_ROUNDS {
            let wide = self.wide(requests);
            // Once a third of the points is wide, the machine is noisy and more rounds only take time.
            let limit = if round < 5 { requests.len() } else { requests.len() / 3 };
            if wide.is_empty() || wide.len() > limit || self.probe.interrupted() {
                return;
            }
            self.take(&wide, round..round + 1);
        }
    }

    /// Requests whose middle rounds are further apart than [`SPREAD`]; outliers beyond the quartiles do not move a
    /// point's value.
    fn wide(&self, requests: &[Request]) -> Vec<Request> {
        let mut chains: Vec<(Chain, u32)> = requests.iter().map(|r| (r.chain, r.stride)).collect();
        chains.sort_unstable();
        chains.dedup();
        let mut wide = Vec::new();
        for (chain, stride) in chains {
            for point in Curve::of(&self.recording, chain, stride).points {
                let request = Request { chain, stride, pages: point.pages };
                let mut rounds = point.rounds;
                rounds.sort_by(f64::total_cmp);
                let n = rounds.len();
                let apart = rounds[(3 * n / 4).min(n - 1)] - rounds[n / 4];
                if apart > SPREAD * point.p10 && requests.contains(&request) {
                    wide.push(request);
                }
            }
        }
        wide
    }

    /// The load side: the grid, both steps finely.
    pub fn loads(&mut self, most_pages: u32) {
        let requests = self.load_requests(&grid(4, most_pages), 1, true);
        self.take(&requests, 0..ROUNDS);
        self.take_more(&requests);
        let curve = Curve::loads(&self.recording, 1);
        let (coarse, plateaus) = grid_plateaus(&curve);
        for (at, pair) in plateaus.windows(2).take(2).enumerate() {
            let Some(step) = Step::between(&coarse, &pair[0], &pair[1]) else { continue };
            let requests = self.load_requests(&fine(step.half, at, most_pages), 1, false);
            self.take(&requests, 0..STEP_ROUNDS);
            self.steps.push(requests);
        }
    }

    /// One more round of those points around the steps found so far that are not settled; false when none was needed or
    /// enough were taken. What disturbs (a neighbour on the same core) comes and goes over tenths of a second: call
    /// this between other measurements.
    pub fn again(&mut self) -> bool {
        if self.next >= MOST_STEP_ROUNDS || self.probe.interrupted() {
            return false;
        }
        let round = self.next;
        let mut taken = false;
        for requests in self.steps.clone() {
            let unsettled = self.unsettled(&requests);
            if unsettled.len() * UNSETTLED > requests.len() {
                self.take(&unsettled, round..round + 1);
                taken = true;
            }
        }
        self.next += 1;
        taken
    }

    /// Requests whose two best rounds are further apart than [`SETTLED`].
    fn unsettled(&self, requests: &[Request]) -> Vec<Request> {
        let mut chains: Vec<(Chain, u32)> = requests.iter().map(|r| (r.chain, r.stride)).collect();
        chains.sort_unstable();
        chains.dedup();
        let mut found = Vec::new();
        for (chain, stride) in chains {
            for mut point in Curve::of(&self.recording, chain, stride).points {
                let request = Request { chain, stride, pages: point.pages };
                point.rounds.sort_by(f64::total_cmp);
                let settled = matches!(point.rounds[..], [best, next, ..] if next <= best * (1.0 + SETTLED));
                if !settled && requests.contains(&request) {
                    found.push(request);
                }
            }
        }
        found
    }

    /// One chain on its grid from 4 to `most` pages, its first step finely in so many rounds. `Chain::Instruction` brings
    /// its control on the grid.
    pub fn single(&mut self, chain: Chain, most: u32, rounds: u32) {
        let control = (chain == Chain::Instruction).then_some(Chain::InstructionPacked);
        let requests = |pages: &[u32]| -> Vec<Request> {
            let of = |chain| move |&pages: &u32| Request { chain, stride: 1, pages };
            pages.iter().map(of(chain)).chain(control.iter().flat_map(|&c| pages.iter().map(of(c)))).collect()
        };
        self.take(&requests(&grid(4, most)), 0..ROUNDS);
        let curve = Curve::of(&self.recording, chain, 1);
        let (coarse, plateaus) = grid_plateaus(&curve);
        if let Some(pair) = plateaus.windows(2).next()
            && let Some(step) = Step::between(&coarse, &pair[0], &pair[1])
        {
            let fine: Vec<Request> =
                fine(step.half, 0, most).iter().map(|&pages| Request { chain, stride: 1, pages }).collect();
            self.take(&fine, 0..rounds);
            if rounds == STEP_ROUNDS {
                self.steps.push(fine);
            }
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
