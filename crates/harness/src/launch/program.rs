//! The launcher: a static program of a few hundred bytes that stands between this process and the measured commands.
//!
//! Why it exists: `exec` seeds a process's peak memory (`ru_maxrss`) with the largest resident size of the memory it
//! drops, so a command forked from a large program is never reported smaller than that program. The launcher is a few
//! pages large, and stays: a command then costs a `clone` and its own `exec`.
//!
//! It knows nothing of commands. It maps the shared memory it is given and follows the steps that stand there
//! ([`super::script`]): a system call each, and where to go on by the sign of what it returned. A returned 0 is not noted:
//! `clone` without a copy of the memory returns in two processes, of which the parent's result is the one to keep.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::script::{AT, LENGTH};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::tiny_elf::image;

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".pushsection .rodata.tlbench_launcher, \"a\"",
    ".globl tlbench_launcher_start",
    "tlbench_launcher_start:",
    "mov eax, 9", // mmap(AT, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory, 0)
    "mov edi, {at}",
    "mov esi, {length}",
    "mov edx, 3",
    "mov r10d, 0x11",
    "mov r8d, dword ptr [rip + tlbench_launcher_memory]",
    "xor r9d, r9d",
    "syscall",
    "mov rbx, rax",
    "test rax, rax",
    "jns 2f",
    "mov eax, 231", // exit_group
    "mov edi, 127",
    "syscall",
    "2: mov rax, [rbx]",
    "mov rdi, [rbx + 8]",
    "mov rsi, [rbx + 16]",
    "mov rdx, [rbx + 24]",
    "mov r10, [rbx + 32]",
    "mov r8, [rbx + 40]",
    "mov r9, [rbx + 48]",
    "mov rcx, [rbx + 88]",
    "test rcx, rcx",
    "jz 3f",
    "mov edi, dword ptr [rcx]",
    "3: syscall",
    "test rax, rax",
    "jz 5f",
    "mov [rbx + 56], rax",
    "js 4f",
    "mov rbx, [rbx + 80]",
    "jmp 2b",
    "4: mov rbx, [rbx + 64]",
    "jmp 2b",
    "5: mov rbx, [rbx + 72]",
    "jmp 2b",
    ".balign 4",
    "tlbench_launcher_memory: .long 0",
    ".globl tlbench_launcher_end",
    "tlbench_launcher_end:",
    ".popsection",
    at = const AT,
    length = const LENGTH,
);

#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".pushsection .rodata.tlbench_launcher, \"a\"",
    ".balign 4",
    ".globl tlbench_launcher_start",
    "tlbench_launcher_start:",
    "mov x0, #{at}", // mmap(AT, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory, 0)
    "mov x1, #{length}",
    "mov x2, #3",
    "mov x3, #0x11",
    "ldr w4, tlbench_launcher_memory",
    "mov x5, #0",
    "mov x8, #222",
    "svc #0",
    "mov x19, x0",
    "tbz x0, #63, 2f",
    "mov x0, #127",
    "mov x8, #94", // exit_group
    "svc #0",
    "2: ldp x8, x0, [x19]",
    "ldp x1, x2, [x19, #16]",
    "ldp x3, x4, [x19, #32]",
    "ldr x5, [x19, #48]",
    "ldr x9, [x19, #88]",
    "cbz x9, 3f",
    "ldr w0, [x9]",
    "3: svc #0",
    "cbz x0, 5f",
    "str x0, [x19, #56]",
    "tbnz x0, #63, 4f",
    "ldr x19, [x19, #80]",
    "b 2b",
    "4: ldr x19, [x19, #64]",
    "b 2b",
    "5: ldr x19, [x19, #72]",
    "b 2b",
    "tlbench_launcher_memory: .long 0",
    ".globl tlbench_launcher_end",
    "tlbench_launcher_end:",
    ".popsection",
    at = const AT,
    length = const LENGTH,
);

/// The launcher as an ELF file that maps the open file `memory`; `None` on an architecture it is not written for.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) fn program(memory: i32) -> Option<Vec<u8>> {
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
    // The descriptor's number is the last word of the code.
    let at = elf.len() - 4;
    elf[at..].copy_from_slice(&memory.to_le_bytes());
    Some(elf)
}

/// The launcher as an ELF file that maps the open file `memory`; `None` on an architecture it is not written for.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn program(_memory: i32) -> Option<Vec<u8>> {
    None
}
