//! `bw.file_read`, `bw.file_open2close`, `bw.mmap_read`, `bw.mmap_open2close`: a file that is in the page cache.
//!
//! Timed, over a file of 16 MiB in the test directory, written just before:
//! `file_read`: `pread` of the whole file in pieces of 64 KiB into one buffer, which is the kernel's copy and nothing else;
//! `file_open2close`: the same with `open` and `close`;
//! `mmap_read`: the sum of all 64-bit words of an existing mapping, every page of it present;
//! `mmap_open2close`: `open`, `mmap`, the faults, the sum, `munmap` and `close`.
//! LMbench sums the words in all four; so its read figures are lower by the cost of the sum.
//! Proof: every byte is read, the last piece equals what was written; the sum is that of what was written.

use std::fs::File;
use std::hint::black_box;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use harness::prelude::*;

use super::transfer::declared;

/// Bytes of the file and of one `pread`.
const BYTES: usize = 16 << 20;
const PIECE: usize = 64 << 10;

/// The four benchmarks.
pub fn benchmarks() -> [Benchmark; 4] {
    let benchmark = |name: &'static str, doc: &str, read: fn(&Written) -> Result<u64, Stop>| {
        Benchmark::new(name, move |bench| run(bench, name, read)).metric(declared(name, doc)).memory(32 << 20)
    };
    [
        Benchmark::new("bw.file_read", run_open_file)
            .metric(declared("bw.file_read", "pread of a cached 16 MiB file in pieces of 64 KiB, file open."))
            .memory(32 << 20),
        benchmark(
            "bw.file_open2close",
            "open, read in pieces of 64 KiB and close of a cached 16 MiB file.",
            open2close,
        ),
        Benchmark::new("bw.mmap_read", run_mapping)
            .metric(declared(
                "bw.mmap_read",
                "Sum of the 64-bit words of a mapped 16 MiB file, pages present.",
            ))
            .memory(32 << 20),
        benchmark(
            "bw.mmap_open2close",
            "open, mmap, page faults, sum of the 64-bit words, munmap and close of a cached 16 MiB file.",
            map_open2close,
        ),
    ]
}

/// The file, what it holds, and the sum of its words.
struct Written {
    path: PathBuf,
    piece: Vec<u8>,
    sum: u64,
}

impl Written {
    fn in_scratch(bench: &Bench) -> Result<Self, Stop> {
        let path = bench.job().scratch.join("bandwidth");
        let piece = crate::net::service_pattern(PIECE);
        let failed = |e| Stop::unavailable("writing the test file", &e);
        let file = File::create(&path).map_err(failed)?;
        for at in (0..BYTES).step_by(PIECE) {
            file.write_all_at(&piece, at as u64).map_err(failed)?;
        }
        let sum = sum_of_words(&piece).wrapping_mul((BYTES / PIECE) as u64);
        Ok(Written { path, piece, sum })
    }
}

/// Measures `read`, which returns the sum expected, or that of the pieces it compared.
fn run(bench: &mut Bench, metric: &str, read: fn(&Written) -> Result<u64, Stop>) -> Result<(), Stop> {
    let written = Written::in_scratch(bench)?;
    bench.note(metric, "file_bytes", BYTES);
    bench.measure(metric, |iterations, timer| {
        let right = timer.time(|| {
            (0..iterations)
                .try_fold(true, |right, _| Ok::<bool, Stop>(right & (read(&written)? == written.sum)))
        })?;
        timer.worked((iterations * BYTES as u64) as f64);
        check(right, "the file read is not the one written")
    })
}

fn run_open_file(bench: &mut Bench) -> Result<(), Stop> {
    let written = Written::in_scratch(bench)?;
    let file = open(&written.path)?;
    let mut buffer = vec![0; PIECE];
    bench.note("bw.file_read", "file_bytes", BYTES);
    bench.measure("bw.file_read", |iterations, timer| {
        buffer.fill(0);
        timer.time(|| (0..iterations).try_for_each(|_| read_all(&file, &mut buffer)))?;
        timer.worked((iterations * BYTES as u64) as f64);
        check(buffer == written.piece, "the file read is not the one written")
    })
}

