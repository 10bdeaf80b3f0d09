//! System calls by kind: which numbers count as a read, a write, a look-up of a file.

/// A kind of system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyscallKind {
    /// Its name on the screen.
    pub name: &'static str,
    /// Numbers of the calls of this kind on this architecture.
    pub numbers: &'static [i64],
}

/// The kinds that are told apart; calls that only older architectures have are left out on the newer ones.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
pub const SYSCALL_KINDS: &[SyscallKind] = &[
    SyscallKind { name: "read", numbers: &[libc::SYS_read, libc::SYS_pread64, libc::SYS_readv] },
    SyscallKind { name: "write", numbers: &[libc::SYS_write, libc::SYS_pwrite64, libc::SYS_writev] },
    SyscallKind { name: "stat", numbers: STAT },
    SyscallKind { name: "fstat", numbers: &[libc::SYS_fstat] },
    SyscallKind { name: "open", numbers: OPEN },
    SyscallKind { name: "close", numbers: &[libc::SYS_close] },
    SyscallKind { name: "poll, select, epoll", numbers: POLL },
    SyscallKind { name: "mmap", numbers: &[libc::SYS_mmap] },
    SyscallKind { name: "munmap", numbers: &[libc::SYS_munmap] },
    SyscallKind { name: "mprotect", numbers: &[libc::SYS_mprotect] },
    SyscallKind { name: "madvise", numbers: &[libc::SYS_madvise] },
    SyscallKind { name: "brk", numbers: &[libc::SYS_brk] },
    SyscallKind { name: "sigaction", numbers: &[libc::SYS_rt_sigaction] },
    SyscallKind { name: "futex", numbers: &[libc::SYS_futex] },
    SyscallKind { name: "clock_gettime", numbers: &[libc::SYS_clock_gettime] },
    SyscallKind { name: "sched_yield", numbers: &[libc::SYS_sched_yield] },
    SyscallKind { name: "fork, exec, wait", numbers: PROCESS },
];

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
pub const SYSCALL_KINDS: &[SyscallKind] = &[];

#[cfg(target_arch = "x86_64")]
const STAT: &[i64] = &[libc::SYS_stat, libc::SYS_lstat, libc::SYS_newfstatat, libc::SYS_statx];
#[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
const STAT: &[i64] = &[libc::SYS_newfstatat, libc::SYS_statx];
#[cfg(target_arch = "x86_64")]
const OPEN: &[i64] = &[libc::SYS_open, libc::SYS_openat, libc::SYS_creat];
#[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
const OPEN: &[i64] = &[libc::SYS_openat];
#[cfg(target_arch = "x86_64")]
const POLL: &[i64] = &[
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_select,
    libc::SYS_pselect6,
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
];
#[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
const POLL: &[i64] = &[libc::SYS_ppoll, libc::SYS_pselect6, libc::SYS_epoll_pwait];
#[cfg(target_arch = "x86_64")]
const PROCESS: &[i64] = &[
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_execve,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_wait4,
    libc::SYS_waitid,
];
#[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
const PROCESS: &[i64] = &[
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_execve,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_wait4,
    libc::SYS_waitid,
];

impl SyscallKind {
    /// The filter of `raw_syscalls:sys_enter` that lets calls of this kind through.
    pub fn filter(&self) -> String {
        let terms: Vec<String> = self.numbers.iter().map(|number| format!("id == {number}")).collect();
        terms.join(" || ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_is_of_two_kinds() {
        let mut numbers: Vec<i64> = SYSCALL_KINDS.iter().flat_map(|kind| kind.numbers).copied().collect();
        let all = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), all);
    }
}
