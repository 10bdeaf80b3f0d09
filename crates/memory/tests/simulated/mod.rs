//! A simulated two-level TLB in the place of the machine, with noise resampled from chunks this probe recorded on a
//! machine at load average 14.

use std::collections::HashMap;

use memory::recording::{Batch, Chain, Look, Request};
use memory::survey::Probe;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// How a set is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    Linear,
    /// Low bits XOR the next ones.
    Xor,
}

/// What is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Lru,
    TreePlru,
    Random,
    RoundRobin,
}

/// One table.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub sets: usize,
    pub ways: usize,
    pub index: Index,
    pub policy: Policy,
    /// Two tables of this size, a page's own by a hash of its number.
    pub halves: bool,
}

impl Shape {
    pub const fn new(sets: usize, ways: usize) -> Shape {
        Shape { sets, ways, index: Index::Linear, policy: Policy::Lru, halves: false }
    }
    pub const fn xor(self) -> Shape {
        Shape { index: Index::Xor, ..self }
    }
    pub const fn policy(self, policy: Policy) -> Shape {
        Shape { policy, ..self }
    }
    pub const fn halves(self) -> Shape {
        Shape { halves: true, ..self }
    }
    /// What another thread leaves of it.
    fn beside_a_neighbour(self) -> Shape {
        Shape { ways: (self.ways * 2 / 3).max(1), ..self }
    }
    pub fn entries(&self) -> usize {
        self.sets * self.ways * if self.halves { 2 } else { 1 }
    }
}

/// A machine of the table of documented TLBs.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    pub name: &'static str,
    pub first: Shape,
    pub second: Shape,
    /// Cycles: hit, first miss, walk, a further step once the page table entries leave the L1 data cache.
    pub cycles: [f64; 4],
    /// What a line with many addresses costs.
    pub alias: f64,
}

struct Set {
    pages: Vec<u64>,
    /// LRU: age stamps. Tree-PLRU: bits. Round robin: `[next]`.
    state: Vec<u64>,
}

struct Table {
    shape: Shape,
    sets: Vec<Set>,
    clock: u64,
    rng: Pcg64Mcg,
}

