//! Memory management: page sizes, huge pages, and everything that works on pages behind our back.

use serde_json::{Map, Value};

use crate::section::{Section, unknown};
use crate::{Missing, Root};

const THP: &str = "/sys/kernel/mm/transparent_hugepage";
const AT_PAGESZ: u64 = 6;

pub(crate) fn section(root: &Root) -> Value {
    let mut section = Section::default();
    section.put("page_bytes", page_bytes(root));
    section.set("thp", thp(root));
    section.set("hugetlb", hugetlb(root));
    section.put("fault_around_bytes", root.number("/sys/kernel/debug/fault_around_bytes"));
    section.numbers(
        root,
        &[
            ("overcommit_memory", "/proc/sys/vm/overcommit_memory"),
            ("overcommit_ratio", "/proc/sys/vm/overcommit_ratio"),
            ("max_map_count", "/proc/sys/vm/max_map_count"),
            ("swappiness", "/proc/sys/vm/swappiness"),
            ("min_free_kbytes", "/proc/sys/vm/min_free_kbytes"),
            ("watermark_scale_factor", "/proc/sys/vm/watermark_scale_factor"),
            ("watermark_boost_factor", "/proc/sys/vm/watermark_boost_factor"),
            ("compaction_proactiveness", "/proc/sys/vm/compaction_proactiveness"),
            ("dirty_ratio", "/proc/sys/vm/dirty_ratio"),
            ("dirty_background_ratio", "/proc/sys/vm/dirty_background_ratio"),
            ("page_cluster", "/proc/sys/vm/page-cluster"),
            ("aslr", "/proc/sys/kernel/randomize_va_space"),
            ("ksm_run", "/sys/kernel/mm/ksm/run"),
        ],
    );
    section.put("swap_kb", swap_kb(root));
    section.put("mglru", root.text("/sys/kernel/mm/lru_gen/enabled"));
    section.put("damon_kdamonds", root.number("/sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds"));
    section.words(
        root,
        &[
            ("ksm_advisor", "/sys/kernel/mm/ksm/advisor_mode"),
            ("damon_reclaim", "/sys/module/damon_reclaim/parameters/enabled"),
            ("damon_stat", "/sys/module/damon_stat/parameters/enabled"),
            ("zswap", "/sys/module/zswap/parameters/enabled"),
        ],
    );
    section.into()
}

/// Kilobytes as GiB, to one decimal: two boots of one machine differ by less.
pub(crate) fn kb_to_gib(kb: u64) -> f64 {
    (kb as f64 / f64::from(1 << 20) * 10.0).round() / 10.0
}

/// The base page size the kernel told this process in its auxiliary vector.
fn page_bytes(root: &Root) -> Result<u64, Missing> {
    let auxv = root.bytes("/proc/self/auxv")?;
    let word = size_of::<usize>();
    let number = |bytes: &[u8]| {
        let mut wide = [0; 8];
        let start = if cfg!(target_endian = "little") { 0 } else { 8 - word };
        wide[start..start + word].copy_from_slice(bytes);
        u64::from_ne_bytes(wide)
    };
    let mut pairs = auxv.chunks_exact(2 * word).map(|pair| (number(&pair[..word]), number(&pair[word..])));
    pairs
        .find(|&(key, _)| key == AT_PAGESZ)
        .map(|(_, value)| value)
        .ok_or_else(|| Missing::because("no AT_PAGESZ in /proc/self/auxv"))
}

fn thp(root: &Root) -> Value {
    let mut section = Section::default();
    let file = |name: &str| format!("{THP}/{name}");
    section.put("enabled", root.chosen(&file("enabled")));
    section.put("defrag", root.chosen(&file("defrag")));
    section.put("shmem", root.chosen(&file("shmem_enabled")));
    section.put("use_zero_page", root.number(&file("use_zero_page")));
    section.put("shrink_underused", root.number(&file("shrink_underused")));
    section.put("pmd_bytes", root.number(&file("hpage_pmd_size")));
    for name in ["defrag", "pages_to_scan", "scan_sleep_millisecs", "alloc_sleep_millisecs", "max_ptes_none"]
    {
        section.put(&format!("khugepaged_{name}"), root.number(&file(&format!("khugepaged/{name}"))));
    }
    let sizes = root.list(THP).unwrap_or_default();
    let mut mthp: Vec<(u64, String)> = sizes
        .iter()
        .filter_map(|name| {
            Some((name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?, name.clone()))
        })
        .collect();
    mthp.sort();
    if mthp.is_empty() {
        section
            .set("mthp", unknown(&format!("no hugepages-*kB in {THP}: this kernel has no multi-size THP")));
    } else {
        let object: Map<String, Value> = mthp
            .into_iter()
            .map(|(kb, name)| {
                let mut size = Section::default();
                size.put("enabled", root.chosen(&format!("{THP}/{name}/enabled")));
                size.put("shmem", root.chosen(&format!("{THP}/{name}/shmem_enabled")));
                (format!("{kb}kB"), size.into())
            })
            .collect();
        section.set("mthp", object);
    }
    section.into()
}

/// Pages reserved per huge page size.
fn hugetlb(root: &Root) -> Value {
    let base = "/sys/kernel/mm/hugepages";
    let names = match root.list(base) {
        Ok(names) => names,
        Err(missing) => return unknown(&missing.reason),
    };
    let mut sizes = Map::new();
    for name in names {
        let Some(size) = name.strip_prefix("hugepages-") else { continue };
        let mut facts = Section::default();
        facts.put("pages", root.number(&format!("{base}/{name}/nr_hugepages")));
        facts.put("overcommit", root.number(&format!("{base}/{name}/nr_overcommit_hugepages")));
        sizes.insert(size.to_owned(), facts.into());
    }
    Value::Object(sizes)
}

fn swap_kb(root: &Root) -> Result<u64, Missing> {
    let total = root.keyed("/proc/meminfo", "SwapTotal")?;
    let kb = total.split_whitespace().next().and_then(|kb| kb.parse().ok());
    kb.ok_or_else(|| Missing::because("SwapTotal of /proc/meminfo is not a number"))
}
