//! `proc.vfork`, `proc.vfork_exec`: a process that borrows its parent's memory.
//!
//! Timed: `clone` with CLONE_VM and CLONE_VFORK on a stack of its own, so no page table is copied and the parent sleeps
//! until the child exits or executes. On one CPU.
//! `proc.vfork`: until the parent runs again, with a child that exits at once; reaping it is not in the time.
//! `proc.vfork_exec`: with a child that executes the tiny static program, until that is reaped; `.resume` is the part
//! until the parent runs again, which is when the new program has its own memory.
//! Proof: every child is reaped with status 0.

use std::io;

use harness::prelude::*;

use super::child;
use super::program::Program;

/// The benchmark of vfork alone.
pub fn vfork() -> Benchmark {
    Benchmark::new("proc.vfork", run_vfork).metric(
        time("proc.vfork", "vfork", "vfork with a child that exits at once, until the parent runs again.")
            .blocking(),
    )
}

/// The benchmark of vfork and exec.
pub fn vfork_exec() -> Benchmark {
    Benchmark::new("proc.vfork_exec", run_vfork_exec)
        .metric(
            time(
                "proc.vfork_exec",
                "vfork, exec, exit and wait",
                "vfork and execve of a tiny static program, until it is reaped.",
            )
            .blocking(),
        )
        .metric(
            time(
                "proc.vfork_exec.resume",
                "vfork and exec",
                "The part of proc.vfork_exec until the parent runs again: the child has executed.",
            )
            .blocking(),
        )
}

extern "C" fn exit_at_once(_: *mut libc::c_void) -> libc::c_int {
    child::exit(0)
}

extern "C" fn execute(program: *mut libc::c_void) -> libc::c_int {
    // SAFETY: program is the Program that `spawn`'s caller holds while the parent sleeps.
    unsafe { &*program.cast::<Program>() }.execute()
}

fn run_vfork(bench: &mut Bench) -> Result<(), Stop> {
    let mut stack = Stack::new();
    bench.measure("proc.vfork", |iterations, timer| {
        (0..iterations).try_for_each(|_| {
            let pid = timer.time(|| stack.vfork(exit_at_once, std::ptr::null_mut()))?;
            child::reap(pid).map(drop)
        })
    })
}

fn run_vfork_exec(bench: &mut Bench) -> Result<(), Stop> {
    let program = Program::tiny(bench, "proc.vfork_exec", None)?;
    let argument = (&raw const program).cast_mut().cast();
    let mut stack = Stack::new();
    bench.measure("proc.vfork_exec", |iterations, timer| {
        let mut to_resume = 0.0;
        for _ in 0..iterations {
            let start = timer.stamp();
            let pid = stack.vfork(execute, argument)?;
            let resumed = timer.stamp();
            child::reap(pid)?;
            timer.add(start, timer.stamp());
            to_resume += timer.ns(resumed - start);
        }
        timer.also("proc.vfork_exec.resume", to_resume / iterations as f64);
        Ok(())
    })
}

/// The stack of one child at a time.
struct Stack(Vec<u128>);

impl Stack {
    fn new() -> Self {
        Stack(vec![0; (64 << 10) / size_of::<u128>()])
    }

    /// Runs `body` in a child that shares this process's memory; returns when the child has exited or executed.
    #[inline]
    fn vfork(
        &mut self,
        body: extern "C" fn(*mut libc::c_void) -> libc::c_int,
        argument: *mut libc::c_void,
    ) -> Result<libc::pid_t, Stop> {
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // SAFETY: the stack is 16-byte aligned, its end is its top, and no other child uses it, since this call
        // returns only when the child has left it. The child only exits or executes.
        let pid = unsafe { libc::clone(body, self.0.as_mut_ptr_range().end.cast(), flags, argument) };
        if pid == -1 {
            return Err(Stop::unavailable("vfork", &io::Error::last_os_error()));
        }
        Ok(pid)
    }
}
