//! Keeps the other hardware threads of the core from doing work that takes TLB entries.
//!
//! While one of our threads spins on a sibling CPU, nothing else runs there: a spinning thread needs two pages, other work
//! hundreds. On a busy machine it gets a share of the CPU only, and the sentinel tells which batches fell into it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use environment::Topology;

/// A guest that is told of no siblings may have any of its CPUs as one: all are guarded when there are no more than these.
const FEW_CPUS: usize = 8;

/// Threads that spin until this is dropped.
pub struct Guard {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Guard {
    /// Spins on each of `cpus`; one that can't be had is left out.
    pub fn over(cpus: &[usize]) -> Guard {
        let stop = Arc::new(AtomicBool::new(false));
        let spin = |cpu: usize| {
            let stop = Arc::clone(&stop);
            let thread = move || {
                if harness::pin_to(&[cpu]).is_ok() {
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                }
            };
            std::thread::Builder::new().name("guard".into()).spawn(thread).ok()
        };
        let threads = cpus.iter().filter_map(|&cpu| spin(cpu)).collect();
        Guard { stop, threads }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that panicked has nothing to hand over.
            let _ = thread.join();
        }
    }
}

/// Those of the `allowed` CPUs that are hardware threads of the core of `cpu` or, in a guest that is told of none, may be.
pub fn siblings(topology: &Topology, allowed: &[usize], cpu: usize, guest: bool) -> Vec<usize> {
    let others = || allowed.iter().copied().filter(|&other| other != cpu);
    let core = topology.cpu(cpu).map(|c| c.core);
    let known: Vec<usize> =
        others().filter(|&other| core.is_some() && topology.cpu(other).map(|c| c.core) == core).collect();
    if known.is_empty() && guest && allowed.len() <= FEW_CPUS { others().collect() } else { known }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_ends_when_dropped() {
        let guard = Guard::over(&[0]);
        let stop = Arc::clone(&guard.stop);
        assert_eq!(guard.threads.len(), 1);
        drop(guard);
        assert!(stop.load(Ordering::Relaxed));
        assert_eq!(Arc::strong_count(&stop), 1, "the thread is gone");
    }

    #[test]
    fn only_a_small_guest_guards_cpus_that_are_not_known_as_siblings() {
        let topology =
            Topology { allowed: vec![], cpus: vec![], caches: vec![], nodes: vec![], assumed: true };
        let few: Vec<usize> = (0..4).collect();
        assert_eq!(siblings(&topology, &few, 1, true), [0, 2, 3]);
        assert!(siblings(&topology, &few, 1, false).is_empty());
        let many: Vec<usize> = (0..64).collect();
        assert!(siblings(&topology, &many, 1, true).is_empty());
    }
}
