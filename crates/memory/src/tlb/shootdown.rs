//! What it costs to take translations away: protect, discard and unmap, with other threads of this process running.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde::Serialize;

use crate::backing::{Mapping, Protection, page_bytes};
use crate::recording::median;
use crate::sampler::Sampler;

/// Operations timed per row.
const OPERATIONS: usize = 200;

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
    /// Interrupts of the kernel's row `TLB` per operation, all CPUs: the proof that other CPUs were told; `None` where
    /// the kernel has no such row.
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
    let new = || {
        // Two pages of room around, so that neighbouring mappings never merge with it.
        let mut mapping = Mapping::anonymous(bytes + 2 * page_bytes(), page_bytes(), Protection::None)
            .map_err(|e| format!("{pages} pages: {e}"))?;
        mapping.make_writable(page_bytes(), bytes).map_err(|e| format!("{pages} pages: {e}"))?;
        Ok::<Mapping, String>(mapping)
    };
    let mut mapping = new()?;
    let before = tlb_interrupts();
    let mut times = Vec::with_capacity(OPERATIONS);
    for _ in 0..OPERATIONS {
        if operation == "munmap" {
            mapping = new()?;
        }
        let start = mapping.base().wrapping_add(page_bytes());
        for offset in (0..bytes).step_by(page_bytes()) {
            // SAFETY: in the writable part of the mapping.
            unsafe { start.add(offset).write_volatile(1) };
        }
        let from = sampler.clock.stamp();
        // SAFETY: each call is on the writable part of our own mapping, which nothing else uses.
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
        if operation == "mprotect" {
            // SAFETY: as above.
            unsafe { libc::mprotect(start.cast(), bytes, libc::PROT_READ | libc::PROT_WRITE) };
        }
    }
    let interrupts = before.zip(tlb_interrupts()).map(|(a, b)| (b - a) as f64 / OPERATIONS as f64);
    let ns = median(&times);
    times.sort_by(f64::total_cmp);
    let p90_ns = crate::recording::quantile(&times, 0.9);
    Ok(Shootdown { operation, pages, threads, ns, p90_ns, interrupts })
}

/// The kernel's count of TLB shoot-down interrupts, all CPUs.
fn tlb_interrupts() -> Option<u64> {
    let text = environment::Root::host().contents("/proc/interrupts").ok()?;
    let row = text.lines().find_map(|line| line.trim_start().strip_prefix("TLB:"))?;
    Some(row.split_ascii_whitespace().map_while(|word| word.parse::<u64>().ok()).sum())
}
