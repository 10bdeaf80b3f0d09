//! The kernel's build configuration, where the machine shows it.

use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};

use crate::{Missing, Root};

/// A configuration is some 300 kB; one that unpacks to more than this is not read further.
const MAX_UNPACKED: u64 = 8 << 20;

/// Options that change what a benchmark costs. Others are covered by the hash.
pub(crate) const NOTABLE: [&str; 69] = [
    "DEBUG_LIST",
    "HZ",
    "NO_HZ_FULL",
    "NO_HZ_IDLE",
    "HZ_PERIODIC",
    "PREEMPT",
    "PREEMPT_NONE",
    "PREEMPT_VOLUNTARY",
    "PREEMPT_LAZY",
    "PREEMPT_RT",
    "PREEMPT_DYNAMIC",
    "PREEMPT_RCU",
    "RCU_NOCB_CPU",
    "SCHED_CORE",
    "SCHED_CLASS_EXT",
    "SCHED_AUTOGROUP",
    "SCHED_CLUSTER",
    "SCHED_SMT",
    "NUMA_BALANCING",
    "FAIR_GROUP_SCHED",
    "CFS_BANDWIDTH",
    "UCLAMP_TASK",
    "PSI",
    "SCHEDSTATS",
    "VIRT_CPU_ACCOUNTING_GEN",
    "TICK_CPU_ACCOUNTING",
    "IRQ_TIME_ACCOUNTING",
    "MEMCG",
    "LRU_GEN",
    "LRU_GEN_ENABLED",
    "TRANSPARENT_HUGEPAGE",
    "READ_ONLY_THP_FOR_FS",
    "KSM",
    "DAMON",
    "HUGETLB_PAGE_OPTIMIZE_VMEMMAP",
    "SLUB",
    "SLUB_TINY",
    "SLAB_FREELIST_HARDENED",
    "SLAB_FREELIST_RANDOM",
    "RANDOM_KMALLOC_CACHES",
    "INIT_ON_ALLOC_DEFAULT_ON",
    "INIT_ON_FREE_DEFAULT_ON",
    "INIT_STACK_ALL_ZERO",
    "HARDENED_USERCOPY",
    "RANDOMIZE_KSTACK_OFFSET_DEFAULT",
    "STACKPROTECTOR_STRONG",
    "VMAP_STACK",
    "FORTIFY_SOURCE",
    "CFI_CLANG",
    "UBSAN",
    "LTO_CLANG_THIN",
    "LTO_CLANG_FULL",
    "AUTOFDO_CLANG",
    "PROPELLER_CLANG",
    "CC_OPTIMIZE_FOR_SIZE",
    "CC_VERSION_TEXT",
    "MITIGATION_PAGE_TABLE_ISOLATION",
    "PAGE_TABLE_ISOLATION",
    "MITIGATION_RETPOLINE",
    "RETPOLINE",
    "X86_FRED",
    "PARAVIRT",
    "PARAVIRT_SPINLOCKS",
    "SECCOMP_FILTER",
    "AUDITSYSCALL",
    "BPF_JIT_ALWAYS_ON",
    "FTRACE",
    "ARM64_4K_PAGES",
    "ARM64_64K_PAGES",
];

/// Options that make a kernel several times slower or leave marks in every path; nobody compares such kernels by accident.
pub(crate) const DEBUG: [&str; 29] = [
    "KASAN",
    "KASAN_GENERIC",
    "KASAN_SW_TAGS",
    "KCSAN",
    "KMSAN",
    "UBSAN_SANITIZE_ALL",
    "LOCKDEP",
    "PROVE_LOCKING",
    "LOCK_STAT",
    "PROVE_RCU",
    "DEBUG_LOCK_ALLOC",
    "DEBUG_ATOMIC_SLEEP",
    "DEBUG_PAGEALLOC",
    "DEBUG_VM",
    "DEBUG_VM_PGTABLE",
    "DEBUG_KMEMLEAK",
    "DEBUG_OBJECTS",
    "DEBUG_PREEMPT",
    "DEBUG_SPINLOCK",
    "DEBUG_MUTEXES",
    "DEBUG_RT_MUTEXES",
    "DEBUG_STACK_USAGE",
    "SLUB_DEBUG_ON",
    "PAGE_POISONING",
    "PAGE_TABLE_CHECK",
    "KCOV",
    "GCOV_KERNEL",
    "DEBUG_IRQFLAGS",
    "FAULT_INJECTION",
];

/// A configuration as it was found.
pub(crate) struct Config {
    /// File it came from.
    pub(crate) source: String,
    /// SHA-256 over the `CONFIG_` lines: comments and the title, which carries the version, do not count.
    pub(crate) sha256: String,
    /// Options that are set, without the prefix; values without quotes.
    pub(crate) options: BTreeMap<String, String>,
}

impl Config {
    /// Reads `/proc/config.gz`, `/boot/config-RELEASE` or `/lib/modules/RELEASE/{config,build/.config}`.
    pub(crate) fn read(root: &Root) -> Result<Self, Missing> {
        if let Ok(packed) = root.bytes("/proc/config.gz") {
            let mut text = String::new();
            GzDecoder::new(packed.as_slice())
                .take(MAX_UNPACKED)
                .read_to_string(&mut text)
                .map_err(|error| Missing::because(format!("/proc/config.gz: {error}")))?;
            return Ok(Config::parse("/proc/config.gz", &text));
        }
        let release = root.text("/proc/sys/kernel/osrelease")?;
        let places = [
            format!("/boot/config-{release}"),
            format!("/lib/modules/{release}/config"),
            format!("/lib/modules/{release}/build/.config"),
        ];
        for place in &places {
            if let Ok(text) = root.text(place) {
                return Ok(Config::parse(place, &text));
            }
        }
        Err(Missing::because(format!("neither /proc/config.gz nor a readable {}", places[0])))
    }

    fn parse(source: &str, text: &str) -> Self {
        let mut hash = Sha256::new();
        let mut options = BTreeMap::new();
        for line in text.lines() {
            let Some((name, value)) = line.strip_prefix("CONFIG_").and_then(|line| line.split_once('='))
            else {
                continue;
            };
            hash.update(line.as_bytes());
            hash.update(b"\n");
            options.insert(name.to_owned(), value.trim_matches('"').to_owned());
        }
        let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Config { source: source.to_owned(), sha256, options }
    }

    /// True when an option is built in.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.options.get(name).is_some_and(|value| value == "y")
    }
}
