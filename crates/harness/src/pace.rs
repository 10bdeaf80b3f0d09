//! Sharing a time budget among benchmarks and blocks.

use std::time::Duration;

/// Shortest slice worth starting a process for.
const SHORTEST: Duration = Duration::from_millis(4);

/// How much time each invocation gets so that the whole run meets its budget.
///
/// The warm-up pass shows what each benchmark costs beyond its slice (process start, set-up); each block then gets an
/// equal share of the time left, and its slices what its overheads leave.
#[derive(Clone, Debug)]
pub struct Pace {
    budget: f64,
    blocks: u32,
    longest: f64,
    weights: Vec<f64>,
    overhead: Vec<f64>,
}

impl Pace {
    /// A budget of `budget` for `blocks` blocks of benchmarks with these weights; a slice of weight 1 never exceeds
    /// `longest`.
    pub fn new(budget: Duration, blocks: u32, longest: Duration, weights: Vec<f64>) -> Self {
        let overhead = vec![0.0; weights.len()];
        Pace { budget: budget.as_secs_f64(), blocks, longest: longest.as_secs_f64(), weights, overhead }
    }

    /// The slice of one benchmark in the warm-up pass.
    pub fn warmup_slice(&self, benchmark: usize) -> Duration {
        SHORTEST.mul_f64(self.weights[benchmark].max(0.25))
    }

    /// Learns what an invocation cost beyond its slice.
    pub fn learn(&mut self, benchmark: usize, seconds: f64, slice: Duration) {
        let beyond = (seconds - slice.as_secs_f64()).max(0.0);
        let known = &mut self.overhead[benchmark];
        *known = if *known == 0.0 { beyond } else { 0.5 * (*known + beyond) };
    }

    /// A benchmark turned out to have nothing to measure here: its share of the time goes to the others.
    pub fn drop_out(&mut self, benchmark: usize) {
        self.weights[benchmark] = 0.0;
    }

    /// A benchmark is not measured any more.
    pub fn forget(&mut self, benchmark: usize) {
        self.weights[benchmark] = 0.0;
        self.overhead[benchmark] = 0.0;
    }

    /// Seconds that one invocation takes at least.
    pub fn least(&self, benchmark: usize) -> f64 {
        self.overhead[benchmark] + SHORTEST.as_secs_f64() * self.weights[benchmark]
    }

    /// Whether all blocks, begun `elapsed` seconds into the run, leave less than a quarter of the time for longer samples.
    pub fn is_crowded(&self, elapsed: f64) -> bool {
        let least: f64 = (0..self.weights.len()).map(|i| self.least(i)).sum();
        least * f64::from(self.blocks) > 0.75 * (self.budget - elapsed)
    }

    /// The slice of one benchmark in block `block` (from 1) that starts `elapsed` seconds into the run.
    pub fn slice(&self, benchmark: usize, block: u32, elapsed: f64) -> Duration {
        let left = self.blocks.saturating_sub(block) + 1;
        let per_block = (self.budget - elapsed).max(0.0) / f64::from(left);
        let for_slices = (per_block - self.overhead.iter().sum::<f64>()).max(0.0);
        let unit = (for_slices / self.weights.iter().sum::<f64>().max(f64::MIN_POSITIVE)).min(self.longest);
        let weight = self.weights[benchmark];
        let shortest = if weight > 0.0 { SHORTEST } else { Duration::ZERO };
        Duration::from_secs_f64(unit * weight).max(shortest)
    }

    /// Seconds the whole run will take, as seen `elapsed` seconds into it, before block `block`.
    pub fn estimate(&self, block: u32, elapsed: f64) -> f64 {
        let left = f64::from(self.blocks.saturating_sub(block) + 1);
        let slices: f64 = (0..self.weights.len())
            .map(|i| self.slice(i, block, elapsed).as_secs_f64() + self.overhead[i])
            .sum();
        elapsed + left * slices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_fill_the_budget_after_overheads() {
        let mut pace = Pace::new(Duration::from_secs(60), 6, Duration::from_secs(9), vec![1.0, 1.0, 3.0]);
        pace.learn(0, 0.104, Duration::from_millis(4));
        pace.learn(2, 0.904, Duration::from_millis(4));
        assert!((pace.estimate(1, 6.0) - 60.0).abs() < 0.1, "{}", pace.estimate(1, 6.0));
        let unit = pace.slice(0, 1, 6.0).as_secs_f64();
        assert!((unit - (9.0 - 1.0) / 5.0).abs() < 1e-6);
        assert!((pace.slice(2, 1, 6.0).as_secs_f64() - 3.0 * unit).abs() < 1e-6);
    }

    #[test]
    fn what_has_nothing_to_measure_leaves_its_time_to_the_others() {
        let mut pace = Pace::new(Duration::from_secs(10), 1, Duration::from_secs(9), vec![1.0, 1.0]);
        pace.drop_out(1);
        assert_eq!(pace.slice(1, 1, 0.0), Duration::ZERO);
        assert_eq!(pace.slice(0, 1, 2.0), Duration::from_secs(8));
        assert!((pace.estimate(1, 2.0) - 10.0).abs() < 1e-6);
    }

    #[test]
    fn the_forgotten_cost_nothing() {
        let mut pace = Pace::new(Duration::from_secs(10), 1, Duration::from_secs(9), vec![1.0, 1.0]);
        pace.learn(0, 30.0, Duration::from_millis(4));
        assert!(pace.least(0) > 29.0 && pace.is_crowded(2.0));
        pace.forget(0);
        assert!(!pace.is_crowded(2.0));
        assert!((pace.estimate(1, 2.0) - 10.0).abs() < 1e-6);
    }

    #[test]
    fn an_impossible_budget_still_measures_shortly() {
        let mut pace = Pace::new(Duration::from_secs(1), 3, Duration::from_millis(100), vec![1.0; 10]);
        for i in 0..10 {
            pace.learn(i, 0.5, Duration::from_millis(4));
        }
        assert_eq!(pace.slice(0, 1, 0.5), SHORTEST);
        assert!(pace.estimate(1, 0.5) > 10.0);
    }
}
