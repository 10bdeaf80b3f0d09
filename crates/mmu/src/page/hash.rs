//! A hash for page keys: two multiplications. Traces are input, but a slow table is all that a
//! crafted one could cause, and the number of pages is limited.

use std::hash::{BuildHasher, Hasher};

/// Builds [`PageHasher`]s.
#[derive(Clone, Copy, Default)]
pub(super) struct FastHash;

/// Mixes 64-bit words by multiply and rotate.
pub(super) struct PageHasher(u64);

impl BuildHasher for FastHash {
    type Hasher = PageHasher;
    fn build_hasher(&self) -> PageHasher {
        PageHasher(0)
    }
}

impl Hasher for PageHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.write_u64(u64::from(b));
        }
    }
    fn write_u64(&mut self, v: u64) {
        self.0 = (self.0.rotate_left(26) ^ v).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    fn finish(&self) -> u64 {
        // The table uses the top bits and the low bits; multiplication leaves the low ones weak.
        self.0 ^ (self.0 >> 29)
    }
}
