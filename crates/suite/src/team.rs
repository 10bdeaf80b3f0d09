//! Threads of this process, one pinned to each of some CPUs, that begin together.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{Builder, ScopedJoinHandle};

use harness::pin_to;
use harness::prelude::*;

/// Runs `work(index, stop)` on a pinned thread per CPU of `cpus`. All begin when the last one is in place; meanwhile
/// `conduct` runs on the calling thread, and when it returns `stop` is set. Returns what each thread returned, in the
/// order of `cpus`, and what `conduct` did.
pub(crate) fn together<T: Send, R>(
    cpus: &[usize],
    work: impl Fn(usize, &AtomicBool) -> Result<T, Stop> + Sync,
    conduct: impl FnOnce() -> R,
) -> Result<(Vec<T>, R), Stop> {
    let (ready, stop, abandoned) = (AtomicUsize::new(0), AtomicBool::new(false), AtomicBool::new(false));
    let wait = || {
        while ready.load(Ordering::Acquire) < cpus.len() {
            if abandoned.load(Ordering::Relaxed) {
                return Err(Stop::skip("not every thread could be started"));
            }
            std::thread::yield_now();
        }
        Ok(())
    };
    let member = |index: usize, cpu: usize| {
        let pinned = pin_to(&[cpu]);
        ready.fetch_add(1, Ordering::AcqRel);
        wait()?;
        pinned.map_err(Stop::Skip)?;
        work(index, &stop)
    };
    std::thread::scope(|scope| {
        let member = &member;
        let mut members = Vec::new();
        let mut refused = None;
        for (index, &cpu) in cpus.iter().enumerate() {
            match Builder::new().stack_size(256 << 10).spawn_scoped(scope, move || member(index, cpu)) {
                Ok(thread) => members.push(thread),
                Err(error) => {
                    abandoned.store(true, Ordering::Relaxed);
                    refused = Some(Stop::unavailable("starting a thread", &error));
                    break;
                }
            }
        }
        let conducted = if refused.is_none() { wait().ok().map(|()| conduct()) } else { None };
        stop.store(true, Ordering::Relaxed);
        let results: Result<Vec<T>, Stop> = members.into_iter().map(join).collect();
        match (refused, conducted) {
            (Some(refused), _) => Err(refused),
            (None, Some(conducted)) => Ok((results?, conducted)),
            (None, None) => Err(Stop::skip("not every thread could be started")),
        }
    })
}

fn join<T>(thread: ScopedJoinHandle<Result<T, Stop>>) -> Result<T, Stop> {
    thread.join().unwrap_or_else(|_| Err(Stop::fail("a thread ended early")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use harness::allowed_cpus;

    #[test]
    fn all_run_until_the_conductor_is_done_and_a_failure_is_told() {
        let cpus = allowed_cpus().unwrap();
        let (rounds, answer) = together(
            &cpus,
            |_, stop| {
                let mut rounds = 0u64;
                while !stop.load(Ordering::Relaxed) {
                    rounds += 1;
                }
                Ok(rounds)
            },
            || {
                std::thread::sleep(std::time::Duration::from_millis(20));
                7
            },
        )
        .unwrap();
        assert_eq!((rounds.len(), answer), (cpus.len(), 7));
        let failed = together(&cpus, |_, _| Err::<(), _>(Stop::fail("x")), || ());
        assert!(matches!(failed, Err(Stop::Fail(_))));
        assert!(matches!(together(&[100_000], |_, _| Ok(()), || ()), Err(Stop::Skip(_))));
    }
}
