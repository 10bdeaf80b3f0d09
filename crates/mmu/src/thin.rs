//! Thinning: dropping references to the page that the same stream (fetches, or data) touched just before.
//!
//! Makes traces 5 to 6 times shorter. What is dropped is nearly always a hit, but not always: another stream's
//! miss may have evicted the page in between, and recency is lost. On real traces FIFO of 64 entries then reads
//! up to 0.25 % too low and LRU 0.1 %; [`ThinningCheck`] measures the error of a given trace.

use crate::event::{Event, Kind};
use crate::machine::Machine;
use crate::sim::{Options, Simulation, SimulationError};

/// Errors of this share and below are usual; above them, use the exact trace.
pub const USUAL_FIFO_ERROR: f64 = 0.0025;
/// As [`USUAL_FIFO_ERROR`], for LRU.
pub const USUAL_LRU_ERROR: f64 = 0.001;

/// Drops repeats; keeps everything else in order.
pub struct Thinner {
    shift: u32,
    last: [Option<u64>; 2],
    /// References seen.
    pub seen: u64,
    /// References kept.
    pub kept: u64,
}

impl Thinner {
    /// A thinner for pages of `page` bytes (a power of two); no simulated page may be smaller.
    pub fn new(page: u64) -> Self {
        Thinner { shift: page.trailing_zeros(), last: [None; 2], seen: 0, kept: 0 }
    }

    /// Removes repeats from `events`.
    pub fn thin(&mut self, events: &mut Vec<Event>) {
        events.retain(|event| {
            let stream = match event.kind {
                Kind::Fetch => 0,
                Kind::Read | Kind::Write | Kind::Modify => 1,
                Kind::Phase | Kind::Task => return true,
                _ => {
                    // After an invalidation a repeat is no hit.
                    self.last = [None; 2];
                    return true;
                }
            };
            let first = event.addr >> self.shift;
            let end = event.addr.saturating_add(u64::from(event.size.max(1)) - 1) >> self.shift;
            let keep = first != end || self.last[stream] != Some(first);
            self.last[stream] = Some(end);
            self.seen += event.references();
            self.kept += if keep { event.references() } else { 0 };
            keep
        });
    }
}

/// Simulates 64 entries, FIFO and LRU, on the exact and on the thinned stream.
pub struct ThinningCheck {
    exact: Simulation,
    thinned: Simulation,
}

/// Relative errors of the miss counts at 64 entries; negative means that thinning lost misses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThinningError {
    /// Round robin.
    pub fifo: f64,
    /// Least recently used.
    pub lru: f64,
}

impl ThinningCheck {
    /// A check that has seen nothing.
    ///
    /// # Errors
    /// Never in practice: the two machines are fixed.
    pub fn new() -> Result<Self, SimulationError> {
        let pair = || -> Result<Simulation, SimulationError> {
            let machine = |policy: &str| {
                let text = format!(
                    r#"{{"tlbs":[{{"name":"tlb","serves":"IRW","entries":64,"policy":"{policy}"}}],
                        "asid":true,"global_from":"c0000000"}}"#
                );
                Machine::from_json(&text, policy)
            };
            let machines = vec![("fifo".into(), machine("fifo")?), ("lru".into(), machine("lru")?)];
            Simulation::new(machines, Options::default())
        };
        Ok(ThinningCheck { exact: pair()?, thinned: pair()? })
    }

    /// Looks at the same stretch of the stream before and after thinning.
    ///
    /// # Errors
    /// The trace touches too many pages.
    pub fn feed(&mut self, exact: &[Event], thinned: &[Event]) -> Result<(), SimulationError> {
        self.exact.feed(exact)?;
        self.thinned.feed(thinned)
    }

    /// The errors.
    ///
    /// # Errors
    /// As [`Simulation::finish`].
    pub fn finish(self) -> Result<ThinningError, SimulationError> {
        let (exact, thinned) = (self.exact.finish()?, self.thinned.finish()?);
        let error = |i: usize| {
            let (a, b) = (exact[i].walks.total() as f64, thinned[i].walks.total() as f64);
            if a == 0.0 { 0.0 } else { (b - a) / a }
        };
        Ok(ThinningError { fifo: error(0), lru: error(1) })
    }
}
