//! `futex.hash.*`, `futex.waitv.*`: finding a futex in the kernel's hash table.
//!
//! Timed: FUTEX_WAIT on a word that does not hold the expected value, on 256 words in turn: the kernel computes the key,
//! locks the hash bucket, reads the word and returns EAGAIN (as `perf bench futex hash` does). Per call of one
//! thread. `.private` words belong to the process, `.shared` ones are looked up by the page. `futex.waitv.*` is one
//! `futex_waitv` on eight private words, of which the last does not hold its value: seven are queued and taken back.
//! `.1t` is one thread; `.nt` is the same thread while one on each other CPU does the same on words of its own: any
//! difference is contention for buckets and, for private futexes since Linux 6.16, for the process's own hash.
//! Proof: every call returns EAGAIN, and all threads of `.nt` have made calls.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use harness::prelude::*;

use crate::waiting::becomes;

/// Futex words of one thread.
const WORDS: usize = 256;
/// Words of one futex_waitv.
const AT_ONCE: usize = 8;
/// FUTEX2_SIZE_U32 | FUTEX2_PRIVATE (linux/futex.h).
const WAITV_FLAGS: u32 = 2 | 128;

/// What one call does.
#[derive(Clone, Copy)]
enum Call {
    Private,
    Shared,
    Waitv,
}

/// The families.
pub fn benchmarks() -> Vec<Benchmark> {
    let calls = [
        (Call::Private, "futex.hash.private", "A private FUTEX_WAIT that finds another value than expected"),
        (Call::Shared, "futex.hash.shared", "A shared FUTEX_WAIT that finds another value than expected"),
        (
            Call::Waitv,
            "futex.waitv",
            "A futex_waitv on eight private words, the last of which holds another value",
        ),
    ];
    calls
        .into_iter()
        .flat_map(|(call, name, doc)| {
            [
                benchmark(format!("{name}.1t"), format!("{doc}; one thread."), call, false),
                benchmark(format!("{name}.nt"), format!("{doc}; a thread on every CPU does it."), call, true),
            ]
        })
        .collect()
}

fn benchmark(name: String, doc: String, call: Call, crowd: bool) -> Benchmark {
    let declared = time(&name, "call", doc);
    Benchmark::new(name.clone(), move |bench| run(bench, &name, call, crowd))
        .metric(declared)
        .placed(if crowd { Placement::AllCpus } else { Placement::OneCpu })
}

/// The futex words of one thread.
struct Words {
    words: Vec<u32>,
    next: usize,
}

/// `struct futex_waitv` (linux/futex.h).
#[repr(C)]
struct Waiter {
    value: u64,
    address: u64,
    flags: u32,
    reserved: u32,
}

impl Words {
    fn new() -> Self {
        Words { words: vec![0; WORDS], next: 0 }
    }

    /// One call on the next word or words; true when it returned EAGAIN.
    fn call(&mut self, call: Call) -> bool {
        self.next = (self.next + 1) % (WORDS - AT_ONCE);
        let returned = match call {
            Call::Private => self.wait(libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG),
            Call::Shared => self.wait(libc::FUTEX_WAIT),
            Call::Waitv => self.waitv(),
        };
        returned == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN)
    }

    fn wait(&self, operation: i32) -> i64 {
        let none = std::ptr::null::<libc::timespec>();
        // SAFETY: the word lives; it holds 0, so the call returns at once.
        unsafe { libc::syscall(libc::SYS_futex, &raw const self.words[self.next], operation, 1, none) }
    }

    fn waitv(&self) -> i64 {
        let waiters: [Waiter; AT_ONCE] = std::array::from_fn(|i| Waiter {
            value: u64::from(i == AT_ONCE - 1),
            address: &raw const self.words[self.next + i] as u64,
            flags: WAITV_FLAGS,
            reserved: 0,
        });
        let none = std::ptr::null::<libc::timespec>();
        // SAFETY: waiters and their words live; the last word holds 0, so the call returns at once.
        unsafe {
            libc::syscall(
                libc::SYS_futex_waitv,
                waiters.as_ptr(),
                AT_ONCE as u32,
                0,
                none,
                libc::CLOCK_MONOTONIC,
            )
        }
    }
}

fn run(bench: &mut Bench, metric: &str, call: Call, crowd: bool) -> Result<(), Stop> {
    let mut words = Words::new();
    if !words.call(call) {
        let error = io::Error::last_os_error();
        return Err(Stop::unavailable("futex", &error));
    }
    if !crowd {
        return bench.calls(metric, || words.call(call));
    }
    let mut cpus = bench.job().allowed.clone();
    let own = cpus.pop().filter(|_| !cpus.is_empty());
    let own = own.ok_or_else(|| Stop::skip("only one CPU is allowed"))?;
    harness::pin_to(&[own]).map_err(Stop::Fail)?;
    bench.note(metric, "threads", cpus.len() + 1);
    let stop = AtomicBool::new(false);
    let made: Vec<AtomicU64> = cpus.iter().map(|_| AtomicU64::new(0)).collect();
    thread::scope(|scope| {
        let crowd = cpus.iter().zip(&made).map(|(&cpu, made)| {
            let stop = &stop;
            let body = move || companion(cpu, call, stop, made);
            let thread = thread::Builder::new().spawn_scoped(scope, body);
            thread.map_err(|e| Stop::unavailable("starting a thread", &e))
        });
        let crowd = crowd.collect::<Result<Vec<_>, Stop>>();
        let measured = crowd.and_then(|_| {
            // On a busy machine a thread may have to wait for its CPU before there is any contention.
            let all_at_work = || made.iter().all(|made| made.load(Ordering::Relaxed) > 0);
            check(becomes(all_at_work), "a thread made no call in 10 s")?;
            bench.calls(metric, || words.call(call))
        });
        stop.store(true, Ordering::Relaxed);
        measured
    })
}

/// Makes the same calls on another CPU until told to stop.
fn companion(cpu: usize, call: Call, stop: &AtomicBool, made: &AtomicU64) {
    let mut words = Words::new();
    let pinned = harness::pin_to(&[cpu]).is_ok();
    while pinned && !stop.load(Ordering::Relaxed) && words.call(call) {
        made.fetch_add(1, Ordering::Relaxed);
    }
}
