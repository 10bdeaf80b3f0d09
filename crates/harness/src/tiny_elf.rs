//! A static program of under 300 bytes, written out at run time: what `exec` costs without a C library.
//!
//! Called with no argument it exits 0. Called with one argument it executes itself again with the argument's first
//! byte cut off, and exits 0 when none is left: a chain of `strlen(argument)` self-executions.

use std::ffi::CString;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".pushsection .rodata.tlbench_tiny, \"a\"",
    ".globl tlbench_tiny_start",
    "tlbench_tiny_start:",
    "mov rax, [rsp]",
    "cmp rax, 2",
    "jb 2f",
    "mov rdi, [rsp + 8]",
    "mov rcx, [rsp + 16]",
    "cmp byte ptr [rcx], 0",
    "je 2f",
    "inc rcx",
    "mov [rsp + 16], rcx",
    "lea rsi, [rsp + 8]",
    "lea rdx, [rsp + rax * 8 + 16]",
    "mov eax, 59",
    "syscall",
    "mov edi, 127",
    "jmp 3f",
    "2: xor edi, edi",
    "3: mov eax, 231",
    "syscall",
    ".globl tlbench_tiny_end",
    "tlbench_tiny_end:",
    ".popsection",
);

#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".pushsection .rodata.tlbench_tiny, \"a\"",
    ".balign 4",
    ".globl tlbench_tiny_start",
    "tlbench_tiny_start:",
    "ldr x3, [sp]",
    "cmp x3, #2",
    "b.lo 2f",
    "ldr x0, [sp, #8]",
    "ldr x4, [sp, #16]",
    "ldrb w5, [x4]",
    "cbz w5, 2f",
    "add x4, x4, #1",
    "str x4, [sp, #16]",
    "add x1, sp, #8",
    "add x2, sp, x3, lsl #3",
    "add x2, x2, #16",
    "mov x8, #221",
    "svc #0",
    "mov x0, #127",
    "b 3f",
    "2: mov x0, #0",
    "3: mov x8, #94",
    "svc #0",
    ".globl tlbench_tiny_end",
    "tlbench_tiny_end:",
    ".popsection",
);

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn code() -> Option<(&'static [u8], u16)> {
    unsafe extern "C" {
        static tlbench_tiny_start: u8;
        static tlbench_tiny_end: u8;
    }
    // e_machine: EM_X86_64 = 62, EM_AARCH64 = 183 (System V ABI, elf.h)
    let machine = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
    // SAFETY: both symbols are defined by the assembly above and enclose its read-only bytes.
    let bytes = unsafe {
        let (start, end) = (&raw const tlbench_tiny_start, &raw const tlbench_tiny_end);
        core::slice::from_raw_parts(start, end.addr() - start.addr())
    };
    Some((bytes, machine))
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn code() -> Option<(&'static [u8], u16)> {
    None
}

/// The program on disk.
pub struct TinyProgram {
    path: PathBuf,
}

impl TinyProgram {
    /// Writes it into `directory`. `Unsupported` on an architecture it is not written for.
    pub fn write_to(directory: &Path) -> io::Result<Self> {
        let (code, machine) = code().ok_or_else(|| {
            io::Error::new(io::ErrorKind::Unsupported, "no tiny program for this architecture yet")
        })?;
        let path = directory.join("tiny");
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o700).open(&path)?;
        file.write_all(&image(code, machine))?;
        Ok(TinyProgram { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its path for `execve`.
    pub fn c_path(&self) -> io::Result<CString> {
        CString::new(self.path.as_os_str().as_bytes()).map_err(io::Error::other)
    }
}

/// An ELF64 executable with one read-execute segment (and a non-executable stack) around `code`.
pub(crate) fn image(code: &[u8], machine: u16) -> Vec<u8> {
    const BASE: u64 = 0x40_0000;
    const HEADERS: u64 = 64 + 2 * 56;
    let size = HEADERS + code.len() as u64;
    let mut elf = Vec::with_capacity(size as usize);
    elf.extend_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    elf.extend_from_slice(&2u16.to_le_bytes()); // ET_EXEC
    elf.extend_from_slice(&machine.to_le_bytes());
    elf.extend_from_slice(&1u32.to_le_bytes());
    elf.extend_from_slice(&(BASE + HEADERS).to_le_bytes()); // entry
    elf.extend_from_slice(&64u64.to_le_bytes()); // program headers follow at once
    elf.extend_from_slice(&0u64.to_le_bytes());
    elf.extend_from_slice(&0u32.to_le_bytes());
    for half in [64u16, 56, 2, 64, 0, 0] {
        elf.extend_from_slice(&half.to_le_bytes());
    }
    // PT_LOAD = 1, flags R|X = 5; PT_GNU_STACK = 0x6474e551, flags R|W = 6
    for (kind, flags, base, length, align) in
        [(1u32, 5u32, BASE, size, 0x1_0000u64), (0x6474_e551, 6, 0, 0, 16)]
    {
        elf.extend_from_slice(&kind.to_le_bytes());
        elf.extend_from_slice(&flags.to_le_bytes());
        for word in [0u64, base, base, length, length, align] {
            elf.extend_from_slice(&word.to_le_bytes());
        }
    }
    elf.extend_from_slice(code);
    elf
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn it_exits_zero_alone_and_after_a_chain() {
        let dir = tempfile::tempdir().unwrap();
        let tiny = TinyProgram::write_to(dir.path()).unwrap();
        assert!(std::fs::metadata(tiny.path()).unwrap().len() < 300);
        assert!(Command::new(tiny.path()).status().unwrap().success());
        assert!(Command::new(tiny.path()).arg("xxxxx").status().unwrap().success());
        // A chain that can't go on says so: the path is gone after the first step.
        let gone = Command::new("/bin/sh")
            .args(["-c", "exec 3<\"$1\"; rm \"$1\"; exec /proc/self/fd/3 xx", "sh"])
            .arg(tiny.path())
            .status()
            .unwrap();
        assert!(gone.code().is_some());
    }
}
