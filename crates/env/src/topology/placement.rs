//! How near two CPUs are, and which pair to take for each class of nearness.

use std::fmt;

use super::{Cpu, Topology};
use crate::{Missing, format_cpu_list};

/// How two different CPUs are placed to each other; `as_str` is the suffix of metric names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Placement {
    /// Two hardware threads of one core.
    Smt,
    /// Two cores that share a last-level cache.
    Core,
    /// Two cores of one NUMA node without a common last-level cache.
    CrossLlc,
    /// Two cores on different NUMA nodes.
    Node,
}

impl Placement {
    /// All classes, nearest first.
    pub const ALL: [Placement; 4] = [Placement::Smt, Placement::Core, Placement::CrossLlc, Placement::Node];

    /// `smt`, `core`, `xllc` or `node`.
    pub fn as_str(self) -> &'static str {
        match self {
            Placement::Smt => "smt",
            Placement::Core => "core",
            Placement::CrossLlc => "xllc",
            Placement::Node => "node",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Placement::Smt => "two hardware threads of one core",
            Placement::Core => "two cores sharing a last-level cache",
            Placement::CrossLlc => "two cores of one node with separate last-level caches",
            Placement::Node => "two NUMA nodes",
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What makes a pair less welcome, most important first: mixed kinds of cores, less capacity, CPU 0.
type Cost = (bool, i64, bool);

impl Topology {
    /// The class of a pair; `None` when both are the same CPU or one is not online.
    ///
    /// Where no cache is described, the package stands for the last-level cache.
    pub fn placement(&self, a: usize, b: usize) -> Option<Placement> {
        let (a, b) = (self.cpu(a)?, self.cpu(b)?);
        (a.id != b.id).then(|| class(a, b))
    }

    /// The best pair of allowed CPUs of a class: cores of one kind before mixed ones, the most capable first,
    /// and CPU 0 (where most interrupts arrive) last. The error says what the machine or the CPU mask lacks.
    pub fn pair(&self, placement: Placement) -> Result<(usize, usize), Missing> {
        let cpus: Vec<&Cpu> = self.allowed.iter().filter_map(|&id| self.cpu(id)).collect();
        let mut best: Option<(Cost, (usize, usize))> = None;
        for (at, a) in cpus.iter().enumerate() {
            for b in &cpus[at + 1..] {
                if class(a, b) != placement {
                    continue;
                }
                let capacity = a.capacity.unwrap_or(0).min(b.capacity.unwrap_or(0));
                let cost = (a.capacity != b.capacity, -capacity, a.id == 0);
                if best.is_none_or(|(least, _)| cost < least) {
                    best = Some((cost, (a.id, b.id)));
                }
            }
        }
        best.map(|(_, pair)| pair).ok_or_else(|| {
            let allowed = format_cpu_list(&self.allowed);
            Missing::because(format!("no {} among the allowed CPUs {allowed}", placement.words()))
        })
    }
}

fn class(a: &Cpu, b: &Cpu) -> Placement {
    let same_cache = match (a.llc, b.llc) {
        (Some(a), Some(b)) => a == b,
        _ => a.package == b.package,
    };
    if a.core == b.core {
        Placement::Smt
    } else if a.node != b.node {
        Placement::Node
    } else if same_cache {
        Placement::Core
    } else {
        Placement::CrossLlc
    }
}
