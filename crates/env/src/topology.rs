//! Which CPUs there are, which of them this process may use, and how near any two of them are.

mod placement;
mod read;

use serde_json::{Map, Value, json};

use crate::section::{Section, unknown};
use crate::{Missing, Root, format_cpu_list};
pub use placement::Placement;

/// One online CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Number of the CPU.
    pub id: usize,
    /// Physical package (socket), `None` when the kernel doesn't say.
    pub package: Option<i64>,
    /// Lowest-numbered hardware thread of its core: equal for SMT siblings.
    pub core: usize,
    /// Lowest-numbered CPU sharing its last-level cache, `None` when no cache is described.
    pub llc: Option<usize>,
    /// NUMA node, 0 when there is no NUMA description.
    pub node: usize,
    /// Relative capacity (1024 = the biggest core), `None` when not given: differs on hybrid and big.LITTLE machines.
    pub capacity: Option<i64>,
}

/// One kind of cache: all caches of a level and type with the same shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// 1 for the level nearest to the core.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Size in bytes, `None` when not given.
    pub bytes: Option<u64>,
    /// Ways of associativity.
    pub ways: Option<u64>,
    /// Line size in bytes.
    pub line_bytes: Option<u64>,
    /// CPUs sharing one such cache.
    pub shared_by: usize,
    /// First CPU that has such a cache.
    pub first_cpu: usize,
}

/// One NUMA node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Number of the node.
    pub id: usize,
    /// Its online CPUs; empty for a memory-only node.
    pub cpus: Vec<usize>,
    /// Its memory in kB, `None` when not given.
    pub memory_kb: Option<u64>,
    /// Distances to all nodes in node order (10 = local), empty when not given.
    pub distances: Vec<u32>,
}

/// CPUs, caches and NUMA nodes of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// CPUs this process may run on (affinity mask and cpuset), ascending, all online.
    pub allowed: Vec<usize>,
    /// Online CPUs, ascending.
    pub cpus: Vec<Cpu>,
    /// Kinds of caches, by level; empty when not described.
    pub caches: Vec<Cache>,
    /// NUMA nodes; empty when not described.
    pub nodes: Vec<Node>,
    /// True when nothing describes the CPUs and a single CPU 0 is assumed.
    pub assumed: bool,
}

impl Topology {
    /// The CPU with number `id`, when it is online.
    pub fn cpu(&self, id: usize) -> Option<&Cpu> {
        self.cpus.binary_search_by_key(&id, |cpu| cpu.id).ok().map(|at| &self.cpus[at])
    }

    /// Number of physical cores that are online.
    pub fn cores(&self) -> usize {
        self.cpus.iter().filter(|cpu| cpu.core == cpu.id).count()
    }

    /// Groups of CPUs that share a last-level cache, each ascending; empty when no cache is described.
    pub fn llc_groups(&self) -> Vec<Vec<usize>> {
        let mut groups: std::collections::BTreeMap<usize, Vec<usize>> = std::collections::BTreeMap::new();
        for cpu in &self.cpus {
            if let Some(llc) = cpu.llc {
                groups.entry(llc).or_default().push(cpu.id);
            }
        }
        groups.into_values().collect()
    }

    /// Bytes of the data (or unified) cache of `level` as seen by `cpu`'s kind; `None` when not described.
    pub fn cache_bytes(&self, level: u32) -> Option<u64> {
        self.caches
            .iter()
            .filter(|cache| cache.level == level && cache.kind != "Instruction")
            .find_map(|cache| cache.bytes)
    }
}

