//! Seeded random replacement.

/// Steele, Lea and Flood's splitmix64 (OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator whose state is `seed`.
    pub fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`: the high word of a 128-bit product.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }
}

/// One generator for all sets, drawn only when a victim is needed.
pub struct Random {
    ways: Vec<u32>,
    generator: SplitMix64,
}

impl Random {
    pub(super) fn new(ways: &[u32], seed: u64) -> Self {
        Random { ways: ways.to_vec(), generator: SplitMix64::new(seed) }
    }

    pub(super) fn victim(&mut self, set: usize) -> usize {
        self.generator.below(u64::from(self.ways[set])) as usize
    }
}
