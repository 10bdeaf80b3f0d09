//! All sizes of an LRU TLB in one pass.
//!
//! LRU has the inclusion property (Mattson, Gecsei, Slutz, Traiger, IBM Systems Journal 9(2), 1970): a TLB of n
//! entries holds what one of n - 1 holds and one page more. So the depth at which a page is found in one
//! recency stack says for every size whether it hits.

mod full;
mod sets;
mod stack;
mod times;

pub use full::{LruCurve, References};
pub use sets::SetCurves;

/// Misses of every size, from one pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissCurve {
    /// `hits[d]`: lookups found at depth `d` (1 = most recent); index 0 is unused.
    hits: Vec<u64>,
    /// Lookups found at no depth.
    never: u64,
}

impl MissCurve {
    #[inline]
    fn add(&mut self, depth: Option<usize>, n: u64) {
        match depth {
            None => self.never += n,
            Some(d) => {
                if d >= self.hits.len() {
                    self.hits.resize(d + 1, 0);
                }
                self.hits[d] += n;
            }
        }
    }

    /// Lookups counted.
    pub fn lookups(&self) -> u64 {
        self.never + self.hits.iter().sum::<u64>()
    }

    /// Misses of a TLB of `entries` entries (for sets: of that many ways).
    pub fn misses(&self, entries: usize) -> u64 {
        self.never + self.hits.iter().skip(entries + 1).sum::<u64>()
    }

    /// Misses for 1, 2, … entries, up to the first size that has only compulsory and flush misses.
    pub fn all(&self) -> Vec<u64> {
        let mut misses = self.never;
        let mut out: Vec<u64> = Vec::with_capacity(self.hits.len());
        for &n in self.hits.iter().skip(1).rev() {
            out.push(misses);
            misses += n;
        }
        out.reverse();
        if out.is_empty() && self.never > 0 {
            out.push(self.never);
        }
        out
    }
}