fn run_mapping(bench: &mut Bench) -> Result<(), Stop> {
    let written = Written::in_scratch(bench)?;
    let mapping = Mapping::of(&open(&written.path)?)?;
    bench.note("bw.mmap_read", "file_bytes", BYTES);
    check(sum_of_words(mapping.bytes()) == written.sum, "the mapping is not the file written")?;
    bench.measure("bw.mmap_read", |iterations, timer| {
        let right =
            timer.time(|| (0..iterations).all(|_| sum_of_words(black_box(mapping.bytes())) == written.sum));
        timer.worked((iterations * BYTES as u64) as f64);
        check(right, "the sum is not that of the file written")
    })
}

fn open2close(written: &Written) -> Result<u64, Stop> {
    let mut buffer = vec![0; PIECE];
    read_all(&open(&written.path)?, &mut buffer)?;
    Ok(if buffer == written.piece { written.sum } else { !written.sum })
}

fn map_open2close(written: &Written) -> Result<u64, Stop> {
    let mapping = Mapping::of(&open(&written.path)?)?;
    Ok(sum_of_words(mapping.bytes()))
}

fn open(path: &Path) -> Result<File, Stop> {
    File::open(path).map_err(|e| Stop::unavailable("opening the test file", &e))
}

fn read_all(file: &File, buffer: &mut [u8]) -> Result<(), Stop> {
    for at in (0..BYTES).step_by(PIECE) {
        file.read_exact_at(buffer, at as u64)
            .map_err(|e| Stop::fail(format!("reading the test file: {e}")))?;
    }
    Ok(())
}

/// Wrapping sum of the 64-bit words of whole 32-byte groups, in four chains of scalar loads and additions: the same
/// instructions whatever the compiler would make of it.
fn sum_of_words(bytes: &[u8]) -> u64 {
    let groups = bytes.len() / 32;
    if groups == 0 {
        return 0;
    }
    let sum: u64;
    // SAFETY: reads `groups` times 32 bytes from the slice's start, which it has; changes registers and flags only.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!(
            "2:",
            "add {a}, [{at}]",
            "add {b}, [{at} + 8]",
            "add {c}, [{at} + 16]",
            "add {d}, [{at} + 24]",
            "add {at}, 32",
            "dec {groups}",
            "jnz 2b",
            "add {a}, {b}",
            "add {c}, {d}",
            "add {a}, {c}",
            at = inout(reg) bytes.as_ptr() => _,
            groups = inout(reg) groups => _,
            a = inout(reg) 0u64 => sum,
            b = inout(reg) 0u64 => _,
            c = inout(reg) 0u64 => _,
            d = inout(reg) 0u64 => _,
            options(readonly, nostack),
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!(
            "2:",
            "ldp {x}, {y}, [{at}], #16",
            "add {a}, {a}, {x}",
            "add {b}, {b}, {y}",
            "ldp {x}, {y}, [{at}], #16",
            "add {c}, {c}, {x}",
            "add {d}, {d}, {y}",
            "subs {groups}, {groups}, #1",
            "b.ne 2b",
            "add {a}, {a}, {b}",
            "add {c}, {c}, {d}",
            "add {a}, {a}, {c}",
            at = inout(reg) bytes.as_ptr() => _,
            groups = inout(reg) groups => _,
            x = out(reg) _,
            y = out(reg) _,
            a = inout(reg) 0u64 => sum,
            b = inout(reg) 0u64 => _,
            c = inout(reg) 0u64 => _,
            d = inout(reg) 0u64 => _,
            options(readonly, nostack),
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let word = |word: &[u8]| word.try_into().map_or(0, u64::from_ne_bytes);
        sum = bytes[..groups * 32].chunks_exact(8).map(word).fold(0, u64::wrapping_add);
    }
    sum
}

/// A shared read-only mapping of the whole file.
struct Mapping(*mut libc::c_void);

impl Mapping {
    fn of(file: &File) -> Result<Self, Stop> {
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), BYTES, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return Err(Stop::unavailable("mapping the test file", &std::io::Error::last_os_error()));
        }
        Ok(Mapping(start))
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: BYTES bytes are mapped, and nothing writes to the file of this private directory any more.
        unsafe { std::slice::from_raw_parts(self.0.cast(), BYTES) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `of`, to which no reference is left.
        unsafe { libc::munmap(self.0, BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_the_words() {
        let words: Vec<u64> = (0..16).map(|i| 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(i * i + 1)).collect();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(sum_of_words(&bytes), words.iter().copied().fold(0, u64::wrapping_add));
        assert_eq!(sum_of_words(&bytes[..32]), words[..4].iter().copied().fold(0, u64::wrapping_add));
        assert_eq!(sum_of_words(&[]), 0);
    }
}
