//! A loop over memory: what it does with each byte, by which instructions, and the proof that it did.

use harness::prelude::*;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Load a.
    Read,
    /// Store ones to b.
    Write,
    /// Load and store each address of b.
    ReadWrite,
    /// a to b.
    Copy,
    /// Store zeros to b.
    Zero,
    /// b = a, in STREAM's counting.
    StreamCopy,
    /// b = 3 a.
    Scale,
    /// c = a + b.
    Add,
    /// c = a + 3 b.
    Triad,
}

impl Work {
    /// The metric without its variant.
    pub(super) fn metric(self) -> &'static str {
        match self {
            Work::Read => "bw.mem.read",
            Work::Write => "bw.mem.write",
            Work::ReadWrite => "bw.mem.rdwr",
            Work::Copy => "bw.mem.copy",
            Work::Zero => "bw.mem.zero",
            Work::StreamCopy => "bw.stream.copy",
            Work::Scale => "bw.stream.scale",
            Work::Add => "bw.stream.add",
            Work::Triad => "bw.stream.triad",
        }
    }

    /// What it does, for a list.
    pub(super) fn words(self) -> &'static str {
        match self {
            Work::Read => "Loading memory",
            Work::Write => "Storing ones to memory",
            Work::ReadWrite => "Loading and storing each address",
            Work::Copy => "Copying memory, each byte counted once",
            Work::Zero => "Storing zeros to memory",
            Work::StreamCopy => "STREAM copy, b = a, two arrays counted",
            Work::Scale => "STREAM scale, b = s a, two arrays counted",
            Work::Add => "STREAM add, c = a + b, three arrays counted",
            Work::Triad => "STREAM triad, c = a + s b, three arrays counted",
        }
    }

    /// Bytes counted per byte of one array.
    pub(super) fn counted(self) -> u64 {
        match self {
            Work::Read | Work::Write | Work::ReadWrite | Work::Copy | Work::Zero => 1,
            Work::StreamCopy | Work::Scale => 2,
            Work::Add | Work::Triad => 3,
        }
    }

    /// Arrays it needs.
    pub(super) fn arrays(self) -> usize {
        match self {
            Work::Read | Work::Write | Work::ReadWrite | Work::Zero => 1,
            Work::Copy | Work::StreamCopy | Work::Scale => 2,
            Work::Add | Work::Triad => 3,
        }
    }
}

/// By which instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// The widest vectors that this processor has.
    Vector,
    /// 64-bit registers.
    Scalar,
    /// Vectors, with stores that bypass the caches.
    NonTemporal,
    /// The string instructions of x86.
    Rep,
    /// The C library's function.
    Libc,
}

impl By {
    pub(super) fn suffix(self) -> &'static str {
        match self {
            By::Vector => "",
            By::Scalar => ".scalar",
            By::NonTemporal => ".nt",
            By::Rep => ".rep",
            By::Libc => "_libc",
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            By::Vector => "the machine's widest vectors",
            By::Scalar => "64-bit registers",
            By::NonTemporal => "non-temporal vector stores",
            By::Rep => "rep movsb or rep stosb",
            By::Libc => "the C library's memcpy or memset",
        }
    }
}

/// Works on `bytes` (a multiple of [`STEP`]) of the arrays a, b, c; returns how many bytes of each it went through.
///
/// # Safety
/// The arrays that its [`Work`] needs must be valid for `bytes` bytes, aligned to 64 bytes, and not overlap.
pub(super) type Loop = unsafe fn(a: *mut u8, b: *mut u8, c: *mut u8, bytes: usize) -> usize;

/// Every loop works in steps of this many bytes: eight of the widest vectors.
pub(super) const STEP: usize = 512;

/// One loop.
#[derive(Clone, Copy)]
pub(super) struct Kernel {
    pub(super) work: Work,
    pub(super) by: By,
    /// Bits per access, 0 where it is not ours to know.
    pub(super) bits: u32,
    pub(super) run: Loop,
}

#[repr(align(64))]
struct Proving([[u8; 2 * STEP]; 3]);

impl Kernel {
    /// Runs on small arrays and checks what became of them.
    pub(super) fn prove(&self) -> Result<(), Stop> {
        let mut arrays = Proving([[0; 2 * STEP]; 3]);
        let number = |i: usize| (i as f64 + 1.0).to_ne_bytes();
        for (i, chunk) in arrays.0[0].chunks_exact_mut(8).enumerate() {
            chunk.copy_from_slice(&number(i));
        }
        for (i, chunk) in arrays.0[1].chunks_exact_mut(8).enumerate() {
            chunk.copy_from_slice(&number(2 * i + 5));
        }
        let before = arrays.0;
        let [a, b, c] = &mut arrays.0;
        // SAFETY: three separate arrays of 2 * STEP bytes, each aligned to 64 since STEP is a multiple of it.
        let went = unsafe { (self.run)(a.as_mut_ptr(), b.as_mut_ptr(), c.as_mut_ptr(), 2 * STEP) };
        check(went == 2 * STEP, "a loop over memory did not go to the end")?;
        let word = |array: &[u8], i: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&array[8 * i..8 * i + 8]);
            bytes
        };
        let float = |array: &[u8], i: usize| f64::from_ne_bytes(word(array, i));
        let [a, b, c] = &arrays.0;
        let right = (0..2 * STEP / 8).all(|i| match self.work {
            Work::Read => word(a, i) == word(&before[0], i),
            Work::Write | Work::ReadWrite => word(b, i) == [0xff; 8],
            Work::Zero => word(b, i) == [0; 8],
            Work::Copy | Work::StreamCopy => word(b, i) == word(&before[0], i),
            Work::Scale => float(b, i) == 3.0 * float(&before[0], i),
            Work::Add => float(c, i) == float(&before[0], i) + float(&before[1], i),
            Work::Triad => float(c, i) == float(&before[0], i) + 3.0 * float(&before[1], i),
        });
        check(right, "a loop over memory left other contents than it must")
    }
}

/// `memcpy` from a to b.
///
/// # Safety
/// As [`Loop`].
pub(super) unsafe fn libc_copy(a: *mut u8, b: *mut u8, _c: *mut u8, bytes: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { libc::memcpy(b.cast(), std::hint::black_box(a).cast(), bytes) };
    bytes
}

/// `memset` of b to zero.
///
/// # Safety
/// As [`Loop`].
pub(super) unsafe fn libc_zero(_a: *mut u8, b: *mut u8, _c: *mut u8, bytes: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { libc::memset(std::hint::black_box(b).cast(), 0, bytes) };
    bytes
}

/// The C library's loops.
pub(super) fn libc_kernels() -> [Kernel; 2] {
    [
        Kernel { work: Work::Copy, by: By::Libc, bits: 0, run: libc_copy },
        Kernel { work: Work::Zero, by: By::Libc, bits: 0, run: libc_zero },
    ]
}

#[cfg(test)]
mod tests {
    use super::super::instructions::kernels;
    use super::*;

    #[test]
    fn every_loop_does_its_work_on_its_array() {
        let all: Vec<Kernel> = kernels().into_iter().chain(libc_kernels()).collect();
        assert!(all.len() >= 10);
        for kernel in all {
            assert!(kernel.prove().is_ok(), "{:?} by {:?}, {} bits", kernel.work, kernel.by, kernel.bits);
        }
    }
}
