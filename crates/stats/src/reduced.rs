//! What all pairs of a table share, computed once: with a thousand configurations there are as many pairs, and the
//! spread pooled over all of them is the same for each.

use crate::blocks::{self, Block};
use crate::legacy::{self, Group, Pooled};
use crate::modes;
use crate::sittings::Sittings;
use crate::table::{Layout, Measured, Table};

/// One metric, reduced.
pub struct Reduced<'a> {
    /// The metric.
    pub metric: &'a Measured,
    /// Logs by rising block number, per configuration; empty unless the order is controlled.
    pub by_block: Vec<Vec<Block>>,
    /// Spread and rounding of each configuration.
    pub groups: Vec<Option<Group>>,
    /// Spread pooled over all configurations, each at least its rounding's.
    pub pooled: Option<Pooled>,
    /// The same as it was seen.
    pub seen: Option<Pooled>,
    /// Sittings of each configuration; only for stored records.
    pub sittings: Option<Sittings>,
    /// Log between two modes, when there are two.
    pub mode_threshold: Option<f64>,
}

impl<'a> Reduced<'a> {
    /// All metrics of a table.
    pub fn all(table: &'a Table) -> Vec<Reduced<'a>> {
        table.metrics.iter().map(|metric| Reduced::of(metric, &table.layout)).collect()
    }

    fn of(metric: &'a Measured, layout: &Layout) -> Self {
        let groups = legacy::groups(metric);
        let in_blocks = |cell| if layout.controlled() { blocks::logs_by_block(cell) } else { Vec::new() };
        Reduced {
            metric,
            by_block: metric.cells.iter().map(in_blocks).collect(),
            pooled: legacy::pool(groups.iter().flatten(), true),
            seen: legacy::pool(groups.iter().flatten(), false),
            sittings: (*layout == Layout::Sittings).then(|| Sittings::of(metric, &groups)),
            mode_threshold: modes::threshold(&groups),
            groups,
        }
    }

    /// Both sides' groups, where both were measured.
    pub fn pair(&self, base: usize, other: usize) -> Option<(&Group, &Group)> {
        Some((self.groups[base].as_ref()?, self.groups[other].as_ref()?))
    }

    /// ln(other / base) of each block in which both were measured, by rising block number, up to block `last`.
    pub fn differences(&self, base: usize, other: usize, last: u32) -> Vec<(u32, f64)> {
        blocks::differences(&self.by_block[base], &self.by_block[other], last)
    }
}
