//! Latency from the CPUs of each NUMA node to the memory of each, with the placement verified page by page.

use environment::Topology;
use serde::Serialize;

use crate::backing::{Mapping, Protection, page_bytes};
use crate::sampler::Sampler;

use super::footprint::Limits;
use super::measure::latency_of;
use super::ring::{Pattern, Ring};

/// One cell of the matrix.
#[derive(Clone, Debug, Serialize)]
pub struct NodeLatency {
    /// Node of the CPU.
    pub cpu_node: usize,
    /// Node of the memory.
    pub memory_node: usize,
    /// Distance the firmware states (10 = local).
    pub distance: Option<u32>,
    /// ns per load.
    pub ns: Option<f64>,
    /// Share of sampled pages that really lie on that node.
    pub verified: Option<f64>,
    /// Why a number is missing.
    pub reason: Option<String>,
}

const MPOL_BIND: libc::c_long = 2;
/// Pages asked about by `move_pages`.
const SAMPLED: usize = 256;

/// Every node with CPUs we may use, to every node with memory; nothing where the machine describes no nodes.
pub fn matrix(
    sampler: &mut Sampler,
    topology: &Topology,
    cpus: &[usize],
    limits: &Limits,
    seed: u64,
) -> Vec<NodeLatency> {
    let mut cells = Vec::new();
    let before = harness::allowed_cpus().unwrap_or_default();
    for from in &topology.nodes {
        let Some(&cpu) = from.cpus.iter().rev().find(|cpu| cpus.contains(cpu)) else { continue };
        for (at, to) in topology.nodes.iter().enumerate() {
            if to.memory_kb == Some(0) {
                continue;
            }
            let mut cell = NodeLatency {
                cpu_node: from.id,
                memory_node: to.id,
                distance: from.distances.get(at).copied(),
                ns: None,
                verified: None,
                reason: None,
            };
            let measured = harness::pin_to(&[cpu]).and_then(|()| measure(sampler, to.id, limits, seed));
            match measured {
                Ok((ns, verified)) => (cell.ns, cell.verified) = (Some(ns), Some(verified)),
                Err(reason) => cell.reason = Some(reason),
            }
            cells.push(cell);
        }
    }
    let _ = harness::pin_to(&before);
    cells
}

fn measure(sampler: &mut Sampler, node: usize, limits: &Limits, seed: u64) -> Result<(f64, f64), String> {
    let bytes = (limits.most as usize / 2).next_multiple_of(page_bytes());
    let mapping = Mapping::anonymous(bytes, 1 << 21, Protection::Write).map_err(|e| e.to_string())?;
    let _ = mapping.advise(libc::MADV_NOHUGEPAGE);
    bind(&mapping, node)?;
    let base = mapping.base();
    let mut ring = Ring::over(mapping, bytes, Pattern::Random, seed)?;
    let verified = on_node(base, bytes, node)?;
    if verified < 0.99 {
        return Err(format!("{:.0} % of the pages lie on node {node} (move_pages)", 100.0 * verified));
    }
    ring.settle(limits.last_level);
    Ok((latency_of(sampler, &mut ring).1, verified))
}

fn bind(mapping: &Mapping, node: usize) -> Result<(), String> {
    let mut mask = vec![0 as libc::c_ulong; node / 64 + 1];
    mask[node / 64] = 1 << (node % 64);
    // SAFETY: the mask is as long as said; the range is our own.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mbind,
            mapping.base(),
            mapping.len(),
            MPOL_BIND,
            mask.as_ptr(),
            mask.len() * 64 + 1,
            0,
        )
    };
    if done == 0 { Ok(()) } else { Err(format!("mbind: {}", std::io::Error::last_os_error())) }
}

/// Share of up to [`SAMPLED`] pages, evenly spread, that lie on `node`.
fn on_node(base: *mut u8, bytes: usize, node: usize) -> Result<f64, String> {
    let step = (bytes / SAMPLED).next_multiple_of(page_bytes()).max(page_bytes());
    let pages: Vec<*mut u8> = (0..bytes).step_by(step).map(|offset| base.wrapping_add(offset)).collect();
    let mut status = vec![-1i32; pages.len()];
    // SAFETY: both arrays are as long as said; without target nodes the call only asks.
    let done = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            0,
            pages.len(),
            pages.as_ptr(),
            std::ptr::null::<i32>(),
            status.as_mut_ptr(),
            0,
        )
    };
    if done < 0 {
        return Err(format!("move_pages: {}", std::io::Error::last_os_error()));
    }
    let there = status.iter().filter(|&&s| s == node as i32).count();
    Ok(there as f64 / pages.len() as f64)
}
