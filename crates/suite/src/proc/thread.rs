//! `proc.thread`: a thread made and joined.
//!
//! Timed: a raw `clone3` with the flags of a POSIX thread but no thread-local storage, the thread's immediate exit, and a
//! futex wait until the kernel clears its id, on one CPU. Per thread. No C library: no stack cache, no lists.
//! Proof: the kernel stores each thread's id at creation and clears it at exit.

use std::sync::atomic::{AtomicU32, Ordering};

use harness::prelude::*;

/// The benchmark.
pub fn benchmark() -> Benchmark {
    Benchmark::new("proc.thread", run).metric(
        time(
            "proc.thread",
            "create and join",
            "A raw clone3 thread that exits at once, until its id is cleared.",
        )
        .blocking(),
    )
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let id = AtomicU32::new(0);
    let mut stack = vec![0u128; 256];
    bench.measure("proc.thread", |iterations, timer| {
        timer.time(|| {
            (0..iterations).try_for_each(|_| {
                let made = create(&id, &mut stack)?;
                join(&id, made)
            })
        })
    })
}

/// Waits until the kernel has cleared `id`, which it does when the thread `made` has left this memory.
fn join(id: &AtomicU32, made: u32) -> Result<(), Stop> {
    loop {
        match id.load(Ordering::Acquire) {
            0 => return Ok(()),
            // The kernel wakes a shared futex (kernel/fork.c, mm_release), so the wait is not a private one.
            // SAFETY: the address is a live aligned word; there is no time limit.
            now if now == made => unsafe {
                libc::syscall(libc::SYS_futex, id.as_ptr(), libc::FUTEX_WAIT, made, 0usize);
            },
            other => return Err(Stop::fail(format!("thread {made} left id {other}"))),
        }
    }
}

/// Makes a thread that only exits; returns its id.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn create(id: &AtomicU32, stack: &mut [u128]) -> Result<u32, Stop> {
    let flags = libc::CLONE_VM
        | libc::CLONE_FS
        | libc::CLONE_FILES
        | libc::CLONE_SIGHAND
        | libc::CLONE_THREAD
        | libc::CLONE_SYSVSEM
        | libc::CLONE_PARENT_SETTID
        | libc::CLONE_CHILD_CLEARTID;
    // SAFETY: an all-zero clone_args asks for nothing.
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = flags as u64;
    arguments.parent_tid = id.as_ptr().addr() as u64;
    arguments.child_tid = id.as_ptr().addr() as u64;
    arguments.stack = stack.as_mut_ptr().addr() as u64;
    arguments.stack_size = size_of_val(stack) as u64;
    let returned: i64;
    // SAFETY: the new thread runs only the instructions up to its exit, which use no memory; its stack and id outlive
    // it, because the caller joins it before using either again. The other clobbers are those of any system call.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor edi, edi",
            "mov eax, 60",
            "syscall",
            "2:",
            inout("rax") libc::SYS_clone3 => returned,
            inout("rdi") &raw const arguments => _,
            in("rsi") size_of::<libc::clone_args>(),
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!(
            "svc #0",
            "cbnz x0, 2f",
            "mov x8, #93",
            "svc #0",
            "2:",
            inout("x0") (&raw const arguments).addr() as i64 => returned,
            in("x1") size_of::<libc::clone_args>(),
            inout("x8") libc::SYS_clone3 => _,
            options(nostack),
        );
    }
    if returned < 0 {
        return Err(Stop::unavailable("clone3", &std::io::Error::from_raw_os_error(-returned as i32)));
    }
    Ok(returned as u32)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn create(_id: &AtomicU32, _stack: &mut [u128]) -> Result<u32, Stop> {
    Err(Stop::skip("making a bare thread is not written for this architecture yet"))
}