/// The `topology` section.
pub(crate) fn section(root: &Root, topology: &Topology) -> Value {
    if topology.assumed {
        return unknown("neither /sys/devices/system/cpu/online nor /proc/cpuinfo lists CPUs");
    }
    let mut section = Section::default();
    let online: Vec<usize> = topology.cpus.iter().map(|cpu| cpu.id).collect();
    section.set("allowed", format_cpu_list(&topology.allowed));
    section.set("online", format_cpu_list(&online));
    section.put("present", root.text("/sys/devices/system/cpu/present"));
    section.put("offline", root.contents("/sys/devices/system/cpu/offline"));
    section.put("isolated", root.contents("/sys/devices/system/cpu/isolated"));
    section.put("nohz_full", nohz_full(root));
    let mut packages: Vec<i64> = topology.cpus.iter().filter_map(|cpu| cpu.package).collect();
    packages.sort_unstable();
    packages.dedup();
    if packages.is_empty() {
        section.set("packages", unknown("no package number in /sys/devices/system/cpu/cpu0/topology"));
    } else {
        section.set("packages", packages.len());
    }
    section.set("cores", topology.cores());
    section.words(
        root,
        &[
            ("smt_active", "/sys/devices/system/cpu/smt/active"),
            ("smt_control", "/sys/devices/system/cpu/smt/control"),
        ],
    );
    let mut capacities: Vec<i64> = topology.cpus.iter().filter_map(|cpu| cpu.capacity).collect();
    capacities.sort_unstable();
    capacities.dedup();
    section.set("core_kinds", core_kinds(root, &capacities));
    section.set("caches", caches(&topology.caches));
    let groups: Vec<String> = topology.llc_groups().iter().map(|group| format_cpu_list(group)).collect();
    section.set("last_level_groups", groups);
    section.set("nodes", nodes(&topology.nodes));
    section.put("numa_balancing", root.number("/proc/sys/kernel/numa_balancing"));
    section.put("numa_demotion", root.text("/sys/kernel/mm/numa/demotion_enabled"));
    section.put("zone_reclaim_mode", root.number("/proc/sys/vm/zone_reclaim_mode"));
    section.into()
}

/// `/sys/devices/system/cpu/nohz_full` prints `  (null)` when the feature is off.
fn nohz_full(root: &Root) -> Result<String, Missing> {
    let text = root.contents("/sys/devices/system/cpu/nohz_full")?;
    Ok(if text.contains("(null)") { String::new() } else { text.trim().to_owned() })
}

/// Hybrid Intel machines list their kinds of cores as PMU devices, Arm ones by capacity.
fn core_kinds(root: &Root, capacities: &[i64]) -> Value {
    let mut kinds = Map::new();
    for kind in ["cpu_core", "cpu_atom", "cpu_lowpower"] {
        if let Ok(list) = root.text(&format!("/sys/devices/{kind}/cpus")) {
            kinds.insert(kind.to_owned(), list.into());
        }
    }
    if kinds.is_empty() && capacities.len() > 1 {
        return json!({"capacities": capacities});
    }
    if kinds.is_empty() { json!("one") } else { Value::Object(kinds) }
}

fn caches(caches: &[Cache]) -> Value {
    if caches.is_empty() {
        return unknown("no /sys/devices/system/cpu/cpu0/cache");
    }
    let mut object = Map::new();
    for cache in caches {
        let suffix = match cache.kind.as_str() {
            "Data" => "d",
            "Instruction" => "i",
            _ => "",
        };
        let mut name = format!("l{}{suffix}", cache.level);
        if object.contains_key(&name) {
            name = format!("{name}_cpu{}", cache.first_cpu);
        }
        let mut shape = Section::default();
        let number = |value: Option<u64>, what: &str| {
            value.ok_or_else(|| {
                Missing::because(format!("no {what} in /sys/devices/system/cpu/cpu{}/cache", cache.first_cpu))
            })
        };
        shape.put("bytes", number(cache.bytes, "size"));
        shape.put("ways", number(cache.ways, "ways_of_associativity"));
        shape.put("line_bytes", number(cache.line_bytes, "coherency_line_size"));
        shape.set("shared_by", cache.shared_by);
        object.insert(name, shape.into());
    }
    Value::Object(object)
}

fn nodes(nodes: &[Node]) -> Value {
    if nodes.is_empty() {
        return unknown("no /sys/devices/system/node");
    }
    let object: Map<String, Value> = nodes
        .iter()
        .map(|node| {
            let mut facts = Section::default();
            facts.set("cpus", format_cpu_list(&node.cpus));
            facts.set("distances", node.distances.clone());
            (node.id.to_string(), facts.into())
        })
        .collect();
    Value::Object(object)
}
