//! `wake.futex.*`, `wake.pipe.*`: waking a process that sleeps on another CPU.
//!
//! Timed: from just before the waker's system call on its CPU to the sleeper's next user instruction on the other,
//! by two stamps of one clock. Per wake-up, one way. The sleeper announces that it will sleep; the waker waits
//! another 30 µs before it wakes, so that the sleeper's CPU is idle if nothing else runs there. On an idle machine
//! the number is mostly the exit from the idle state (in a guest: the hypervisor's wake-up of the virtual CPU).
//! `.nodeep` asks the kernel through `/dev/cpu_dma_latency` to keep CPUs out of idle states that take time to leave.
//! Proof: each wake-up carries its number, which the sleeper answers; the share of wake-ups for which it really gave up
//! its CPU (getrusage) is in the record, for a loaded machine may keep it from going to sleep in time.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use harness::Clock;
use harness::prelude::*;

use super::idle::{self, HoldOff};
use crate::ipc::futex::{wait_while, wake};
use crate::ipc::pipe::pipe;
use crate::placed::across_cpus;
use crate::shared::{Board, SharedBoard};

/// How long the sleeper sleeps before it is woken, ns.
const ASLEEP_NS: f64 = 30_000.0;

/// The families.
pub fn benchmarks() -> Vec<Benchmark> {
    let futex = "From a futex wake on one CPU to the sleeper's next instruction on another";
    let pipe = "From a pipe write on one CPU to the sleeper's next instruction on another";
    let held = ", idle states that take time to leave held off";
    let mut all = across_cpus("wake.futex", "", "wake-up", futex, |b, m| run::<Futex>(b, m, false));
    all.extend(across_cpus("wake.futex", ".nodeep", "wake-up", &format!("{futex}{held}"), |b, m| {
        run::<Futex>(b, m, true)
    }));
    all.extend(across_cpus("wake.pipe", "", "wake-up", pipe, |b, m| run::<Pipe>(b, m, false)));
    all.extend(across_cpus("wake.pipe", ".nodeep", "wake-up", &format!("{pipe}{held}"), |b, m| {
        run::<Pipe>(b, m, true)
    }));
    all
}

/// A way to sleep and be woken.
trait Bell: Sized {
    fn new() -> Result<Self, Stop>;
    /// Sleeps until rung for the `number`th time.
    fn sleep(&self, board: &Board, number: u64) -> Result<(), Stop>;
    fn ring(&self, board: &Board, number: u64) -> Result<(), Stop>;
}

struct Futex;

impl Bell for Futex {
    fn new() -> Result<Self, Stop> {
        Ok(Futex)
    }

    fn sleep(&self, board: &Board, number: u64) -> Result<(), Stop> {
        wait_while(&board.futex[0].0, (number as u32).wrapping_sub(1)).map(|_| ())
    }

    fn ring(&self, board: &Board, number: u64) -> Result<(), Stop> {
        board.futex[0].0.store(number as u32, Ordering::Release);
        wake(&board.futex[0].0).map(|_| ())
    }
}

struct Pipe {
    from: OwnedFd,
    to: OwnedFd,
}

impl Bell for Pipe {
    fn new() -> Result<Self, Stop> {
        pipe().map(|(from, to)| Pipe { from, to })
    }

    fn sleep(&self, _: &Board, _: u64) -> Result<(), Stop> {
        check(rustix::io::read(&self.from, &mut [0]) == Ok(1), "the sleeper's read")
    }

    fn ring(&self, _: &Board, _: u64) -> Result<(), Stop> {
        check(rustix::io::write(&self.to, &[0]) == Ok(1), "the waker's write")
    }
}

/// The sleeper's counters: last sleep announced, last wake-up answered, when that was, and how often it has slept.
struct Sleeper<'a> {
    announced: &'a AtomicU64,
    answered: &'a AtomicU64,
    woken_at: &'a AtomicU64,
    slept: &'a AtomicU64,
}

impl Sleeper<'_> {
    fn of(board: &Board) -> Sleeper<'_> {
        let [announced, answered, woken_at, slept] = &board.count;
        Sleeper { announced: &announced.0, answered: &answered.0, woken_at: &woken_at.0, slept: &slept.0 }
    }
}

fn run<B: Bell>(bench: &mut Bench, metric: &str, held_off: bool) -> Result<(), Stop> {
    let hold_off = if held_off { Some(HoldOff::request()?) } else { None };
    bench.note(metric, "cpuidle_driver", idle::driver());
    let board = SharedBoard::new()?;
    let bell = B::new()?;
    let clock = bench.job().clock;
    let peer = Peer::spawn(bench.peer_cpu(), || sleep_on(&bell, &board, clock))?;
    let sleeper = Sleeper::of(&board);
    let mut number = 0u64;
    bench.measure_up_to(metric, 200, |wake_ups, timer| {
        for _ in 0..wake_ups {
            number += 1;
            await_number(sleeper.announced, number);
            let asleep_since = timer.stamp();
            while timer.ns(timer.stamp().saturating_sub(asleep_since)) < ASLEEP_NS {
                std::hint::spin_loop();
            }
            let rung_at = timer.stamp();
            bell.ring(&board, number)?;
            await_number(sleeper.answered, number);
            let woken_at = sleeper.woken_at.load(Ordering::Relaxed);
            check(woken_at > rung_at, "the two CPUs' clocks agree")?;
            timer.add(rung_at, woken_at);
        }
        Ok(())
    })?;
    bench.note(metric, "slept_share", sleeper.slept.load(Ordering::Relaxed) as f64 / number as f64);
    drop(peer);
    drop(hold_off);
    Ok(())
}

fn sleep_on(bell: &impl Bell, board: &Board, clock: Clock) -> Result<(), Stop> {
    let sleeper = Sleeper::of(board);
    let mut switches = crate::switches::voluntary();
    for number in 1.. {
        sleeper.announced.store(number, Ordering::Release);
        bell.sleep(board, number)?;
        sleeper.woken_at.store(clock.stamp(), Ordering::Relaxed);
        let now = crate::switches::voluntary();
        sleeper.slept.fetch_add(u64::from(now > switches), Ordering::Relaxed);
        switches = now;
        sleeper.answered.store(number, Ordering::Release);
    }
    Ok(())
}

/// Spins until `counter` reaches `number`; gives the CPU up now and then, for machines where both sides share one.
fn await_number(counter: &AtomicU64, number: u64) {
    let mut spins = 0u32;
    while counter.load(Ordering::Acquire) < number {
        spins = spins.wrapping_add(1);
        if spins.is_multiple_of(1024) {
            std::thread::yield_now();
        }
        std::hint::spin_loop();
    }
}
