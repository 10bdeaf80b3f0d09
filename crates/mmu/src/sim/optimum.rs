//! Belady's optimum: a recording of the runs, next uses computed backwards, then a replay.

use super::SimulationError;
use super::configuration::Configuration;
use super::decode::Control;
use super::runs::{Run, Runs};
use crate::page::{Page, PageId};

/// Never used again, or only after an invalidation.
const NEVER: u64 = u64::MAX;

enum Step {
    Run(Run),
    Control(Control),
}

/// The compressed stream, kept up to a limit.
pub(super) struct Recording {
    steps: Vec<Step>,
    limit: usize,
}

impl Recording {
    pub(super) fn new(limit: usize) -> Self {
        Recording { steps: Vec::new(), limit }
    }

    pub(super) fn push(&mut self, runs: &Runs) -> Result<(), SimulationError> {
        if self.steps.len() + runs.runs.len() + runs.controls.len() > self.limit {
            return Err(SimulationError::FutureTooLong { limit: self.limit });
        }
        for (part, control) in runs.parts() {
            self.steps.extend(part.iter().map(|&r| Step::Run(r)));
            self.steps.extend(control.map(Step::Control));
        }
        Ok(())
    }

    /// Simulates `member` with knowledge of the future.
    pub(super) fn replay(&self, member: &mut Configuration, pages: &[Page]) {
        member.extend(pages);
        let unified = member.unified();
        let flushes = |c: Control| member.empties(c);
        let next = self.next_uses(pages, unified, flushes);
        for (at, step) in self.steps.iter().enumerate() {
            match step {
                Step::Run(run) => replay_run(member, run, at as u64, next[at], pages),
                Step::Control(control) => member.control(*control, pages),
            }
        }
    }

    /// For each step, when its instruction page and its data page are used next after it. Times are
    /// `4 * step + position`: the first page of a run is used at position 0, the second at 1, and a run with
    /// three or more stretches uses the first again at 2, the second at 3.
    fn next_uses(&self, pages: &[Page], unified: bool, empties: impl Fn(Control) -> bool) -> Vec<[u64; 2]> {
        let mut seen = [vec![NEVER; pages.len()], if unified { vec![] } else { vec![NEVER; pages.len()] }];
        let table = |side: usize| if unified { 0 } else { side };
        let mut out = vec![[NEVER; 2]; self.steps.len()];
        for (at, step) in self.steps.iter().enumerate().rev() {
            match step {
                Step::Run(run) => {
                    for side in (0..2).filter(|&s| run.count[s] > 0) {
                        out[at][side] = seen[table(side)][run.page[side] as usize];
                    }
                    let first = run.first as usize;
                    for (position, side) in [(1, first ^ 1), (0, first)] {
                        if run.count[side] > 0 {
                            seen[table(side)][run.page[side] as usize] = 4 * at as u64 + position;
                        }
                    }
                }
                Step::Control(Control::Switch) if empties(Control::Switch) => {
                    for s in &mut seen {
                        s.iter_mut().zip(pages).filter(|(_, p)| p.space != 0).for_each(|(t, _)| *t = NEVER);
                    }
                }
                Step::Control(control @ (Control::FlushAll | Control::Sync)) if empties(*control) => {
                    seen.iter_mut().for_each(|s| s.fill(NEVER));
                }
                Step::Control(Control::FlushPage(ids)) => {
                    for &id in ids.iter().flatten() {
                        seen.iter_mut().filter_map(|s| s.get_mut(id as usize)).for_each(|t| *t = NEVER);
                    }
                }
                Step::Control(_) => {}
            }
        }
        out
    }
}

fn replay_run(member: &mut Configuration, run: &Run, at: u64, after: [u64; 2], pages: &[Page]) {
    member.count_run(run, pages);
    let same = run.page[0] == run.page[1] && run.count[0] > 0 && run.count[1] > 0;
    let mut side = run.first as usize;
    for done in 1..=run.stretches {
        let left = run.stretches - done;
        let page: PageId = run.page[side];
        // With one stretch left it is the other page's; with two or more this page comes again here.
        let again = left >= 2 || (same && left >= 1);
        let time = if again { 4 * at + 2 + u64::from(done > 1) } else { after[side] };
        member.tlbs().next_use(side, page, pages, time);
        let hit = member.lookup(side, page, pages);
        if hit && done > 1 && left > 1 {
            // Both are in and stay in; only their next uses after the run still have to be told.
            for side in [side ^ 1, side] {
                member.tlbs().next_use(side, run.page[side], pages, after[side]);
                member.tlbs().first_hit(side, run.page[side], pages);
            }
            return;
        }
        side ^= 1;
    }
}
