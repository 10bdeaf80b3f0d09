//! Misses by instruction or data, user or kernel, and cause.

use crate::tlb::Absence;

/// Why a lookup missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The first use of the page.
    Compulsory,
    /// An invalidation had taken the entry out.
    Flush,
    /// There were not enough entries (or the policy chose badly).
    Capacity,
    /// The set was full while a fully associative LRU TLB of the same size would have held the page.
    Conflict,
}

/// All causes, in the order of tables.
pub const CAUSES: [(Cause, &str); 4] = [
    (Cause::Compulsory, "compulsory"),
    (Cause::Flush, "flush"),
    (Cause::Capacity, "capacity"),
    (Cause::Conflict, "conflict"),
];

impl From<Absence> for Cause {
    fn from(absence: Absence) -> Self {
        match absence {
            Absence::Never => Cause::Compulsory,
            Absence::Flushed => Cause::Flush,
            Absence::Evicted => Cause::Capacity,
            Absence::Conflict => Cause::Conflict,
        }
    }
}

/// Misses of the last level, split every way the tables need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Breakdown {
    /// `[instruction 0 or data 1][user 0 or kernel 1][cause]`.
    pub by: [[[u64; 4]; 2]; 2],
    /// Misses of pages larger than the base page, by user 0 or kernel 1.
    pub large: [u64; 2],
}

impl Breakdown {
    /// Counts one miss.
    pub fn add(&mut self, data: bool, kernel: bool, large: bool, cause: Cause) {
        self.by[usize::from(data)][usize::from(kernel)][cause as usize] += 1;
        self.large[usize::from(kernel)] += u64::from(large);
    }

    /// All misses.
    pub fn total(&self) -> u64 {
        self.by.iter().flatten().flatten().sum()
    }

    /// Misses of instruction (false) or data (true) references.
    pub fn of_side(&self, data: bool) -> u64 {
        self.by[usize::from(data)].iter().flatten().sum()
    }

    /// Misses of user (false) or kernel (true) pages.
    pub fn of_owner(&self, kernel: bool) -> u64 {
        self.by.iter().flat_map(|side| side[usize::from(kernel)]).sum()
    }

    /// Misses of one cause.
    pub fn of_cause(&self, cause: Cause) -> u64 {
        self.by.iter().flatten().map(|causes| causes[cause as usize]).sum()
    }
}
