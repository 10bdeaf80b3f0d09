//! What a machine's address translation looks like: TLBs, page sizes, walks, costs.
//!
//! One schema serves TOML and JSON. It is a superset of the fields the exact-count examples use
//! (`tlbs`, `map`, `asid`, `global_from`, `pwc`); unknown fields are refused so that a misspelt one
//! cannot silently change what is simulated.

mod error;
mod load;
mod map_file;
mod measured;
mod number;
mod preset;
mod shape;
mod vary;

use serde::Deserialize;

pub use error::MachineError;
pub use load::{builtin_names, builtin_source};
pub use number::{Address, Bytes, parse_bytes};
pub use shape::{Index, Pointer, PolicyName, Serves};
pub use vary::Variation;

/// Bytes of the page an address has when neither `map` nor `base_page` says otherwise.
pub const DEFAULT_PAGE: u64 = 4096;

/// A machine: everything the simulator needs to know about address translation.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Short name, as used on the command line.
    #[serde(default)]
    pub name: String,
    /// What machine this is and where its numbers come from.
    #[serde(default)]
    pub source: Option<String>,
    /// Core clock in MHz; turns cycles into time.
    #[serde(default)]
    pub clock_mhz: Option<f64>,
    /// Cycles per instruction without any TLB miss, for the share of TLB time.
    #[serde(default)]
    pub cpi: Option<f64>,
    /// The TLBs, in any order; `level` orders them.
    #[serde(alias = "tlb")]
    pub tlbs: Vec<TlbSpec>,
    /// Page size by address range; the last range that contains an address decides.
    #[serde(default)]
    pub map: Vec<MapRange>,
    /// Page size of addresses outside every range of `map`.
    #[serde(default = "default_page")]
    pub base_page: Bytes,
    /// Whether user entries carry the address-space number.
    #[serde(default)]
    pub asid: bool,
    /// Whether a switch of address space empties the TLBs of their user entries (no tags in hardware).
    #[serde(default)]
    pub flush_on_switch: bool,
    /// First address whose entries never carry an address-space number.
    #[serde(default)]
    pub global_from: Option<Address>,
    /// First kernel address, for the user/kernel columns; `global_from` when missing, else 2^63.
    #[serde(default)]
    pub kernel_from: Option<Address>,
    /// Page-walk caches (x86-64 style).
    #[serde(default)]
    pub pwc: Option<WalkCaches>,
    /// How a miss of the last level is served.
    #[serde(default)]
    pub walk: Option<Walk>,
    /// Cycles of a miss by kind of page.
    #[serde(default)]
    pub handler: Option<Handler>,
    /// Cycles of invalidations.
    #[serde(default)]
    pub flush: Option<FlushCost>,
    /// Ranges translated outside the TLBs (block address translation).
    #[serde(default, alias = "bat")]
    pub bats: Vec<BatRange>,
    /// Where the kernel's linear mapping lies; the presets `large-on-demand`, `pin=N` and `bat` need it.
    #[serde(default)]
    pub kernel: Option<KernelLayout>,
}

/// One TLB.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlbSpec {
    /// Name in tables.
    pub name: String,
    /// Which references look here: letters of I (fetch), R (load), W (store).
    pub serves: Serves,
    /// Entries, pinned and reserved ones included.
    pub entries: u32,
    /// Ways per set; missing means fully associative.
    #[serde(default)]
    pub ways: Option<u32>,
    /// Replacement policy.
    pub policy: PolicyName,
    /// Level: 1 is looked up first.
    #[serde(default = "one")]
    pub level: u32,
    /// Seed of `random`.
    #[serde(default = "one_u64")]
    pub seed: u64,
    /// Preloaded entries that always hit and are never replaced.
    #[serde(default)]
    pub pinned: Vec<PinnedRange>,
    /// Entries kept out of replacement (pinned ones use them first). Fully associative TLBs only.
    #[serde(default)]
    pub reserved: u32,
    /// Round-robin pointer per set (default) or one for all sets.
    #[serde(default)]
    pub pointer: Pointer,
    /// Fill invalid slots before replacing; missing means no for `fifo`, yes for all others.
    #[serde(default)]
    pub invalid_first: Option<bool>,
    /// How the set is found from the page number.
    #[serde(default)]
    pub index: Index,
    /// Page sizes this TLB can hold; empty means all.
    #[serde(default)]
    pub page_sizes: Vec<Bytes>,
    /// Cycles that a hit here costs beyond a first-level hit.
    #[serde(default)]
    pub hit_cycles: Option<f64>,
    /// Whether a context synchronisation (event `S`) empties it.
    #[serde(default)]
    pub sync_flush: bool,
    /// Where the numbers come from.
    #[serde(default)]
    pub source: Option<String>,
}

