//! The patterns as streams of addresses.

use super::DATA;
use super::spec::{Pattern, Shape};
use crate::policy::SplitMix64;

/// A stream of addresses.
pub(super) struct Source {
    shape: Shape,
    pages: u64,
    page: u64,
    len: u64,
    step: u64,
    at: u64,
    generator: SplitMix64,
    /// Shuffled order (chase) or where each page lies (zipf).
    order: Vec<u32>,
    /// Cumulative weights by rank (zipf).
    weights: Vec<f64>,
}

impl Source {
    pub(super) fn new(p: &Pattern) -> Self {
        let mut generator = SplitMix64::new(p.seed);
        let order = match p.shape {
            Shape::Chase | Shape::Zipf => shuffled(p.pages as u32, &mut generator),
            _ => Vec::new(),
        };
        let mut weights = Vec::new();
        if p.shape == Shape::Zipf {
            let mut sum = 0.0;
            for rank in 1..=p.pages {
                sum += (rank as f64).powf(-p.s);
                weights.push(sum);
            }
        }
        Source {
            shape: p.shape,
            pages: p.pages,
            page: p.page,
            len: p.len / p.step * p.step,
            step: p.step,
            at: 0,
            generator,
            order,
            weights,
        }
    }

    pub(super) fn next(&mut self) -> u64 {
        let at = self.at;
        let page = match self.shape {
            Shape::Stride => {
                self.at = if at + self.step < self.len { at + self.step } else { 0 };
                return DATA + at;
            }
            Shape::Cycle | Shape::Chase => {
                self.at = if at + 1 < self.pages { at + 1 } else { 0 };
                if self.shape == Shape::Cycle { at } else { u64::from(self.order[at as usize]) }
            }
            Shape::Random => self.generator.below(self.pages),
            Shape::Zipf => {
                let total = self.weights[self.weights.len() - 1];
                // 53 random bits make a double in 0 to 1.
                let x = (self.generator.next_u64() >> 11) as f64 / (1u64 << 53) as f64 * total;
                let rank = self.weights.partition_point(|&w| w <= x).min(self.order.len() - 1);
                u64::from(self.order[rank])
            }
        };
        DATA + page * self.page
    }
}

/// 0 to n - 1 in random order (Fisher and Yates).
fn shuffled(n: u32, generator: &mut SplitMix64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, generator.below(i as u64 + 1) as usize);
    }
    order
}
