//! `vm.memcg.charge.{0,1,4}`, `vm.memcg.file`, `vm.memcg.limit`: memory charged to control groups.
//!
//! Timed: first writes of anonymous pages by a process in the memory cgroup it was found in (0), and one and four
//! levels below it: the difference is what each level of charging costs. `file` is reading a hole of a file in the test
//! directory once through, one level below, so that each page enters the page cache; `limit` is the same in a cgroup at
//! its limit of 16 MiB, half the hole, where room must be made first. Reclaim frees many pages at a time, so only a whole
//! pass shows its cost. Per page.
//! Proof: faults counted as in `vm.fault.anon_write`; bytes read are counted, the group's usage stays at or below its
//! limit and comes near to it.
//! The worker moves itself and back; the cgroups are removed at the end or, whatever happens, by the harness.
//! Pitfalls: the kernel charges in batches of pages, which is why depth costs little. Needs the right to make memory
//! cgroups here: root with version 1, a delegated subtree with version 2.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use environment::Root;
use harness::prelude::*;
use harness::{memory_cgroup_below, remove_cgroups};

use super::fault::Faulting;
use super::mapping::{check_faults, minor_faults, page_bytes};

const DEPTHS: [usize; 3] = [0, 1, 4];
const FILE: &str = "vm.memcg.file";
const LIMIT: &str = "vm.memcg.limit";
const LIMIT_BYTES: u64 = 16 << 20;
/// More than the limit holds.
const HOLE_BYTES: u64 = 32 << 20;
/// Passes through the hole that an invocation makes at least.
const PASSES: usize = 3;
const READ_BYTES: usize = 64 << 10;

/// The benchmark.
pub fn benchmark() -> Benchmark {
    let benchmark = Benchmark::new("vm.memcg", run).parts(5).memory(32 << 20);
    let benchmark = DEPTHS.iter().fold(benchmark, |benchmark, depth| {
        let doc = format!("First write of an anonymous page, {depth} memory cgroup(s) below the one found.");
        benchmark.metric(time(format!("vm.memcg.charge.{depth}"), "page", doc))
    });
    benchmark
        .metric(passes(
            FILE,
            "A page of a file's hole enters the page cache, in a memory cgroup without limit.",
        ))
        .metric(passes(
            LIMIT,
            "The same in a memory cgroup at its limit, the reclaim of another page included.",
        ))
}

fn passes(name: &str, doc: &str) -> Declared {
    time(name, "page", doc).blocking().single_shot(PASSES).definition(2)
}

/// The worker's own memory cgroup and the groups made below it, which are removed when dropped.
struct Groups {
    found: PathBuf,
    made: PathBuf,
}

impl Groups {
    fn new(ipc_key: i32) -> Result<Groups, Stop> {
        let found = environment::memory_cgroup(&Root::host())
            .ok_or_else(|| Stop::skip("no memory cgroup of this process can be seen"))?;
        let made = memory_cgroup_below(&found, ipc_key);
        fs::create_dir(&made).map_err(|e| Stop::unavailable("making a memory cgroup", &e))?;
        let groups = Groups { found, made };
        if groups.limit_file(&groups.made).is_none() {
            return Err(Stop::skip("the memory controller is not enabled below this process's cgroup"));
        }
        Ok(groups)
    }

    /// The group `depth` levels below the one found.
    fn at(&self, depth: usize) -> Result<PathBuf, Stop> {
        if depth == 0 {
            return Ok(self.found.clone());
        }
        let mut group = self.made.clone();
        for level in 1..depth {
            // Version 2 hands a controller down only when told.
            let control = group.join("cgroup.subtree_control");
            if control.exists() {
                fs::write(control, "+memory")
                    .map_err(|e| Stop::unavailable("enabling the memory controller", &e))?;
            }
            group.push(format!("level{level}"));
            if !group.exists() {
                fs::create_dir(&group).map_err(|e| Stop::unavailable("making a memory cgroup", &e))?;
            }
        }
        Ok(group)
    }

    fn limit_file(&self, group: &Path) -> Option<PathBuf> {
        ["memory.max", "memory.limit_in_bytes"]
            .map(|name| group.join(name))
            .into_iter()
            .find(|path| path.exists())
    }

