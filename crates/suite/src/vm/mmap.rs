//! `vm.mmap.1m`, `vm.mmap.8m`, `vm.mmap.64m`: a mapping comes, is used, and goes.
//!
//! Timed: `mmap` of a file in memory (memfd), shared and writable; a write of one byte to every base page; `munmap`.
//! Per whole cycle. The file's pages exist before, so nothing is allocated or cleared but page tables.
//! Proof: as many minor faults as pages (huge pages are kept out by `PR_SET_THP_DISABLE`), and the last byte is in the file.
//! Pitfalls: unlike LMbench's test of this name every page is touched, so 64m is not comparable with its cell; the
//! file is in memory, so no file system takes part.

use std::fs::File;
use std::os::fd::FromRawFd;
use std::os::unix::fs::FileExt;

use harness::prelude::*;

use super::mapping::{check_faults, map_file, minor_faults, only_base_pages, page_bytes};

/// One benchmark per size.
pub fn benchmarks() -> Vec<Benchmark> {
    [1, 8, 64].map(benchmark).into()
}

fn benchmark(mib: usize) -> Benchmark {
    let name = format!("vm.mmap.{mib}m");
    let metric = name.clone();
    let declared = time(
        name.clone(),
        "mmap+touch+munmap",
        format!("mmap of {mib} MiB of a memory file, one byte written to every page, munmap."),
    );
    let declared = if mib >= 64 { declared.single_shot(3) } else { declared };
    Benchmark::new(name, move |bench| run(bench, &metric, mib << 20))
        .metric(declared)
        .memory(((mib + 8) as u64) << 20)
}

/// A file in memory, of no file system of the user's.
pub(super) fn memory_file(bytes: usize) -> Result<File, Stop> {
    // SAFETY: the name is a C string; a non-negative return is a descriptor that is owned by nobody else.
    let file = unsafe {
        let fd = cvt("memfd_create", libc::memfd_create(c"tlbench".as_ptr(), libc::MFD_CLOEXEC))?;
        File::from_raw_fd(fd)
    };
    file.set_len(bytes as u64).map_err(|e| Stop::unavailable("sizing the memory file", &e))?;
    Ok(file)
}

fn run(bench: &mut Bench, metric: &str, bytes: usize) -> Result<(), Stop> {
    only_base_pages()?;
    let file = memory_file(bytes)?;
    let page = page_bytes();
    let pages = bytes.div_ceil(page) as u64;
    let populate = map_file(&file, bytes, true)?;
    populate.write_every(0, bytes, page);
    drop(populate);
    bench.note(metric, "pages", pages);
    bench.measure(metric, |cycles, timer| {
        let before = minor_faults();
        timer.time(|| {
            for _ in 0..cycles {
                let map = map_file(&file, bytes, true)?;
                map.write_every(0, bytes, page);
            }
            Ok::<(), Stop>(())
        })?;
        check_faults(minor_faults() - before, cycles * pages)?;
        let mut last = [0u8];
        let read = file.read_at(&mut last, (bytes - page) as u64);
        check(matches!(read, Ok(1)) && last == [1], "what was written is not in the file")
    })
}
