//! Taking a part of a trace: by process, thread, mode or phase.

use crate::event::{Event, Kind};

/// User or kernel, by the address of the instruction being executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The last fetch was below the kernel's first address.
    User,
    /// It was at or above it.
    Kernel,
}

/// What to keep; an empty list keeps everything.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Processes.
    pub pids: Vec<u64>,
    /// Threads.
    pub tids: Vec<u64>,
    /// Mode.
    pub mode: Option<Mode>,
    /// First kernel address, for `mode`.
    pub kernel_from: u64,
    /// Phases, by number; what comes before the first marker is phase 0.
    pub phases: Vec<u64>,
    /// A store to the 4096-byte page of this address begins the next phase and is itself left out.
    pub mark: Option<u64>,
}

/// A selection being applied to a stream.
pub struct Filter {
    selection: Selection,
    now: Now,
}

#[derive(Clone, Copy, Debug, Default)]
struct Now {
    task: u64,
    phase: u64,
    kernel: bool,
}

impl Selection {
    /// Whether this selection changes nothing.
    pub fn keeps_all(&self) -> bool {
        self.pids.is_empty()
            && self.tids.is_empty()
            && self.mode.is_none()
            && self.phases.is_empty()
            && self.mark.is_none()
    }
}

impl Filter {
    /// A filter at the beginning of a stream.
    pub fn new(selection: Selection) -> Self {
        Filter { selection, now: Now::default() }
    }

    /// Drops what is not wanted and turns marker stores into phase records. Changes of address space and
    /// invalidations are always kept: they happened, whoever caused them.
    pub fn apply(&mut self, events: &mut Vec<Event>) {
        for event in events.iter_mut() {
            if let (Some(mark), Kind::Write) = (self.selection.mark, event.kind)
                && event.addr >> 12 == mark >> 12
            {
                *event = Event::control(Kind::Phase, u64::MAX);
            }
        }
        events.retain_mut(|event| self.keep(event));
    }

    fn keep(&mut self, event: &mut Event) -> bool {
        match event.kind {
            Kind::Phase => {
                if event.addr == u64::MAX {
                    event.addr = self.now.phase + 1;
                }
                self.now.phase = event.addr;
                return true;
            }
            Kind::Task => {
                self.now.task = event.addr;
                return true;
            }
            Kind::Fetch => self.now.kernel = event.addr >= self.selection.kernel_from,
            Kind::Read | Kind::Write | Kind::Modify => {}
            _ => return true,
        }
        let any = |list: &[u64], value| list.is_empty() || list.contains(&value);
        let mode = if self.now.kernel { Mode::Kernel } else { Mode::User };
        let wanted = &self.selection;
        any(&wanted.pids, self.now.task >> 32)
            && any(&wanted.tids, self.now.task & 0xffff_ffff)
            && any(&wanted.phases, self.now.phase)
            && wanted.mode.is_none_or(|m| m == mode)
    }
}