    fn usage(&self, group: &Path) -> Option<u64> {
        let read = |name| fs::read_to_string(group.join(name)).ok()?.trim().parse().ok();
        read("memory.current").or_else(|| read("memory.usage_in_bytes"))
    }
}

/// Moves this process into `group`.
fn enter(group: &Path) -> Result<(), Stop> {
    fs::write(group.join("cgroup.procs"), std::process::id().to_string())
        .map_err(|e| Stop::unavailable("entering a memory cgroup", &e))
}

impl Drop for Groups {
    fn drop(&mut self) {
        // Where leaving fails, the harness removes the groups when this process is gone.
        enter(&self.found).ok();
        remove_cgroups(&self.made);
    }
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let groups = Groups::new(bench.job().ipc_key)?;
    for depth in DEPTHS {
        enter(&groups.at(depth)?)?;
        charge(bench, &format!("vm.memcg.charge.{depth}"))?;
        // Version 2 allows processes in leaves only.
        enter(&groups.found)?;
    }
    let hole = hole(&bench.job().scratch.join("hole"))?;
    let group = groups.made.join("files");
    fs::create_dir(&group).map_err(|e| Stop::unavailable("making a memory cgroup", &e))?;
    enter(&group)?;
    read_hole(bench, FILE, &hole, || Ok(()))?;
    let limit =
        groups.limit_file(&group).ok_or_else(|| Stop::skip("no limit can be set on a memory cgroup"))?;
    fs::write(limit, LIMIT_BYTES.to_string())
        .map_err(|e| Stop::unavailable("limiting a memory cgroup", &e))?;
    bench.note(LIMIT, "limit_bytes", LIMIT_BYTES);
    // Fills the group, so that every timed page finds it full.
    fill(&hole)?;
    read_hole(bench, LIMIT, &hole, || {
        let usage = groups.usage(&group).unwrap_or(0);
        check((LIMIT_BYTES / 2..=LIMIT_BYTES).contains(&usage), "the cgroup is not at its limit")
    })
}

fn charge(bench: &mut Bench, metric: &str) -> Result<(), Stop> {
    let region = Faulting::new()?;
    let page = page_bytes();
    bench.measure_up_to(metric, region.pages, |pages, timer| {
        let bytes = pages as usize * page;
        let before = minor_faults();
        timer.time(|| region.map.write_every(page, bytes, page));
        check_faults(minor_faults() - before, pages)?;
        region.map.drop_pages(page, bytes)
    })
}

/// A file without blocks.
fn hole(path: &Path) -> Result<File, Stop> {
    let kind = environment::filesystem_type(&Root::host(), path).unwrap_or_default();
    if kind == "tmpfs" || kind == "ramfs" {
        return Err(Stop::skip(format!("reading a hole on {kind} allocates no pages")));
    }
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path);
    let file = file.map_err(|e| Stop::unavailable("making the test file", &e))?;
    file.set_len(HOLE_BYTES).map_err(|e| Stop::unavailable("sizing the test file", &e))?;
    Ok(file)
}

/// Reads all of the hole.
fn fill(hole: &File) -> Result<(), Stop> {
    let mut buffer = vec![0u8; READ_BYTES];
    for at in (0..HOLE_BYTES).step_by(READ_BYTES) {
        hole.read_exact_at(&mut buffer, at).map_err(|e| Stop::unavailable("reading the test file", &e))?;
    }
    Ok(())
}

/// Reads through the hole, of which nothing is cached at the start, or in a group at its limit only the end, which is gone
/// before it is reached; `proof` is asked after each pass.
fn read_hole(
    bench: &mut Bench,
    metric: &str,
    hole: &File,
    proof: impl Fn() -> Result<(), Stop>,
) -> Result<(), Stop> {
    bench.measure_up_to(metric, 1, |_, timer| {
        if metric == FILE {
            // A group without limit has kept every page.
            // SAFETY: no pointers are passed.
            unsafe { libc::posix_fadvise(hole.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        }
        timer.time(|| fill(hole))?;
        timer.worked((HOLE_BYTES / page_bytes() as u64) as f64);
        proof()
    })
}
