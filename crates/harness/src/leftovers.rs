//! What a worker may leave in the kernel outside its processes and files, so that others can remove it by name.

use std::path::{Path, PathBuf};
use std::time::Duration;

use environment::Root;

/// Names of the System V objects and the cgroups that workers of one run may make.
#[derive(Clone, Debug)]
pub struct Leftovers {
    ipc_key: i32,
    cgroup: Option<PathBuf>,
    /// This process's own directory in the memory controller's hierarchy.
    memory: Option<PathBuf>,
}

impl Leftovers {
    /// Names that belong to the calling process's run.
    pub fn of_this_process() -> Self {
        let pid = std::process::id();
        let root = Root::host();
        Leftovers {
            ipc_key: 0x746c_0000 | (pid & 0xffff) as i32,
            cgroup: environment::unified_cgroup(&root).map(|own| own.join(format!("tlbench-{pid}"))),
            memory: environment::memory_cgroup(&root),
        }
    }

    /// Key of the System V objects of one of several copies of a worker, from 0.
    pub fn ipc_key(&self, copy: u32) -> i32 {
        self.ipc_key.wrapping_add((copy << 16) as i32)
    }

    /// The cgroup v2 directory of one copy; `None` where no such hierarchy is mounted.
    pub fn cgroup(&self, copy: u32) -> Option<PathBuf> {
        let own = self.cgroup.as_ref()?;
        Some(own.with_file_name(format!("{}-{copy}", own.file_name()?.to_string_lossy())))
    }

    /// The directory of one copy in the memory controller's hierarchy (with cgroup v1 another one); `None` where that
    /// is not seen.
    pub fn memory_cgroup(&self, copy: u32) -> Option<PathBuf> {
        Some(memory_cgroup_below(self.memory.as_ref()?, self.ipc_key(copy)))
    }

    /// Removes whatever exists of those of this many copies.
    pub fn remove(&self, copies: u32) {
        for copy in 0..copies {
            remove_ipc(self.ipc_key(copy));
            for cgroup in [self.cgroup(copy), self.memory_cgroup(copy)].into_iter().flatten() {
                remove_cgroups(&cgroup);
            }
        }
    }
}

/// Where a worker with this System V key makes its memory cgroups: below its own, `own`.
pub fn memory_cgroup_below(own: &Path, ipc_key: i32) -> PathBuf {
    own.join(format!("tlbench-{ipc_key:08x}"))
}

/// Deepest nesting of cgroups that a benchmark makes.
const MOST_LEVELS: u32 = 8;

/// Removes a cgroup and those below it, if it exists. Processes just killed may need a moment to leave.
pub fn remove_cgroups(cgroup: &Path) {
    for _ in 0..50 {
        remove_below(cgroup, MOST_LEVELS);
        let removed = std::fs::remove_dir(cgroup);
        if removed.is_ok() || !cgroup.exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn remove_below(cgroup: &Path, levels: u32) {
    let entries = std::fs::read_dir(cgroup).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        if levels > 0 {
            remove_below(&entry.path(), levels - 1);
        }
        let _ = std::fs::remove_dir(entry.path());
    }
}

/// Removes the System V semaphore set and shared memory segment with this key, if they exist.
fn remove_ipc(key: i32) {
    // SAFETY: looks up and removes objects by key; no pointers but null.
    unsafe {
        let semaphores = libc::semget(key, 0, 0);
        if semaphores != -1 {
            libc::semctl(semaphores, 0, libc::IPC_RMID);
        }
        let memory = libc::shmget(key, 0, 0);
        if memory != -1 {
            libc::shmctl(memory, libc::IPC_RMID, std::ptr::null_mut());
        }
    }
}
