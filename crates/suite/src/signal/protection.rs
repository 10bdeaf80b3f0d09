//! `sig.prot`: a write to a read-only page, caught.
//!
//! Timed: a store to a page mapped read-only, the fault, the delivery of SIGSEGV, a handler that counts and steps over
//! the store, and the return from it. Per fault; nothing subtracted. The page was touched before: the fault is for its
//! protection, never for its absence.
//! Proof: the handler saw exactly one fault at that page for each store, and the page is unchanged.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use harness::prelude::*;

/// The benchmark.
pub fn benchmark() -> Benchmark {
    Benchmark::new("sig.prot", run).metric(time(
        "sig.prot",
        "fault",
        "A store to a read-only page, SIGSEGV, a handler that steps over the store, and the return from it.",
    ))
}

static CAUGHT: AtomicU64 = AtomicU64::new(0);
static PAGE: AtomicUsize = AtomicUsize::new(0);

/// What the page holds.
const CONTENT: u8 = 0x5a;

extern "C" fn step_over(_: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a siginfo and a ucontext to a handler set with SA_SIGINFO.
    unsafe {
        if (*info).si_addr().addr() != PAGE.load(Ordering::Relaxed) {
            // Some other fault: let it happen again and end the process as it must.
            libc::signal(libc::SIGSEGV, libc::SIG_DFL);
            return;
        }
        let machine = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext;
        #[cfg(target_arch = "x86_64")]
        {
            machine.gregs[libc::REG_RIP as usize] += STORE_BYTES;
        }
        #[cfg(target_arch = "aarch64")]
        {
            machine.pc += STORE_BYTES;
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let _ = machine;
    }
    CAUGHT.store(CAUGHT.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// Length of the instruction in [`store`]: `mov byte ptr [rdi], al` is 88 07.
#[cfg(target_arch = "x86_64")]
const STORE_BYTES: i64 = 2;
/// Length of the instruction in [`store`].
#[cfg(target_arch = "aarch64")]
const STORE_BYTES: u64 = 4;

/// Stores one byte with an instruction of known length.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
fn store(address: *mut u8) {
    // SAFETY: address is the read-only page, so the store faults and the handler steps over it: no memory changes.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!("mov byte ptr [rdi], al", in("rdi") address, in("al") 1u8, options(nostack));
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!("strb wzr, [{0}]", in(reg) address, options(nostack));
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn run(_bench: &mut Bench) -> Result<(), Stop> {
    Err(Stop::skip("stepping over a store is not written for this architecture yet"))
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn run(bench: &mut Bench) -> Result<(), Stop> {
    let page = ReadOnlyPage::map()?;
    PAGE.store(page.0.addr(), Ordering::Relaxed);
    super::install_handler(libc::SIGSEGV, step_over)?;
    bench.measure("sig.prot", |iterations, timer| {
        let before = CAUGHT.load(Ordering::Relaxed);
        timer.time(|| {
            for _ in 0..iterations {
                store(page.0);
            }
        });
        let caught = CAUGHT.load(Ordering::Relaxed) - before;
        check(caught == iterations, &format!("{caught} of {iterations} stores faulted"))?;
        // SAFETY: the page is mapped and readable.
        check(unsafe { page.0.read_volatile() } == CONTENT, "the read-only page changed")
    })?;
    bench.note("sig.prot", "handled", CAUGHT.load(Ordering::Relaxed));
    Ok(())
}

/// One private page, written once and then read-only.
struct ReadOnlyPage(*mut u8);

/// Bytes mapped: at least one page of any size.
const BYTES: usize = 64 << 10;

impl ReadOnlyPage {
    fn map() -> Result<Self, Stop> {
        // SAFETY: a new anonymous mapping; the byte written is inside it.
        unsafe {
            let start = libc::mmap(
                std::ptr::null_mut(),
                BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if start == libc::MAP_FAILED {
                return Err(Stop::unavailable("mapping a page", &std::io::Error::last_os_error()));
            }
            let page = ReadOnlyPage(start.cast());
            page.0.write_volatile(CONTENT);
            cvt("mprotect", libc::mprotect(start, BYTES, libc::PROT_READ))?;
            Ok(page)
        }
    }
}

impl Drop for ReadOnlyPage {
    fn drop(&mut self) {
        // SAFETY: the mapping made in map(), which nothing refers to any more.
        unsafe { libc::munmap(self.0.cast(), BYTES) };
    }
}
