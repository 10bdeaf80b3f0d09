//! What it costs to take translations away: protect, discard and unmap, with other threads of this process running.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde::Serialize;

use crate::backing::{Mapping, Protection, page_bytes};
use crate::recording::median;
use crate::sampler::Sampler;

/// Operations timed per row: so many batches of so many, and interrupts are counted over the operations of each batch alone.
const BATCHES: usize = 10;
const EACH: usize = 20;

/// One row: an operation on so many pages while so many other threads run.
#[derive(Clone, Debug, Serialize)]
pub struct Shootdown {
    /// `mprotect`, `madvise` (MADV_DONTNEED) or `munmap`.
    pub operation: &'static str,
    /// Pages it covers, all present.
    pub pages: u32,
    /// Other threads of this process, each spinning on a CPU of its own.
    pub threads: usize,
    /// Median time of one operation, ns.
    pub ns: f64,
    /// 90th percentile, ns.
    pub p90_ns: f64,
    /// Interrupts of the kernel's row `TLB` per operation, all CPUs, of the calls that were timed: the proof that other CPUs were
    /// told; `None` where the kernel has no such row.
    pub interrupts: Option<f64>,
}

/// Spinning threads; they end when dropped.
struct Spinners {
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Spinners {
    fn start(cpus: &[usize]) -> Spinners {
        let stop = Arc::new(AtomicBool::new(false));
        let running = Arc::new(AtomicUsize::new(0));
        let mut threads = Vec::new();
        for &cpu in cpus {
            let (stop, started) = (Arc::clone(&stop), Arc::clone(&running));
            let spawned = std::thread::Builder::new().stack_size(64 << 10).spawn(move || {
                let _ = harness::pin_to(&[cpu]);
                started.fetch_add(1, Ordering::Relaxed);
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            threads.extend(spawned.ok());
        }
        while running.load(Ordering::Relaxed) < threads.len() {
            std::thread::yield_now();
        }
        Spinners { stop, threads }
    }
}

impl Drop for Spinners {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// The table: three operations on 1 and 64 pages, with 0, 1 and all `others` running.
pub fn shootdowns(sampler: &Sampler, others: &[usize]) -> Result<Vec<Shootdown>, String> {
    let mut counts = vec![0, 1, others.len()];
    counts.retain(|&n| n <= others.len());
    counts.dedup();
    let mut rows = Vec::new();
    for threads in counts {
        let spinners = Spinners::start(&others[..threads]);
        for pages in [1u32, 64] {
            for operation in ["mprotect", "madvise", "munmap"] {
                rows.push(row(sampler, operation, pages, spinners.threads.len())?);
            }
        }
    }
    Ok(rows)
}

fn row(sampler: &Sampler, operation: &'static str, pages: u32, threads: usize) -> Result<Shootdown, String> {
    let bytes = pages as usize * page_bytes();
    let mut areas = areas(pages, bytes)?;
    let mut interrupts = Some(0);
    let mut times = Vec::with_capacity(BATCHES * EACH);
    for _ in 0..BATCHES {
        if operation == "munmap" {
            areas = self::areas(pages, bytes)?;
        }
        let starts: Vec<*mut u8> = (0..EACH).map(|i| areas.base().wrapping_add(offset(i, bytes))).collect();
        for &start in &starts {
            for page in (0..bytes).step_by(page_bytes()) {
                // SAFETY: in a writable part of the mapping.
                unsafe { start.add(page).write_volatile(1) };
            }
        }
        let before = tlb_interrupts();
        for &start in &starts {
            let from = sampler.clock.stamp();
            // SAFETY: each call is on a writable part of our own mapping, which nothing else uses.
            let done = unsafe {
                match operation {
                    "mprotect" => libc::mprotect(start.cast(), bytes, libc::PROT_READ),
                    "madvise" => libc::madvise(start.cast(), bytes, libc::MADV_DONTNEED),
                    _ => libc::munmap(start.cast(), bytes),
                }
            };
            let ticks = sampler.clock.stamp().saturating_sub(from);
            if done != 0 {
                return Err(format!("{operation}: {}", std::io::Error::last_os_error()));
            }
            times.push(sampler.clock.ns(ticks) - sampler.clock.cost_ns);
        }
        let told = before.zip(tlb_interrupts()).map(|(before, after)| after - before);
        interrupts = interrupts.zip(told).map(|(sum, told)| sum + told);
        if operation == "mprotect" {
            for &start in &starts {
                // SAFETY: as above.
                unsafe { libc::mprotect(start.cast(), bytes, libc::PROT_READ | libc::PROT_WRITE) };
            }
        }
    }
    let interrupts = interrupts.map(|sum| sum as f64 / times.len() as f64);
    let ns = median(&times);
    times.sort_by(f64::total_cmp);
    let p90_ns = crate::recording::quantile(&times, 0.9);
    Ok(Shootdown { operation, pages, threads, ns, p90_ns, interrupts })
}

/// Where the area `i` begins: each has a page of room before it, so that neighbouring mappings never merge with it.
fn offset(i: usize, bytes: usize) -> usize {
    i * (bytes + page_bytes()) + page_bytes()
}

/// A mapping with [`EACH`] writable areas.
fn areas(pages: u32, bytes: usize) -> Result<Mapping, String> {
    let whole = Mapping::anonymous(offset(EACH, bytes), page_bytes(), Protection::None);
    let mut mapping = whole.map_err(|e| format!("{pages} pages: {e}"))?;
    for i in 0..EACH {
        mapping.make_writable(offset(i, bytes), bytes).map_err(|e| format!("{pages} pages: {e}"))?;
    }
    Ok(mapping)
}

/// The kernel's count of TLB shoot-down interrupts, all CPUs.
fn tlb_interrupts() -> Option<u64> {
    let text = environment::Root::host().contents("/proc/interrupts").ok()?;
    let row = text.lines().find_map(|line| line.trim_start().strip_prefix("TLB:"))?;
    Some(row.split_ascii_whitespace().map_while(|word| word.parse::<u64>().ok()).sum())
}
