//! Exact test by the design of the order: signs of whole blocks are flipped, over all metrics at once.
//!
//! When nothing differs, "A then B" and "B then A" were equally likely in every block, so flipping the sign of every
//! difference of a block gives an equally likely table. The largest statistic over the table is compared with its
//! distribution over flips, step down (Westfall and Young 1993).

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Fewest blocks with which the test can go below 5 % (2 of 64 flips).
pub const FEWEST_BLOCKS: usize = 6;
/// Differences are cut at this many median sizes, so that one wild block does not hide the rest.
const CLIP_MEDIANS: f64 = 2.5;
/// Up to this many blocks all flips are tried (half of them: a flip and its mirror give the same sizes).
const ENUMERATE_UP_TO: usize = 13;
/// Flips drawn beyond that; the observed order counts as one more.
const DRAWN: usize = 9_999;

/// Adjusted p value of each metric. `differences[m][b]` is metric m's log ratio in block b, `None` where it was not
/// measured; all inner vectors have one length. With no metric or no block every p value is 1.
pub fn adjusted_p(differences: &[Vec<Option<f64>>], seed: u64) -> Vec<f64> {
    let metrics = differences.len();
    let blocks = differences.iter().map(Vec::len).max().unwrap_or(0);
    if blocks == 0 {
        return vec![1.0; metrics];
    }
    let scaled: Vec<Vec<f64>> = differences.iter().map(|d| clipped_and_scaled(d, blocks)).collect();
    let observed: Vec<f64> = scaled.iter().map(|d| d.iter().sum::<f64>().abs()).collect();
    let mut order: Vec<usize> = (0..metrics).collect();
    order.sort_by(|&a, &b| observed[b].total_cmp(&observed[a]));

    let mut at_least = vec![0u64; metrics];
    let mut count = |signs: &[f64]| {
        let mut largest = 0.0_f64;
        for (rank, &metric) in order.iter().enumerate().rev() {
            let flipped: f64 = scaled[metric].iter().zip(signs).map(|(d, sign)| d * sign).sum();
            largest = largest.max(flipped.abs());
            // a hair of tolerance: sums of the same numbers in another order
            if largest >= observed[metric] - 1e-9 {
                at_least[rank] += 1;
            }
        }
    };
    let tried = for_each_flip(blocks, seed, &mut count);
    let mut adjusted = vec![1.0; metrics];
    let mut largest = 0.0_f64;
    for (rank, &metric) in order.iter().enumerate() {
        largest = largest.max(at_least[rank] as f64 / tried as f64);
        adjusted[metric] = largest;
    }
    adjusted
}

/// Differences clipped at 2.5 median sizes and divided by their root sum of squares, which no flip changes; missing
/// blocks become 0.
fn clipped_and_scaled(differences: &[Option<f64>], blocks: usize) -> Vec<f64> {
    let mut sizes: Vec<f64> = differences.iter().flatten().map(|d| d.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let median = match sizes.len() {
        0 => 0.0,
        n if n % 2 == 1 => sizes[n / 2],
        n => (sizes[n / 2 - 1] + sizes[n / 2]) / 2.0,
    };
    let limit = if median > 0.0 { CLIP_MEDIANS * median } else { f64::INFINITY };
    let mut clipped: Vec<f64> = differences.iter().map(|d| d.unwrap_or(0.0).clamp(-limit, limit)).collect();
    clipped.resize(blocks, 0.0);
    let norm = clipped.iter().map(|d| d * d).sum::<f64>().sqrt();
    if norm > 0.0 {
        clipped.iter_mut().for_each(|d| *d /= norm);
    }
    clipped
}

/// Calls `count` for each sign vector, the unflipped one included; returns how many there were.
fn for_each_flip(blocks: usize, seed: u64, count: &mut impl FnMut(&[f64])) -> u64 {
    let mut signs = vec![1.0; blocks];
    if blocks <= ENUMERATE_UP_TO {
        let flips = 1u64 << (blocks - 1);
        for flip in 0..flips {
            for (block, sign) in signs.iter_mut().enumerate() {
                *sign = if flip >> block & 1 == 1 { -1.0 } else { 1.0 };
            }
            count(&signs);
        }
        return flips;
    }
    count(&signs);
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    for _ in 0..DRAWN {
        for sign in &mut signs {
            *sign = if random.next_u64() >> 63 == 1 { -1.0 } else { 1.0 };
        }
        count(&signs);
    }
    DRAWN as u64 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    #[test]
    fn six_blocks_of_one_sign_reach_two_in_sixty_four() {
        let p = adjusted_p(&[all(&[0.03, 0.031, 0.029, 0.03, 0.032, 0.028])], 1);
        assert!((p[0] - 2.0 / 64.0).abs() < 1e-12);
        let p = adjusted_p(&[all(&[0.03, 0.031, 0.029, 0.03, 0.032])], 1);
        assert!((p[0] - 2.0 / 32.0).abs() < 1e-12, "five can't");
    }

    #[test]
    fn one_wild_block_is_clipped() {
        let p = adjusted_p(&[all(&[0.03, 0.031, 0.029, 0.03, 0.032, 0.028, 0.03, 5.0])], 1);
        assert!((p[0] - 2.0 / 256.0).abs() < 1e-12);
    }

    #[test]
    fn the_family_costs_and_steps_down() {
        let strong = all(&[0.03, 0.031, 0.029, 0.03, 0.032, 0.028, 0.03, 0.031]);
        let noise = all(&[0.01, -0.02, 0.015, -0.01, 0.02, -0.015, 0.005, -0.004]);
        let p = adjusted_p(&[noise.clone(), strong.clone(), noise], 1);
        assert!((p[1] - 2.0 / 256.0).abs() < 1e-12 && p[0] > 0.5 && p[0] >= p[1]);
        assert_eq!(p[0], p[2]);
        assert_eq!(adjusted_p(&[vec![None; 8], strong], 1)[0], 1.0);
    }

    #[test]
    fn drawn_flips_repeat_by_seed() {
        let d: Vec<Option<f64>> = (0..20).map(|i| Some(0.01 + 0.03 * (f64::from(i) * 2.4).sin())).collect();
        let first = adjusted_p(std::slice::from_ref(&d), 7);
        assert_eq!(first, adjusted_p(&[d], 7));
        assert!(first[0] > 1e-4 && first[0] < 1.0);
    }
}
