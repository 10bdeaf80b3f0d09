//! What two context switches leave in the TLB: kept, kept in the second level only, or gone.

use std::os::fd::AsRawFd;

use harness::Peer;
use serde::Serialize;

use crate::backing::{LINES, Protection, alias_pages, page_bytes};
use crate::kernel::{OFFSET_UNIT, pointer_chain};
use crate::recording::median;
use crate::sampler::Sampler;

/// Pages touched: few enough for every first-level TLB.
const PAGES: usize = 32;
const REPETITIONS: usize = 300;

/// Cycles per page to touch the same pages again.
#[derive(Clone, Debug, Serialize)]
pub struct AfterSwitch {
    /// At once.
    pub untouched_cycles: f64,
    /// After a system call.
    pub after_system_call_cycles: f64,
    /// After another process ran on this CPU in between.
    pub after_switch_cycles: f64,
    /// After another page's protection changed in between.
    pub after_protect_cycles: f64,
    /// `kept`, `second level kept` or `gone`.
    pub outcome: &'static str,
}

/// Measures it with a second process on `cpu`. `miss` is the cost of a first-level miss, cycles.
pub fn after_switch(
    sampler: &Sampler,
    cpu: Option<usize>,
    miss: f64,
    walk: f64,
) -> Result<AfterSwitch, String> {
    let pages = alias_pages(PAGES, 1, 1, Protection::Write).map_err(|e| e.to_string())?;
    let address = |i: usize| pages.base().wrapping_add(i * page_bytes() + i % LINES * OFFSET_UNIT);
    for i in 0..PAGES {
        // A fixed scattered order: 11 is coprime to 32.
        let (this, next) = (address(i * 11 % PAGES), address((i + 1) * 11 % PAGES));
        // SAFETY: in the writable mapping.
        unsafe { this.cast::<*mut u8>().write_volatile(next) };
    }
    let other = crate::backing::distinct_pages(page_bytes()).map_err(|e| e.to_string())?;
    let (to_child, from_child) = (pipe()?, pipe()?);
    let child_ends = (to_child.0.as_raw_fd(), from_child.1.as_raw_fd());
    let peer = Peer::spawn(cpu, || {
        let mut byte = 0u8;
        loop {
            // SAFETY: one byte of our own; the parent's end closing ends the loop.
            unsafe {
                if libc::read(child_ends.0, (&raw mut byte).cast(), 1) != 1
                    || libc::write(child_ends.1, (&raw const byte).cast(), 1) != 1
                {
                    return Ok(());
                }
            }
        }
    })
    .map_err(|e| e.to_string())?;
    let mut byte = 1u8;
    let start: *const u8 = address(0);
    let mut touch = |between: &mut dyn FnMut(&mut u8)| {
        let times: Vec<f64> = (0..REPETITIONS)
            .map(|_| {
                // SAFETY: the ring was written above and stays mapped.
                unsafe { std::hint::black_box(pointer_chain(start, 4 * PAGES as u64)) };
                between(&mut byte);
                let from = sampler.clock.stamp();
                // SAFETY: as above.
                unsafe { std::hint::black_box(pointer_chain(start, PAGES as u64)) };
                sampler.clock.ns(sampler.clock.stamp().saturating_sub(from)) - sampler.clock.cost_ns
            })
            .collect();
        median(&times) / PAGES as f64 / sampler.cycle_ns()
    };
    let untouched_cycles = touch(&mut |_| {});
    let after_system_call_cycles = touch(&mut |_| {
        // SAFETY: no pointers are passed.
        unsafe { libc::syscall(libc::SYS_getppid) };
    });
    let after_switch_cycles = touch(&mut |byte| {
        // SAFETY: one byte of our own through our own pipes.
        unsafe {
            libc::write(to_child.1.as_raw_fd(), (&raw const *byte).cast(), 1);
            libc::read(from_child.0.as_raw_fd(), (&raw mut *byte).cast(), 1);
        }
    });
    let after_protect_cycles = touch(&mut |_| {
        for protection in [libc::PROT_READ, libc::PROT_READ | libc::PROT_WRITE] {
            // SAFETY: a page of our own that only this function uses.
            unsafe {
                libc::mprotect(other.base().cast(), page_bytes(), protection);
                other.base().read_volatile();
            }
        }
    });
    drop(peer);
    // Caches also lose lines to the other process: the middle between the outcomes decides.
    let lost = after_switch_cycles - after_system_call_cycles;
    let outcome = if lost < miss / 2.0 {
        "kept"
    } else if lost < miss + walk / 2.0 {
        "second level kept"
    } else {
        "gone"
    };
    Ok(AfterSwitch {
        untouched_cycles,
        after_system_call_cycles,
        after_switch_cycles,
        after_protect_cycles,
        outcome,
    })
}

fn pipe() -> Result<(std::os::fd::OwnedFd, std::os::fd::OwnedFd), String> {
    let (read, write) = std::io::pipe().map_err(|e| format!("pipe: {e}"))?;
    Ok((read.into(), write.into()))
}
