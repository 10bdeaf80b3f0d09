//! Belady's optimum: a recording of the lookups, next uses computed backwards, then a replay.

use super::SimulationError;
use super::configuration::Configuration;
use super::decode::{CLASS_SHIFT, Control, Decoded, PAGE_MASK};
use crate::page::{Page, PageId};

/// Never used again, or only after an invalidation.
const NEVER: u32 = u32::MAX;

/// Every lookup, kept up to a limit, and what happens between them.
pub(super) struct Recording {
    chunks: Decoded,
    limit: usize,
}

impl Recording {
    pub(super) fn new(limit: usize) -> Self {
        // A time is 32 bits wide.
        Recording { chunks: Decoded::default(), limit: limit.min(NEVER as usize) }
    }

    pub(super) fn push(&mut self, chunk: &Decoded) -> Result<(), SimulationError> {
        let all = &mut self.chunks;
        let before = all.lookups.len();
        if before + chunk.lookups.len() + all.controls.len() + chunk.controls.len() > self.limit {
            return Err(SimulationError::FutureTooLong { limit: self.limit });
        }
        all.lookups.extend_from_slice(&chunk.lookups);
        all.controls.extend(chunk.controls.iter().map(|&(at, control)| (before + at, control)));
        Ok(())
    }

    /// Simulates `member` with knowledge of the future.
    pub(super) fn replay(&self, member: &mut Configuration, pages: &[Page]) {
        member.extend(pages);
        let next = self.next_uses(member, pages);
        for (range, control) in self.chunks.stretches() {
            for at in range {
                let (class, page) = split(self.chunks.lookups[at]);
                member.tlbs().next_use(class, page, pages, next[at].into());
                member.lookup_alone(class, page, pages);
            }
            control.into_iter().for_each(|c| member.control(c, pages));
        }
    }

    /// For each lookup, when the TLB it looks in first is asked for the same page again.
    fn next_uses(&self, member: &mut Configuration, pages: &[Page]) -> Vec<u32> {
        let mut next = vec![NEVER; self.chunks.lookups.len()];
        let mut seen = vec![vec![NEVER; pages.len()]; member.tlbs().tlbs.len()];
        let stretches: Vec<_> = self.chunks.stretches().collect();
        for (range, control) in stretches.into_iter().rev() {
            if let Some(control) = control {
                for (tlb, seen) in seen.iter_mut().enumerate() {
                    forget(member, tlb, control, pages, seen);
                }
            }
            for at in range.rev() {
                let (class, page) = split(self.chunks.lookups[at]);
                if let Some(tlb) = member.tlbs().first_tlb(class, page, pages) {
                    next[at] = std::mem::replace(&mut seen[tlb][page as usize], at as u32);
                }
            }
        }
        next
    }
}

fn split(lookup: u32) -> (usize, PageId) {
    ((lookup >> CLASS_SHIFT) as usize, lookup & PAGE_MASK)
}

/// Pages that a control takes out of a TLB are of no use to it before.
fn forget(member: &Configuration, tlb: usize, control: Control, pages: &[Page], seen: &mut [u32]) {
    match control {
        Control::FlushPage(ids) => {
            for id in ids.into_iter().flatten() {
                if let Some(time) = seen.get_mut(id as usize) {
                    *time = NEVER;
                }
            }
        }
        Control::Switch if member.empties(tlb, control) => {
            let own = seen.iter_mut().zip(pages).filter(|(_, page)| page.space != 0);
            own.for_each(|(time, _)| *time = NEVER);
        }
        _ if member.empties(tlb, control) => seen.fill(NEVER),
        _ => {}
    }
}
