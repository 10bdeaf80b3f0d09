//! Seeded random order.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// The order of `count` things within `block`: a permutation drawn from `seed` and the block's number alone, so that
/// a resumed run draws the same one.
pub fn block_order(seed: u64, block: u32, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.shuffle(&mut generator(seed, block, 0));
    order
}

/// A seed nobody chose, of 32 bits so that it is short to type and exact in every JSON reader.
pub fn fresh_seed() -> u64 {
    use std::hash::BuildHasher;
    std::hash::RandomState::new().hash_one(std::process::id()) & 0xffff_ffff
}

/// Bytes of padding in the environment of one invocation, 0-4095: moves the stack, as a different user name would.
pub fn layout_padding(seed: u64, block: u32, slot: u32) -> usize {
    generator(seed, block, u64::from(slot) + 1).random_range(0..4096)
}

fn generator(seed: u64, block: u32, stream: u64) -> Pcg64 {
    Pcg64::seed_from_u64(seed ^ (u64::from(block) << 40) ^ stream.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_repeat_by_seed_and_differ_by_block() {
        assert_eq!(block_order(7, 1, 50), block_order(7, 1, 50));
        assert_ne!(block_order(7, 1, 50), block_order(7, 2, 50));
        let mut sorted = block_order(7, 3, 50);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
        assert!(
            (0..20).map(|slot| layout_padding(1, 1, slot)).collect::<std::collections::HashSet<_>>().len()
                > 10
        );
    }
}
