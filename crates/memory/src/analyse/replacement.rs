//! What a full table does when a few pages too many come round and round: the expected share of misses.

use std::sync::OnceLock;

/// How a table chooses what to drop, as far as a cyclic access pattern can tell. Least recently used and tree-PLRU miss
/// on every access to an overfull set, so they are one kind here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// An overfull set misses always.
    Cyclic,
    /// A random victim: an overfull set still hits sometimes.
    Random,
    /// The ways in turn, whatever was used: hits do not move the turn, so that an overfull set still hits often.
    RoundRobin,
    /// Two halves of each set, chosen by a hash of the page: sets overflow before the table is full.
    Split,
}

/// Most pages per set that the tables below cover, in multiples of the ways.
const REACH: usize = 4;

/// Shape of the miss curve of one kind of table with `ways` ways per set.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Kind.
    pub replacement: Replacement,
    /// Ways per set (both halves together for [`Replacement::Split`]).
    pub ways: u32,
    /// Misses per access of a set with n pages.
    set: Vec<f64>,
}

impl Shape {
    /// The shape of a kind of table.
    pub fn new(replacement: Replacement, ways: u32) -> Shape {
        let most = ways as usize * REACH;
        let set = (0..=most + 1)
            .map(|n| match replacement {
                Replacement::Cyclic => f64::from(n > ways as usize),
                Replacement::Random => random_misses(n, ways),
                Replacement::RoundRobin => round_robin_misses(n, ways as usize),
                Replacement::Split => split_misses(n, ways),
            })
            .scan(0.0f64, |most, misses| {
                // The simulated kind may dip by a little; more pages never miss less.
                *most = most.max(misses);
                Some(*most)
            })
            .collect();
        Shape { replacement, ways, set }
    }

    /// Every shape tried.
    pub fn all() -> &'static [Shape] {
        static ALL: OnceLock<Vec<Shape>> = OnceLock::new();
        ALL.get_or_init(|| {
            let cyclic = [3, 4, 6, 8, 12, 16, 64].map(|ways| Shape::new(Replacement::Cyclic, ways));
            let random = [4, 5, 6, 8, 16, 64].map(|ways| Shape::new(Replacement::Random, ways));
            let in_turn = [4, 8, 12, 16].map(|ways| Shape::new(Replacement::RoundRobin, ways));
            let split = [8, 16].map(|ways| Shape::new(Replacement::Split, ways));
            cyclic.into_iter().chain(random).chain(in_turn).chain(split).collect()
        })
    }

    /// From what to what multiple of the capacity the shape is compared with a curve: to where it has risen.
    pub fn window(&self) -> (f64, f64) {
        (0.72, if self.replacement == Replacement::Cyclic { 1.22 } else { 1.5 })
    }

    /// Share of misses when a table of this shape with `entries` entries is given `pages` pages, spread evenly over
    /// its sets.
    pub fn misses(&self, entries: f64, pages: f64) -> f64 {
        let per_set = pages / entries * f64::from(self.ways);
        let (low, share) = (per_set.floor(), per_set.fract());
        let at = |n: f64| self.set[(n as usize).min(self.set.len() - 1)];
        if per_set <= 0.0 {
            return 0.0;
        }
        ((1.0 - share) * low * at(low) + share * (low + 1.0) * at(low + 1.0)) / per_set
    }
}

/// A page is dropped by each of the `n m` misses between its uses with probability 1/ways:
/// m = 1 - (1 - 1/ways)^(n m), solved by bisection for its larger root.
fn random_misses(n: usize, ways: u32) -> f64 {
    if n <= ways as usize {
        return 0.0;
    }
    let keep = 1.0 - 1.0 / f64::from(ways);
    let (mut low, mut high) = (1e-6, 1.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if 1.0 - keep.powf(n as f64 * middle) > middle {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Share of misses of `n` pages that come round and round in one set, by simulation: the average over several states in
/// which interruptions may leave the set.
fn round_robin_misses(n: usize, ways: usize) -> f64 {
    const STATES: usize = 8;
    const PASSES: usize = 24;
    if n <= ways || n > 2 * ways + 2 {
        return f64::from(n > ways);
    }
    let mut misses = 0;
    for state in 0..STATES {
        // The pages held at first are scattered by a step that shares no factor with powers of two, three or five.
        let mut held: Vec<usize> = (0..ways).map(|way| (way * 7 + state * 3) % n).collect();
        let mut turn = state * ways / STATES;
        for pass in 0..PASSES {
            for page in 0..n {
                if !held.contains(&page) {
                    turn = (turn + 1) % ways;
                    held[turn] = page;
                    misses += usize::from(pass >= PASSES / 2);
                }
            }
        }
    }
    misses as f64 / (STATES * PASSES / 2 * n) as f64
}

/// Each of `n` pages is in one half by chance; a half with more than ways/2 pages misses on all of them.
fn split_misses(n: usize, ways: u32) -> f64 {
    let half = ways as usize / 2;
    let mut probability = 0.5f64.powi(n as i32);
    let mut missing = 0.0;
    for count in 0..=n {
        if count > half {
            missing += probability * count as f64;
        }
        probability *= (n - count) as f64 / (count + 1) as f64;
    }
    if n == 0 { 0.0 } else { (2.0 * missing / n as f64).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_flat_then_rises_and_never_falls() {
        for shape in Shape::all() {
            let values: Vec<f64> = (1..40).map(|i| shape.misses(1024.0, f64::from(i) * 64.0)).collect();
            assert!(values.windows(2).all(|w| w[1] >= w[0] - 1e-9), "{shape:?}: {values:?}");
            assert!(shape.misses(1024.0, 500.0) < 0.01 && shape.misses(1024.0, 2400.0) > 0.75, "{shape:?}");
        }
    }

    /// One overfull set of four: 5 of 17 accesses miss. Half the pages of a split table miss when it is just full.
    #[test]
    fn known_points() {
        let lru = Shape::new(Replacement::Cyclic, 4);
        assert!((lru.misses(16.0, 17.0) - 5.0 / 17.0).abs() < 1e-9);
        let random = Shape::new(Replacement::Random, 64);
        let m = random.misses(64.0, 96.0);
        assert!((m - (1.0 - (-96.0 * m / 64.0f64).exp())).abs() < 0.02, "{m}");
        let split = Shape::new(Replacement::Split, 16).misses(2048.0, 2048.0);
        assert!((0.45..0.55).contains(&split), "{split}");
    }
}
