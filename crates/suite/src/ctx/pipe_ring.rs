//! `ctx.pipe.*`: a token goes round a ring of processes joined by pipes, all on one CPU.
//!
//! Timed: laps of a 4-byte token round a ring of 2, 8 or 16 processes. Each process, when the token comes, reads it,
//! adds 1, sums an array of its own of 0, 16 or 64 KiB, and writes it on. Per switch (lap time over processes). The
//! number contains, by design, the pipe read and write, the sum, and the cache refill that the other arrays force.
//! `ctx.pipe.ring.*` is the same ring with one process: read, sum and write without any switch, caches warm. It
//! stands beside the others and is never subtracted from them: what a switch adds depends on the caches.
//! Proof: the token counts its hops; every sum is checked; and all processes together were switched (getrusage) at
//! least once per hop.

use std::os::fd::OwnedFd;

use harness::prelude::*;

use super::vectors::Vectors;
use crate::ipc::pipe::pipe;
use crate::switches;

/// The family.
pub fn benchmarks() -> Vec<Benchmark> {
    let rings = [1, 2, 8, 16];
    let mut all: Vec<Benchmark> =
        rings.iter().flat_map(|&processes| [0, 16, 64].map(|kib| ring(processes, kib))).collect();
    all.push(with_vectors());
    all
}

/// The ring of two with full vector registers.
fn with_vectors() -> Benchmark {
    let name = "ctx.pipe.2p.0k.vector";
    let declared = time(
        name,
        "switch",
        "As ctx.pipe.2p.0k, with the machine's widest vector registers in use in both processes.",
    );
    Benchmark::new(name, move |bench| {
        let vectors = Vectors::widest()?;
        bench.note(name, "vectors", vectors.name());
        run(bench, name, 2, 0, Some(vectors))
    })
    .metric(declared.blocking())
}

fn ring(processes: usize, kib: usize) -> Benchmark {
    let (name, doc) = if processes == 1 {
        let name = format!("ctx.pipe.ring.{kib}k");
        let doc = format!(
            "A pipe write, a read and the sum of {kib} KiB in one process: what a hop of ctx.pipe.*.{kib}k costs \
             without a switch, caches warm. Never subtracted."
        );
        (name, doc)
    } else {
        let name = format!("ctx.pipe.{processes}p.{kib}k");
        let doc = format!(
            "A token's hop to the next of {processes} processes on one CPU through a pipe; each sums its own {kib} KiB."
        );
        (name, doc)
    };
    let per = if processes == 1 { "hop" } else { "switch" };
    let mut declared = time(&name, per, doc);
    if processes > 1 {
        declared = declared.blocking();
    }
    if kib > 0 {
        // The first definition summed one word at a time.
        declared = declared.definition(2);
    }
    if (processes, kib) == (2, 0) {
        declared = declared.with_tails();
    }
    Benchmark::new(name.clone(), move |bench| run(bench, &name, processes, kib, None))
        .metric(declared)
        .memory((4 << 20) + ((processes * kib) as u64 * 1024))
}

/// The array of one process and the sum it must have.
struct Array {
    words: Vec<u64>,
    sum: u64,
}

impl Array {
    fn new(kib: usize) -> Self {
        let words: Vec<u64> = (0..kib as u64 * 1024 / 8).collect();
        let sum = words.iter().sum();
        Array { words, sum }
    }

    /// Loads every word, 8 bytes each, and compares the sum. Several loads and sums run side by side, so that the array
    /// costs what its cache lines cost, not what a loop does.
    fn sums_up(&self) -> bool {
        // SAFETY: word is a live reference; the volatile load keeps the compiler from folding the sum.
        let load = |word: &u64| unsafe { std::ptr::read_volatile(word) };
        let mut sums = [0u64; 8];
        let eights = self.words.chunks_exact(sums.len());
        let rest = eights.remainder();
        for eight in eights {
            for (sum, word) in sums.iter_mut().zip(eight) {
                *sum = sum.wrapping_add(load(word));
            }
        }
        let sum = sums.iter().copied().chain(rest.iter().map(load)).fold(0u64, u64::wrapping_add);
        sum == self.sum
    }
}

/// One process's place in the ring.
pub(super) struct Place {
    from: OwnedFd,
    to: OwnedFd,
    array: Array,
    /// Vector registers to fill before every system call.
    vectors: Option<Vectors>,
}

