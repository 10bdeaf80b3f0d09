//! How the numbers were taken, and whether they may be compared at all.

use std::collections::BTreeSet;

use serde_json::Value;
use stats::{Layout, Measured, Plan};

use super::Named;

/// Finds the layout. One record of ours whose plan interleaved its configurations is controlled, under the error plan
/// in its header; several stored records are sittings; foreign numbers are what their blocks and slots show.
pub fn of(records: &[Named], metrics: &[Measured]) -> Layout {
    let own = records.iter().all(|named| named.record.header.plan.kind != "import");
    match records {
        [one] if own && one.record.header.plan.controlled_order => {
            let plan = &one.record.header.plan;
            let alpha = plan.alpha.unwrap_or(if plan.looks.is_empty() { 0.05 } else { 0.01 });
            Layout::Blocks(Plan { looks: plan.looks.clone(), alpha })
        }
        _ if own && records.len() > 1 => Layout::Sittings,
        _ => by_slots(metrics),
    }
}

/// Judges by blocks and slots alone: interleaved when they are known, shared by all configurations, and not all of one
/// before all of another.
fn by_slots(metrics: &[Measured]) -> Layout {
    let count = metrics.iter().map(|m| m.cells.len()).max().unwrap_or(0);
    let mut slots: Vec<Vec<u32>> = vec![Vec::new(); count];
    let mut blocks: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); count];
    let mut all_in_blocks = true;
    for metric in metrics {
        for (c, cell) in metric.cells.iter().enumerate() {
            for observation in &cell.observations {
                all_in_blocks &= observation.block.is_some();
                blocks[c].extend(observation.block);
                slots[c].extend(observation.slot.or(observation.block));
            }
        }
    }
    if Layout::is_sequential(&slots) {
        return Layout::Sequential;
    }
    let shared = blocks.windows(2).all(|pair| pair[0].intersection(&pair[1]).count() >= 2);
    if count > 1 && all_in_blocks && shared { Layout::Blocks(Plan::fixed()) } else { Layout::Unknown }
}

/// Basic system parameters of foreign tables that name the machine: where they differ, two machines are compared.
const IDENTITY: [&str; 3] = ["mhz", "tlb", "cache line"];

/// Says which of them differ. `environments` are name, foreign or not, and fields.
pub fn different_machines(environments: &[(String, bool, Value)]) -> Vec<String> {
    let foreign: Vec<_> = environments.iter().filter(|(_, foreign, _)| *foreign).collect();
    let mut why = Vec::new();
    for key in IDENTITY {
        let values: Vec<(&str, &Value)> =
            foreign.iter().filter_map(|(name, _, env)| Some((name.as_str(), field(env, key)?))).collect();
        if values.windows(2).any(|pair| !agree(pair[0].1, pair[1].1)) {
            let list: Vec<String> = values.iter().map(|(name, value)| format!("{name} {value}")).collect();
            why.push(format!("{key} differs: {}", list.join(", ")));
        }
    }
    why
}

fn field<'v>(environment: &'v Value, key: &str) -> Option<&'v Value> {
    let fields = environment.as_object()?;
    fields
        .iter()
        .find(|(name, _)| name.to_ascii_lowercase().trim_start_matches("lmbench/") == key)
        .map(|(_, v)| v)
}

/// Equal, or numbers within 2 % (a clock measured by guess).
fn agree(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => (a - b).abs() <= 0.02 * a.abs().max(b.abs()),
        _ => a == b,
    }
}
