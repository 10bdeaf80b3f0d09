//! Directories that look like a machine, built by the tests that need them.

use std::fs;
use std::path::Path;

use environment::{Options, Root, collect};
use serde_json::Value;
use tempfile::TempDir;

/// A machine made of files.
pub struct Fixture {
    directory: TempDir,
}

impl Fixture {
    /// An empty machine: no `/proc`, no `/sys`.
    pub fn empty() -> Self {
        Fixture { directory: TempDir::new().expect("a temporary directory") }
    }

    /// A small bare-metal machine: one package, two cores, nothing unusual.
    pub fn plain() -> Self {
        let fixture = Fixture::empty();
        fixture
            .file("/proc/sys/kernel/osrelease", "6.18.0")
            .file("/proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Mon Jan 5 10:00:00 UTC 2026")
            .file("/proc/sys/kernel/hostname", "bench-07")
            .file("/proc/sys/kernel/random/boot_id", "6f1c7e22-0d7c-4a53-9d3c-3f3f1f0a9b11")
            .file("/proc/version", "Linux version 6.18.0 (me@build) (gcc (GCC) 15.1.0, GNU ld 2.46) #1 SMP PREEMPT_DYNAMIC")
            .file("/proc/cmdline", "root=/dev/vda1 quiet")
            .file("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Test CPU\nstepping\t: 4\nflags\t\t: fpu tsc\n\nprocessor\t: 1\n")
            .file("/proc/self/status", "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\nSeccomp:\t0\nCpus_allowed_list:\t0-1\n")
            .file("/proc/loadavg", "0.00 0.00 0.00 1/90 4242")
            .file("/sys/devices/system/cpu/online", "0-1")
            .cpu(0, 0, "0", "0-1")
            .cpu(1, 0, "1", "0-1");
        fixture
    }

    /// Writes a file.
    pub fn file(&self, path: &str, contents: &str) -> &Self {
        self.bytes(path, contents.as_bytes())
    }

    /// Writes a file of bytes.
    pub fn bytes(&self, path: &str, contents: &[u8]) -> &Self {
        let full = self.root().path(path);
        fs::create_dir_all(full.parent().expect("a parent")).expect("directories");
        fs::write(full, contents).expect("a file");
        self
    }

    /// Describes an online CPU: its package, its core's threads and the CPUs of its last-level cache.
    pub fn cpu(&self, id: usize, package: usize, threads: &str, cache: &str) -> &Self {
        let base = format!("/sys/devices/system/cpu/cpu{id}");
        self.file(&format!("{base}/topology/physical_package_id"), &package.to_string())
            .file(&format!("{base}/topology/core_cpus_list"), threads)
            .cache(&base, 0, "1", "Data", "32K", threads)
            .cache(&base, 1, "1", "Instruction", "64K", threads)
            .cache(&base, 2, "3", "Unified", "16M", cache)
    }

    fn cache(&self, base: &str, index: usize, level: &str, kind: &str, size: &str, shared: &str) -> &Self {
        let base = format!("{base}/cache/index{index}");
        self.file(&format!("{base}/level"), level)
            .file(&format!("{base}/type"), kind)
            .file(&format!("{base}/size"), size)
            .file(&format!("{base}/ways_of_associativity"), "8")
            .file(&format!("{base}/coherency_line_size"), "64")
            .file(&format!("{base}/shared_cpu_list"), shared)
    }

    /// The root to read it through.
    pub fn root(&self) -> Root {
        Root::at(self.directory.path())
    }

    /// What is collected from it, with the test directory at `/`.
    pub fn collect(&self) -> Value {
        collect(&self.root(), &options())
    }
}

/// Options that do not depend on the environment of the test.
pub fn options() -> Options {
    Options { directory: Some(Path::new("/").to_path_buf()), ..Options::default() }
}