impl Place {
    /// A place without an array.
    pub(super) fn between(from: OwnedFd, to: OwnedFd) -> Self {
        Place { from, to, array: Array::new(0), vectors: None }
    }

    /// Waits for the token, adds 1 and sums the array; `None` when the ring has ended.
    fn take(&self) -> Result<Option<u32>, Stop> {
        let mut token = [0u8; 4];
        self.fill_vectors();
        if rustix::io::read(&self.from, &mut token) != Ok(4) {
            return Ok(None);
        }
        check(self.array.sums_up(), "a sum is wrong")?;
        Ok(Some(u32::from_ne_bytes(token).wrapping_add(1)))
    }

    fn pass(&self, token: u32) -> bool {
        self.fill_vectors();
        rustix::io::write(&self.to, &token.to_ne_bytes()) == Ok(4)
    }

    fn fill_vectors(&self) {
        if let Some(vectors) = self.vectors {
            vectors.fill();
        }
    }
}

fn run(
    bench: &mut Bench,
    metric: &str,
    processes: usize,
    kib: usize,
    vectors: Option<Vectors>,
) -> Result<(), Stop> {
    let (place, peers) = join_ring(bench.job().cpus.first().copied(), processes, kib, vectors)?;
    let one_cpu = harness::allowed_cpus().is_ok_and(|cpus| cpus.len() == 1);
    let switched_before = switches::all(libc::RUSAGE_THREAD);
    let (mut token, mut hops) = (0u32, 0u64);
    bench.measure(metric, |laps, timer| {
        let hops_now = laps * processes as u64;
        let expected = token.wrapping_add(hops_now as u32);
        timer.time(|| go_round(&place, &mut token, laps))?;
        check(token == expected, "the token did not count its hops")?;
        timer.worked(hops_now as f64);
        hops += hops_now;
        Ok(())
    })?;
    let own = switches::all(libc::RUSAGE_THREAD) - switched_before;
    // The peers see the end of the ring, and leave; their switches are known once they are reaped.
    drop(place);
    let before = switches::all(libc::RUSAGE_CHILDREN);
    for peer in peers {
        peer.join()?;
    }
    let switched = own + switches::all(libc::RUSAGE_CHILDREN) - before;
    bench.note(metric, "switches_per_hop", switched as f64 / hops as f64);
    check(
        processes == 1 || !one_cpu || switched >= hops,
        &format!("{hops} hops, but only {switched} context switches"),
    )
}

/// Sends the token round `laps` times.
pub(super) fn go_round(place: &Place, token: &mut u32, laps: u64) -> Result<(), Stop> {
    for _ in 0..laps {
        let next = if place.pass(*token) { place.take()? } else { None };
        *token = next.ok_or_else(|| Stop::fail("a process of the ring ended early"))?;
    }
    Ok(())
}

/// Forks the other processes of a ring on `cpu`; yields this process's place.
fn join_ring(
    cpu: Option<usize>,
    processes: usize,
    kib: usize,
    vectors: Option<Vectors>,
) -> Result<(Place, Vec<Peer>), Stop> {
    let mut pipes = (0..processes).map(|_| pipe()).collect::<Result<Vec<_>, Stop>>()?;
    let mut place = |number| Place { vectors, ..take_place(&mut pipes, number, kib) };
    let peers = (1..processes)
        .map(|number| Peer::spawn(cpu, || sit(&place(number))))
        .collect::<Result<Vec<_>, Stop>>()?;
    Ok((place(0), peers))
}

/// The two ends that process `number` keeps; all others are closed, so that a broken ring ends everywhere.
fn take_place(pipes: &mut Vec<(OwnedFd, OwnedFd)>, number: usize, kib: usize) -> Place {
    pipes.rotate_left(number);
    let (from, own_to) = pipes.remove(0);
    let to = if pipes.is_empty() { own_to } else { pipes.remove(0).1 };
    pipes.clear();
    Place { from, to, array: Array::new(kib), vectors: None }
}

/// A process of the ring: passes the token on until the ring ends.
pub(super) fn sit(place: &Place) -> Result<(), Stop> {
    while let Some(token) = place.take()? {
        if !place.pass(token) {
            break;
        }
    }
    Ok(())
}
