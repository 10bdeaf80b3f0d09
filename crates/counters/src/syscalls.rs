//! System calls by kind: which numbers count as a read, a write, a look-up of a file.

/// A kind of system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyscallKind {
    /// Its name on the screen.
    pub name: &'static str,
    /// Numbers of the calls of this kind on this architecture.
    pub numbers: &'static [i64],
}

/// The kinds that a cost is known for; calls that only newer architectures lack are left out there.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
pub const SYSCALL_KINDS: &[SyscallKind] = &[
    SyscallKind { name: "read", numbers: &[libc::SYS_read, libc::SYS_pread64, libc::SYS_readv] },
    SyscallKind { name: "write", numbers: &[libc::SYS_write, libc::SYS_pwrite64, libc::SYS_writev] },
    SyscallKind { name: "stat", numbers: STAT },
    SyscallKind { name: "fstat", numbers: &[libc::SYS_fstat] },
    SyscallKind { name: "open", numbers: OPEN },
    SyscallKind { name: "close", numbers: &[libc::SYS_close] },
    SyscallKind { name: "sigaction", numbers: &[libc::SYS_rt_sigaction] },
    SyscallKind {
        name: "mmap, munmap, mprotect, brk",
        numbers: &[libc::SYS_mmap, libc::SYS_munmap, libc::SYS_mprotect, libc::SYS_brk],
    },
    SyscallKind { name: "futex", numbers: &[libc::SYS_futex] },
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

impl SyscallKind {
    /// The filter of `raw_syscalls:sys_enter` that lets calls of this kind through.
    pub fn filter(&self) -> String {
        let terms: Vec<String> = self.numbers.iter().map(|number| format!("id == {number}")).collect();
        terms.join(" || ")
    }
}
