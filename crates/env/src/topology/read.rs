//! Reading the topology from `/sys`, from `/proc/cpuinfo` where `/sys` is missing.

use std::collections::BTreeMap;

use super::{Cache, Cpu, Node, Topology};
use crate::root::keyed;
use crate::{Root, parse_cpu_list};

const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";

impl Topology {
    /// Reads the topology under `root`. Never fails: what is not described is absent, and at least CPU 0 exists.
    ///
    /// A group (core, package, cache) is read once, through its first CPU, so that big machines cost little.
    pub fn read(root: &Root) -> Self {
        let mut online = online(root);
        let assumed = online.is_empty();
        if assumed {
            online.push(0);
        }
        let nodes = nodes(root, &online);
        let mut caches = Caches::default();
        let mut cpus: BTreeMap<usize, Cpu> = BTreeMap::new();
        let mut packages: BTreeMap<usize, Option<i64>> = BTreeMap::new();
        for &id in &online {
            if cpus.contains_key(&id) {
                continue;
            }
            let base = format!("{CPUS}/cpu{id}");
            let topology = format!("{base}/topology");
            let siblings = group(root, id, &online, &topology, &["core_cpus_list", "thread_siblings_list"]);
            let package = *packages
                .entry(id)
                .or_insert_with(|| root.number(&format!("{topology}/physical_package_id")).ok());
            let package = package.filter(|&package| package >= 0);
            if package.is_some() {
                for cpu in group(root, id, &online, &topology, &["package_cpus_list", "core_siblings_list"]) {
                    packages.insert(cpu, package);
                }
            }
            let capacity = root.number(&format!("{base}/cpu_capacity")).ok();
            let llc = caches.last_level_of(root, id, &online);
            for &sibling in &siblings {
                let node = nodes.iter().find(|node| node.cpus.contains(&sibling)).map_or(0, |node| node.id);
                cpus.insert(sibling, Cpu { id: sibling, package, core: siblings[0], llc, node, capacity });
            }
        }
        let allowed = allowed(root, &online);
        Topology { allowed, cpus: cpus.into_values().collect(), caches: caches.kinds, nodes, assumed }
    }
}

/// The online CPUs of the first list in `directory` that can be read; `id` alone when none can.
/// Kernels before 5.1 have only the second name of a pair.
fn group(root: &Root, id: usize, online: &[usize], directory: &str, names: &[&str]) -> Vec<usize> {
    let text = names.iter().find_map(|name| root.text(&format!("{directory}/{name}")).ok());
    let mut cpus = parse_cpu_list(&text.unwrap_or_default());
    cpus.retain(|cpu| online.binary_search(cpu).is_ok());
    if !cpus.contains(&id) {
        cpus = vec![id];
    }
    cpus
}

/// Empty when nothing lists CPUs.
fn online(root: &Root) -> Vec<usize> {
    let mut cpus = root.text(&format!("{CPUS}/online")).map(|text| parse_cpu_list(&text)).unwrap_or_default();
    if cpus.is_empty() {
        let cpuinfo = root.contents("/proc/cpuinfo").unwrap_or_default();
        let lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        cpus = lines
            .filter(|(name, _)| name.trim() == "processor")
            .filter_map(|(_, id)| id.trim().parse().ok())
            .collect();
        cpus.sort_unstable();
        cpus.dedup();
    }
    cpus
}

/// The affinity mask, which the kernel has already cut to the cpuset.
fn allowed(root: &Root, online: &[usize]) -> Vec<usize> {
    let status = root.contents("/proc/self/status").unwrap_or_default();
    let mut cpus = keyed(&status, "Cpus_allowed_list").map(parse_cpu_list).unwrap_or_default();
    cpus.retain(|cpu| online.binary_search(cpu).is_ok());
    if cpus.is_empty() { online.to_vec() } else { cpus }
}

fn nodes(root: &Root, online: &[usize]) -> Vec<Node> {
    let ids = root.text(&format!("{NODES}/online")).map(|text| parse_cpu_list(&text)).unwrap_or_default();
    let node = |id: usize| {
        let base = format!("{NODES}/node{id}");
        let mut cpus = parse_cpu_list(&root.contents(&format!("{base}/cpulist")).ok()?);
        cpus.retain(|cpu| online.binary_search(cpu).is_ok());
        let meminfo = root.contents(&format!("{base}/meminfo")).unwrap_or_default();
        let total = meminfo.lines().find_map(|line| line.split_once("MemTotal:")).map(|(_, rest)| rest);
        let memory_kb = total.and_then(|rest| rest.split_whitespace().next()).and_then(|kb| kb.parse().ok());
        let distances = root.contents(&format!("{base}/distance")).unwrap_or_default();
        let distances = distances.split_whitespace().filter_map(|part| part.parse().ok()).collect();
        Some(Node { id, cpus, memory_kb, distances })
    };
    ids.into_iter().filter_map(node).collect()
}

/// Caches met so far: their kinds, and the last-level group of each CPU.
#[derive(Default)]
struct Caches {
    kinds: Vec<Cache>,
    last_level: BTreeMap<usize, usize>,
}

impl Caches {
    /// First CPU of the group sharing the last-level cache of `id`.
    fn last_level_of(&mut self, root: &Root, id: usize, online: &[usize]) -> Option<usize> {
        if let Some(&first) = self.last_level.get(&id) {
            return Some(first);
        }
        let base = format!("{CPUS}/cpu{id}/cache");
        let indices = root.list(&base).ok()?;
        let mut last: Option<(u32, Vec<usize>)> = None;
        for index in indices.iter().filter(|name| name.starts_with("index")) {
            let at = format!("{base}/{index}");
            let Some((cache, group)) = Self::describe(root, &at, id, online) else { continue };
            if cache.kind != "Instruction" && last.as_ref().is_none_or(|(level, _)| cache.level > *level) {
                last = Some((cache.level, group));
            }
            let same = |kind: &Cache| {
                (kind.level, &kind.kind, kind.bytes, kind.ways)
                    == (cache.level, &cache.kind, cache.bytes, cache.ways)
            };
            if !self.kinds.iter().any(same) {
                self.kinds.push(cache);
            }
        }
        let (_, group) = last?;
        let first = *group.first()?;
        for cpu in group {
            self.last_level.insert(cpu, first);
        }
        Some(first)
    }

    fn describe(root: &Root, at: &str, id: usize, online: &[usize]) -> Option<(Cache, Vec<usize>)> {
        let number = |name: &str| {
            root.number(&format!("{at}/{name}")).ok().and_then(|value| u64::try_from(value).ok())
        };
        let level = u32::try_from(number("level")?).ok()?;
        let kind = root.text(&format!("{at}/type")).ok()?;
        let group = group(root, id, online, at, &["shared_cpu_list"]);
        let cache = Cache {
            level,
            kind,
            bytes: root.text(&format!("{at}/size")).ok().and_then(|size| cache_size(&size)),
            ways: number("ways_of_associativity").filter(|&ways| ways > 0),
            line_bytes: number("coherency_line_size").filter(|&line| line > 0),
            shared_by: group.len(),
            first_cpu: id,
        };
        Some((cache, group))
    }
}

/// `32768K`, `1M` or plain bytes.
fn cache_size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "K" => 1 << 10,
        "M" => 1 << 20,
        "" => 1,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}
