//! Many configurations over one decoded stream.
//!
//! Records come in once. Configurations whose pages are cut the same way share one numbering of pages
//! ([`crate::page::PageTable`]) and one compression of the stream into runs; each then works on a few
//! array accesses per run. Memory depends on the number of pages a trace touches, never on its length
//! (`opt` excepted, which has to know the future and has a limit of its own).

mod configuration;
mod counts;
mod decode;
mod optimum;
mod outcome;
mod quick;
mod runs;

use thiserror::Error;

pub use counts::{Breakdown, CAUSES, Cause};
pub(crate) use decode::{CLASS_SHIFT, PAGE_MASK};
pub use decode::{Control, Decoded, Decoder, Wanted};
pub use outcome::{Explanation, Outcome, PageMisses, TlbOutcome};
pub use runs::{Run, Runs};

use crate::event::Event;
use crate::machine::{Machine, MachineError, PolicyName};
use crate::page::{PageTable, PagingRules, TooManyPages};
use configuration::{Configuration, Food};
use optimum::Recording;

/// How to simulate.
#[derive(Clone, Debug)]
pub struct Options {
    /// Collect what [`Explanation`] shows.
    pub explain: bool,
    /// Tell conflict from capacity misses, which costs a second simulation of every TLB that has sets.
    pub conflicts: bool,
    /// Different pages a trace may touch before [`SimulationError::Pages`].
    pub page_limit: usize,
    /// Lookups that `opt` may keep in memory (8 bytes each) before [`SimulationError::FutureTooLong`].
    pub opt_limit: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { explain: false, conflicts: false, page_limit: 1 << 24, opt_limit: 1 << 26 }
    }
}

/// Why a simulation stopped.
#[derive(Debug, Error)]
pub enum SimulationError {
    /// The machine description is unusable.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The trace's footprint is beyond the limit.
    #[error(transparent)]
    Pages(#[from] TooManyPages),
    /// `opt` has to keep the whole stream, which is longer than allowed.
    #[error(
        "policy opt keeps the stream in memory and it is longer than {limit} lookups; simulate a shorter phase or thin it"
    )]
    FutureTooLong {
        /// Lookups allowed.
        limit: usize,
    },
}

/// Configurations that share a decoded stream.
struct Group {
    decoder: Decoder,
    decoded: Decoded,
    runs: Runs,
    members: Vec<Configuration>,
    foreseeing: Vec<Configuration>,
    recording: Recording,
}

/// A simulation in progress.
pub struct Simulation {
    groups: Vec<Group>,
    order: Vec<(usize, bool, usize)>,
    options: Options,
}

impl Simulation {
    /// Prepares the configurations, given as name and machine.
    pub fn new(configurations: Vec<(String, Machine)>, options: Options) -> Result<Self, SimulationError> {
        let mut groups: Vec<Group> = Vec::new();
        let mut order = Vec::new();
        for (name, machine) in configurations {
            let machine = machine.checked(&name)?;
            let rules = PagingRules::new(&machine);
            let at = groups.iter().position(|g| g.decoder.table().rules() == &rules).unwrap_or(groups.len());
            if at == groups.len() {
                groups.push(Group {
                    decoder: Decoder::new(PageTable::new(rules, options.page_limit)),
                    decoded: Decoded::default(),
                    runs: Runs::default(),
                    members: Vec::new(),
                    foreseeing: Vec::new(),
                    recording: Recording::new(options.opt_limit),
                });
            }
            let group = &mut groups[at];
            let foresees = machine.tlbs.iter().any(|t| t.policy == PolicyName::Opt);
            let list = if foresees { &mut group.foreseeing } else { &mut group.members };
            order.push((at, foresees, list.len()));
            list.push(Configuration::new(name, machine, &options));
        }
        Ok(Simulation { groups, order, options })
    }

    /// Simulates the next records of the stream.
    pub fn feed(&mut self, events: &[Event]) -> Result<(), SimulationError> {
        for group in &mut self.groups {
            group.feed(events)?;
        }
        Ok(())
    }

    /// The results, in the order of the configurations.
    pub fn finish(mut self) -> Result<Vec<Outcome>, SimulationError> {
        for group in &mut self.groups {
            group.finish(self.options.opt_limit)?;
        }
        let outcome = |&(at, foresees, i): &(usize, bool, usize)| {
            let group: &mut Group = &mut self.groups[at];
            let list = if foresees { &mut group.foreseeing } else { &mut group.members };
            list[i].outcome(&group.decoder)
        };
        Ok(self.order.iter().map(outcome).collect())
    }
}

impl Group {
    fn feed(&mut self, events: &[Event]) -> Result<(), SimulationError> {
        if let ([member], []) = (self.members.as_mut_slice(), self.foreseeing.as_slice())
            && member.food() == Food::Lookups
            && self.decoder.simulates()
        {
            return Ok(self.decoder.simulate(events, member, &mut self.decoded, &mut self.runs)?);
        }
        let foresees = !self.foreseeing.is_empty();
        let wanted = Wanted {
            lookups: foresees || self.members.iter().any(|m| m.food() != Food::Runs),
            runs: self.members.iter().any(|m| m.food() == Food::Runs),
            repeats: foresees
                || self.members.iter().any(|m| m.food() == Food::EveryLookup || m.tells_stores_apart()),
        };
        self.decoder.decode(events, wanted, &mut self.decoded, &mut self.runs)?;
        let pages = self.decoder.table().pages();
        for member in &mut self.members {
            member.feed(&self.decoded, &self.runs, pages);
        }
        if foresees {
            self.recording.push(&self.decoded)?;
        }
        Ok(())
    }

    fn finish(&mut self, limit: usize) -> Result<(), SimulationError> {
        let recording = std::mem::replace(&mut self.recording, Recording::new(limit));
        let pages = self.decoder.table().pages();
        for member in &mut self.foreseeing {
            recording.replay(member, pages);
        }
        Ok(())
    }
}
