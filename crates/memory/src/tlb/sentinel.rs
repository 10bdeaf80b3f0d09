//! Whether another hardware thread of this core is at work, told from a chain that the first level just holds.
//!
//! Threads of a core share its TLBs. While a neighbour runs (in a guest: anybody's), it takes entries away, and tables look
//! smaller than they are. A chain over nearly as many pages as the first level holds then misses; alone it always hits.

use harness::Clock;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use crate::backing::{LINES, Mapping, NoBacking, Protection, alias_pages, page_bytes};
use crate::kernel::{OFFSET_UNIT, pointer_chain};
use crate::recording::median;

/// Accesses of one chunk and chunks of one look: about 0.1 ms.
const ACCESSES: usize = 4096;
const CHUNKS: usize = 15;

/// A chain over a fixed number of pages.
pub struct Sentinel {
    /// Pages of the chain.
    pub pages: u32,
    first: *const u8,
    _mapping: Mapping,
}

impl Sentinel {
    /// A chain over `pages` pages with a line of its own each.
    pub fn new(pages: u32, rng: &mut Pcg64Mcg) -> Result<Sentinel, NoBacking> {
        let count = pages.max(1) as usize;
        let mapping = alias_pages(count, 1, count.div_ceil(LINES), Protection::Write)?;
        let base = mapping.base();
        let address = |page: usize| base.wrapping_add(page * page_bytes() + page % LINES * OFFSET_UNIT);
        let mut order: Vec<usize> = (0..count).collect();
        order.shuffle(rng);
        for (at, &page) in order.iter().enumerate() {
            let next = address(order[(at + 1) % count]);
            // SAFETY: the address lies in the mapping just made, which is writable.
            unsafe { address(page).cast::<*mut u8>().write_volatile(next) };
        }
        Ok(Sentinel { pages, first: address(order[0]), _mapping: mapping })
    }

    /// Time of one access now, ns: the median of chunks, so that a few interrupts do not count.
    pub fn ns(&self, clock: &Clock) -> f64 {
        let mut at = self.first;
        let mut chunk = || {
            let start = clock.stamp();
            // SAFETY: the ring of pointers was written when the mapping was made, and leads round in it.
            at = unsafe { pointer_chain(at, ACCESSES as u64) };
            clock.ns(clock.stamp().saturating_sub(start)) / ACCESSES as f64
        };
        chunk();
        median(&std::array::from_fn::<f64, CHUNKS, _>(|_| chunk()))
    }
}