/// Page size of a range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapRange {
    /// First address.
    pub base: Address,
    /// Length in bytes.
    pub len: Bytes,
    /// Page size in bytes, a power of two.
    pub page: Bytes,
    /// Whether entries of this range carry no address-space number, wherever it lies.
    #[serde(default)]
    pub global: bool,
}

/// A pinned entry: one page of `size` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedRange {
    /// First address.
    pub base: Address,
    /// Page size in bytes, a power of two.
    pub size: Bytes,
}

/// A range translated outside the TLBs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatRange {
    /// First address.
    pub base: Address,
    /// Length in bytes.
    pub len: Bytes,
    /// Which references it serves.
    #[serde(default = "Serves::all")]
    pub serves: Serves,
}

/// Entries of the three page-walk caches, 0 = absent. LRU, no address-space tag, spared by flushes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WalkCaches {
    /// Entries that skip to the last level (tag = address >> 21).
    #[serde(default)]
    pub pde: u32,
    /// Tag = address >> 30.
    #[serde(default)]
    pub pdpte: u32,
    /// Tag = address >> 39.
    #[serde(default)]
    pub pml4e: u32,
}

/// Who serves a miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WalkKind {
    /// A handler in the kernel: cost in `handler`.
    Software,
    /// A radix page table walked by hardware.
    Radix,
    /// A hashed page table searched by hardware: `refs` references on average.
    Hash,
    /// A segment-table walk: `refs` references on average.
    Segment,
}

/// How a miss of the last level is served, and what one of its memory references costs.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Walk {
    /// Who walks.
    pub kind: WalkKind,
    /// Levels of a radix table.
    #[serde(default)]
    pub levels: Option<u32>,
    /// References per miss of the kinds `hash` and `segment`.
    #[serde(default)]
    pub refs: Option<u32>,
    /// Cycles of one page-table reference.
    #[serde(default)]
    pub refs_cycles: Option<f64>,
    /// Cycles of a whole walk; goes before `refs_cycles`.
    #[serde(default)]
    pub cycles: Option<f64>,
}

/// Cycles of a software miss handler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handler {
    /// User page.
    #[serde(default)]
    pub user_4k: Option<f64>,
    /// Kernel page of the base size.
    #[serde(default)]
    pub kernel_4k: Option<f64>,
    /// Kernel page larger than the base size.
    #[serde(default)]
    pub kernel_large: Option<f64>,
    /// Added to every miss when entries are pinned or reserved.
    #[serde(default)]
    pub pin_extra: Option<f64>,
    /// Added to every miss for cold page-table lines.
    #[serde(default)]
    pub cold_extra: Option<f64>,
}

/// Cycles of invalidations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlushCost {
    /// Everything at once.
    #[serde(default)]
    pub mm: Option<f64>,
    /// One page.
    #[serde(default)]
    pub page: Option<f64>,
    /// Everything but the pinned entries, one entry at a time.
    #[serde(default)]
    pub loop_cycles: Option<f64>,
}

/// The kernel's linear mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelLayout {
    /// First address of the linear mapping.
    pub base: Address,
    /// Its length in bytes.
    pub len: Bytes,
    /// Size of the large page that can map it.
    pub large_page: Bytes,
}

impl Machine {
    /// First address counted as kernel.
    pub fn first_kernel_address(&self) -> u64 {
        self.kernel_from.or(self.global_from).map_or(1 << 63, |a| a.0)
    }

    /// The machine without the levels before its last one: every reference then looks there.
    pub fn last_level_only(&self) -> Self {
        let last = self.tlbs.iter().map(|t| t.level).max().unwrap_or(1);
        let mut out = self.clone();
        out.tlbs.retain(|t| t.level == last);
        out.tlbs.iter_mut().for_each(|t| t.level = 1);
        out
    }

    /// Whether any TLB gives up entries to pinned or reserved pages.
    pub fn pins(&self) -> bool {
        self.tlbs.iter().any(|t| !t.pinned.is_empty() || t.reserved > 0)
    }
}

impl TlbSpec {
    /// Ways per set.
    pub fn ways(&self) -> u32 {
        self.ways.unwrap_or(self.entries)
    }

    /// Number of sets (entries / ways; checked by validation).
    pub fn sets(&self) -> u32 {
        self.entries / self.ways().max(1)
    }

    /// Whether invalid slots are filled before anything is replaced.
    pub fn fills_invalid_first(&self) -> bool {
        self.invalid_first.unwrap_or(self.policy != PolicyName::Fifo)
    }
}

fn default_page() -> Bytes {
    Bytes(DEFAULT_PAGE)
}
fn one() -> u32 {
    1
}
fn one_u64() -> u64 {
    1
}