/// The finaliser of SplitMix64: each output bit depends on every input bit.
fn mixed(page: u64) -> u64 {
    let x = (page ^ (page >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

const EMPTY: u64 = u64::MAX;

impl Table {
    fn new(shape: Shape, seed: u64) -> Table {
        let count = shape.sets * if shape.halves { 2 } else { 1 };
        let sets =
            (0..count).map(|_| Set { pages: vec![EMPTY; shape.ways], state: vec![0; shape.ways] }).collect();
        Table { shape, sets, clock: 0, rng: Pcg64Mcg::seed_from_u64(seed) }
    }

    fn set_of(&self, page: u64) -> usize {
        let bits = self.shape.sets.trailing_zeros();
        let mask = self.shape.sets as u64 - 1;
        let index = match self.shape.index {
            Index::Linear => page & mask,
            Index::Xor => (page ^ (page >> bits)) & mask,
        } as usize;
        let half = self.shape.halves && mixed(page) & 1 == 1;
        index + if half { self.shape.sets } else { 0 }
    }

    /// True for a hit; a miss fills.
    fn access(&mut self, page: u64) -> bool {
        self.clock += 1;
        let at = self.set_of(page);
        let ways = self.shape.ways;
        let set = &mut self.sets[at];
        let hit = set.pages.iter().position(|&p| p == page);
        let way =
            hit.unwrap_or_else(|| match (set.pages.iter().position(|&p| p == EMPTY), self.shape.policy) {
                (Some(empty), _) => empty,
                (None, Policy::Lru) => (0..ways).min_by_key(|&w| set.state[w]).unwrap(),
                (None, Policy::Random) => self.rng.random_range(0..ways),
                (None, Policy::RoundRobin) => {
                    set.state[0] = (set.state[0] + 1) % ways as u64;
                    set.state[0] as usize
                }
                (None, Policy::TreePlru) => {
                    let mut node = 1;
                    while node < ways {
                        node = 2 * node + set.state[node] as usize;
                    }
                    node - ways
                }
            });
        set.pages[way] = page;
        match self.shape.policy {
            Policy::Lru => set.state[way] = self.clock,
            Policy::TreePlru => {
                let mut node = way + ways;
                while node > 1 {
                    set.state[node / 2] = 1 - (node & 1) as u64;
                    node /= 2;
                }
            }
            _ => {}
        }
        hit.is_some()
    }
}

/// The probe.
pub struct Simulated<'m> {
    machine: Machine,
    noise: &'m [Vec<f64>],
    /// Excess of a chunk over the quiet value is multiplied by this.
    pub noise_factor: f64,
    /// Share of the time in which another hardware thread of the core holds a third of the ways.
    pub neighbour: f64,
    loud: bool,
    watched: Option<u32>,
    /// Mean cycles by request and mapping; the simulation is the same for every repetition.
    means: &'m mut HashMap<(Request, u32), f64>,
    rng: Pcg64Mcg,
}

impl<'m> Simulated<'m> {
    pub fn new(
        machine: Machine,
        noise: &'m [Vec<f64>],
        means: &'m mut HashMap<(Request, u32), f64>,
        seed: u64,
    ) -> Self {
        Simulated {
            machine,
            noise,
            noise_factor: 1.0,
            neighbour: 0.0,
            loud: false,
            watched: None,
            means,
            rng: Pcg64Mcg::seed_from_u64(seed),
        }
    }

    /// Cycles per access of a random cyclic walk over the pages, from the third pass on: four passes, since a table
    /// filled in turn swings from one to the next; one where all pages miss anyway.
    fn simulate(&self, request: Request, round: u32, loud: bool) -> f64 {
        let seed = u64::from(round) << 40
            | u64::from(request.pages) << 8
            | u64::from(request.stride.trailing_zeros());
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let base = rng.random_range(0..1u64 << 24) << 9;
        let lists = rng.random_range(0..1u64 << 30) + (1 << 40);
        let mut order: Vec<u64> = (0..u64::from(request.pages)).collect();
        order.shuffle(&mut rng);
        let left = |shape: Shape| if loud { shape.beside_a_neighbour() } else { shape };
        let mut first = Table::new(left(self.machine.first), seed + 1);
        let mut second = Table::new(left(self.machine.second), seed + 2);
        let [hit, miss, walk, entries_step] = self.machine.cycles;
        let aliased = request.chain == Chain::LoadAliased;
        // Page table entries, lists and data lines share an L1 data cache of 512 lines.
        let lines = u64::from(request.pages) * u64::from(request.stride.min(8)) / 8;
        let crowded = lines > 400;
        let mut cycles = 0.0;
        let timed = if request.pages as usize > 2 * self.machine.second.entries() { 1 } else { 4 };
        for pass in 0..2 + timed {
            for (i, page) in order.iter().enumerate() {
                if aliased && !first.access(lists + i as u64 / 1024) {
                    second.access(lists + i as u64 / 1024);
                }
                let page = base + page * u64::from(request.stride);
                let mut cost = hit + if aliased { self.machine.alias } else { 0.0 };
                if !first.access(page) {
                    cost += miss;
                    if !second.access(page) {
                        cost += walk + if crowded { entries_step } else { 0.0 };
                    }
                }
                if pass >= 2 {
                    cycles += cost;
                }
            }
        }
        cycles / f64::from(request.pages * timed)
    }
}

impl Simulated<'_> {
    /// A stretch with or without the neighbour is some twenty batches.
    fn come_and_go(&mut self) {
        if self.rng.random_bool(0.05) {
            self.loud = self.rng.random_bool(self.neighbour);
        }
    }

    /// [`Self::simulate`], each case once.
    fn mean(&mut self, request: Request, round: u32, loud: bool) -> f64 {
        let key = (request, round % 3 + if loud { 3 } else { 0 });
        if let Some(&mean) = self.means.get(&key) {
            return mean;
        }
        let mean = self.simulate(request, round % 3, loud);
        self.means.insert(key, mean);
        mean
    }
}

impl Probe for Simulated<'_> {
    fn holds(&mut self, pages: u32, limit: f64) -> bool {
        let request = Request { chain: Chain::Load, stride: 1, pages };
        self.neighbour > 0.0
            && (0..30).any(|_| {
                self.come_and_go();
                self.mean(request, 0, self.loud) <= limit
            })
    }

    fn watch(&mut self, pages: u32, _limit: f64) -> bool {
        if self.neighbour > 0.0 {
            self.watched = Some(pages);
        }
        self.watched.is_some()
    }

    fn prepare(&mut self, _chain: Chain, _stride: u32, _most: u32) -> Result<(), String> {
        Ok(())
    }

    fn batch(&mut self, request: Request, round: u32) -> Result<Batch, String> {
        self.come_and_go();
        let mean = self.mean(request, round, self.loud);
        let sentinel = self.watched.map(|pages| {
            let request = Request { chain: Chain::Load, stride: 1, pages };
            Look { pages, cycles: self.mean(request, 0, self.loud) as f32 }
        });
        let noise = &self.noise[self.rng.random_range(0..self.noise.len())];
        let factor = self.noise_factor;
        // Large factors stand for a machine so busy that whole batches are slow.
        let shift = if factor > 1.0 { 1.0 + self.rng.random_range(0.0..0.03) * factor } else { 1.0 };
        let chunk_ns = noise
            .iter()
            .map(|r| (mean * shift * (1.0 + (r - 1.0) * factor).max(0.5) * 0.25) as f32)
            .collect();
        Ok(Batch { request, round, accesses: 1024, cycle_ns: 0.25, switches: 0, sentinel, chunk_ns })
    }
}
