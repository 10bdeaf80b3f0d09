//! The launcher: a static program of a few hundred bytes that stands between this process and a measured command.
//!
//! Why it exists: `exec` seeds a process's peak memory (`ru_maxrss`) with the resident size of the memory it drops, so
//! a command forked from a large program is never reported smaller than that program. The launcher is two pages large.
//!
//! It clones a child with `CLONE_PARENT`, so that the child is ours to wait for, and exits. The child asks to be killed
//! with us, writes its pid to a socket, waits there for one byte (counters are attached meanwhile, the clock is read,
//! then the byte is sent), and executes the command. Its own arguments are the path to execute and then the command's
//! whole argument vector. An exec that fails is told as a negative errno on the socket, with exit status 127.

use crate::tiny_elf::image;

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".pushsection .rodata.tlbench_launcher, \"a\"",
    ".globl tlbench_launcher_start",
    "tlbench_launcher_start:",
    "mov eax, 56",     // clone
    "mov edi, 0x8011", // CLONE_PARENT | SIGCHLD
    "xor esi, esi",
    "xor edx, edx",
    "xor r10d, r10d",
    "xor r8d, r8d",
    "syscall",
    "test rax, rax",
    "jz 3f",
    "js 2f",
    "xor eax, eax",
    "2: mov edi, eax",
    "neg edi",
    "mov eax, 231", // exit_group
    "syscall",
    "3: mov eax, 157", // prctl(PR_SET_PDEATHSIG, SIGKILL)
    "mov edi, 1",
    "mov esi, 9",
    "syscall",
    "mov eax, 72", // fcntl(socket, F_SETFD, FD_CLOEXEC)
    "mov edi, dword ptr [rip + tlbench_launcher_socket]",
    "mov esi, 2",
    "mov edx, 1",
    "syscall",
    "mov eax, 39", // getpid
    "syscall",
    "mov dword ptr [rsp - 16], eax",
    "mov eax, 1", // write
    "mov edi, dword ptr [rip + tlbench_launcher_socket]",
    "lea rsi, [rsp - 16]",
    "mov edx, 4",
    "syscall",
    "xor eax, eax", // read
    "mov edi, dword ptr [rip + tlbench_launcher_socket]",
    "lea rsi, [rsp - 16]",
    "mov edx, 1",
    "syscall",
    "cmp rax, 1",
    "jne 4f",
    "mov eax, 59", // execve
    "mov rdi, [rsp + 8]",
    "lea rsi, [rsp + 16]",
    "mov rcx, [rsp]",
    "lea rdx, [rsp + rcx * 8 + 16]",
    "syscall",
    "mov dword ptr [rsp - 16], eax",
    "mov eax, 1",
    "mov edi, dword ptr [rip + tlbench_launcher_socket]",
    "lea rsi, [rsp - 16]",
    "mov edx, 4",
    "syscall",
    "4: mov eax, -127",
    "jmp 2b",
    ".balign 4",
    "tlbench_launcher_socket: .long 0",
    ".globl tlbench_launcher_end",
    "tlbench_launcher_end:",
    ".popsection",
);

#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".pushsection .rodata.tlbench_launcher, \"a\"",
    ".balign 4",
    ".globl tlbench_launcher_start",
    "tlbench_launcher_start:",
    "mov x0, #0x8011", // CLONE_PARENT | SIGCHLD
    "mov x1, #0",
    "mov x2, #0",
    "mov x3, #0",
    "mov x4, #0",
    "mov x8, #220", // clone
    "svc #0",
    "cbz x0, 3f",
    "tbnz x0, #63, 2f",
    "mov x0, #0",
    "2: neg x0, x0",
    "mov x8, #94", // exit_group
    "svc #0",
    "3: mov x0, #1", // prctl(PR_SET_PDEATHSIG, SIGKILL)
    "mov x1, #9",
    "mov x8, #167",
    "svc #0",
    "ldr w19, tlbench_launcher_socket",
    "sub x20, sp, #16",
    "mov w0, w19", // fcntl(socket, F_SETFD, FD_CLOEXEC)
    "mov x1, #2",
    "mov x2, #1",
    "mov x8, #25",
    "svc #0",
    "mov x8, #172", // getpid
    "svc #0",
    "str w0, [x20]",
    "mov w0, w19", // write
    "mov x1, x20",
    "mov x2, #4",
    "mov x8, #64",
    "svc #0",
    "mov w0, w19", // read
    "mov x1, x20",
    "mov x2, #1",
    "mov x8, #63",
    "svc #0",
    "cmp x0, #1",
    "b.ne 4f",
    "ldr x3, [sp]", // execve
    "ldr x0, [sp, #8]",
    "add x1, sp, #16",
    "add x2, x1, x3, lsl #3",
    "mov x8, #221",
    "svc #0",
    "str w0, [x20]",
    "mov w0, w19",
    "mov x1, x20",
    "mov x2, #4",
    "mov x8, #64",
    "svc #0",
    "4: mov x0, #-127",
    "b 2b",
    "tlbench_launcher_socket: .long 0",
    ".globl tlbench_launcher_end",
    "tlbench_launcher_end:",
    ".popsection",
);

/// The launcher as an ELF file that talks on descriptor `socket`; `None` on an architecture it is not written for.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) fn program(socket: i32) -> Option<Vec<u8>> {
    unsafe extern "C" {
        static tlbench_launcher_start: u8;
        static tlbench_launcher_end: u8;
    }
    // e_machine: EM_X86_64 = 62, EM_AARCH64 = 183 (System V ABI, elf.h)
    let machine = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
    // SAFETY: both symbols are defined by the assembly above and enclose its read-only bytes.
    let code = unsafe {
        let (start, end) = (&raw const tlbench_launcher_start, &raw const tlbench_launcher_end);
        core::slice::from_raw_parts(start, end.addr() - start.addr())
    };
    let mut elf = image(code, machine);
    // The socket's number is the last word of the code.
    let at = elf.len() - 4;
    elf[at..].copy_from_slice(&socket.to_le_bytes());
    Some(elf)
}

/// The launcher as an ELF file that talks on descriptor `socket`; `None` on an architecture it is not written for.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn program(_socket: i32) -> Option<Vec<u8>> {
    None
}
