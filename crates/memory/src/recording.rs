//! What a probe measured, raw: chunks of accesses, as written to and read from JSON.

use serde::{Deserialize, Serialize};

/// Which loop over which pages; with the stride it names a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Chain {
    /// Pointers in lines of their own, on page frames mapped many times: translation only, while the lines fit the L1
    /// data cache.
    Load,
    /// A zero-carried chain over the shared zero page: any number of pages, but each line has many addresses.
    LoadAliased,
    /// As `LoadAliased`, but each page lies at a random place within its stride, so that page table entries spread over
    /// the cache sets.
    LoadScattered,
    /// Pointers on freshly faulted pages of their own: the hardware may coalesce neighbours.
    LoadDistinct,
    /// One fenced store per page.
    Store,
    /// One direct jump per page.
    Instruction,
    /// The same jumps in adjacent lines: what the caches and branch predictors cost without the pages.
    InstructionPacked,
    /// Zero-carried chain over the huge zero page or huge pages, one random slot per huge page.
    Huge,
    /// Sixteen slots in each huge page: still one entry per page, unless the hypervisor maps small pages underneath.
    HugeSplinter,
}

/// A request for one point: so many pages, so far apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Request {
    /// The loop.
    pub chain: Chain,
    /// Distance between the pages touched, in pages.
    pub stride: u32,
    /// Pages touched.
    pub pages: u32,
}

/// A chain that the first level just holds, run right before and after a batch. Dearer than a hit, it tells that another
/// hardware thread of the core took entries meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Pages of the chain.
    pub pages: u32,
    /// Cycles per access, the dearer of both.
    pub cycles: f32,
}

/// One batch of chunks at one point, in one mapping and one permutation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// What was asked for.
    #[serde(flatten)]
    pub request: Request,
    /// Round, from 0: each has its own mapping and permutation.
    pub round: u32,
    /// Accesses per chunk.
    pub accesses: u32,
    /// One core clock cycle beside this batch, ns.
    pub cycle_ns: f64,
    /// Involuntary context switches during the batch.
    pub switches: u32,
    /// The sentinel beside this batch. `None` where none was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentinel: Option<Look>,
    /// ns per access of each chunk, in the order taken.
    pub chunk_ns: Vec<f32>,
}

/// Everything the analysis needs; `tlb --replay` reads it back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// Bytes of a base page.
    pub page_bytes: u64,
    /// Most pages of [`Chain::Load`]: beyond it the lines would leave the L1 data cache.
    pub own_lines: u32,
    /// All batches in the order taken.
    pub batches: Vec<Batch>,
}

/// Largest base page that a recording may claim: a mebibyte, beyond any processor's.
const LARGEST_BASE_PAGE: u64 = 1 << 20;

/// A sentinel is quiet up to this many times what a hit costs.
const QUIET: f64 = 1.06;
/// Sentinels over at least this share of the largest one's pages count.
const ENOUGH_PAGES: f64 = 0.96;
/// Pages that every first level holds even beside a neighbour, for what a hit costs.
const FEW_PAGES: u32 = 16;

impl Recording {
    /// Cycles up to which a chain over pages that the first level holds counts as quiet; `None` without such a chain. A
    /// hit costs the 5th percentile of the batches over few pages.
    pub fn quiet_limit(&self) -> Option<f64> {
        let few = |b: &&Batch| b.request.chain == Chain::Load && b.request.pages <= FEW_PAGES;
        let mut hits: Vec<f64> =
            self.batches.iter().filter(few).map(|b| quantile(&b.sorted_cycles(), 0.1)).collect();
        hits.sort_by(f64::total_cmp);
        (!hits.is_empty()).then(|| QUIET * quantile(&hits, 0.05))
    }

    /// By batch: whether the sentinel beside it was quiet. `None` where none was run, or one over so few pages that a
    /// neighbour who takes less than the largest sentinel shows went unseen.
    pub fn quiet(&self) -> impl Fn(&Batch) -> Option<bool> + use<> {
        let most = self.batches.iter().filter_map(|b| b.sentinel.map(|s| s.pages)).max().unwrap_or(0);
        let limit = if most > 0 { self.quiet_limit() } else { None };
        move |batch| {
            let look = batch.sentinel.filter(|s| f64::from(s.pages) >= ENOUGH_PAGES * f64::from(most))?;
            Some(f64::from(look.cycles) <= limit?)
        }
    }

    /// Whether the numbers can be analysed; the error says which can't.
    pub fn check(&self) -> Result<(), String> {
        if !self.page_bytes.is_power_of_two() || self.page_bytes > LARGEST_BASE_PAGE {
            return Err(format!(
                "page_bytes is {}; base pages are a power of two up to {LARGEST_BASE_PAGE}",
                self.page_bytes
            ));
        }
        if self.own_lines == 0 {
            return Err("chunks.own_lines is 0".into());
        }
        for (at, batch) in self.batches.iter().enumerate() {
            let times = batch.chunk_ns.iter().all(|ns| ns.is_finite() && *ns >= 0.0);
            let wrong = match () {
                () if batch.request.stride == 0 => "stride",
                () if batch.request.pages == 0 => "pages",
                () if batch.accesses == 0 => "accesses",
                () if !(batch.cycle_ns.is_finite() && batch.cycle_ns > 0.0) => "cycle_ns",
                () if !times => "chunk_ns",
                () if batch.sentinel.is_some_and(|s| s.pages == 0 || s.cycles.is_nan() || s.cycles < 0.0) => {
                    "sentinel"
                }
                () => continue,
            };
            return Err(format!("{wrong} of batch {at} of chunks.batches is an impossible number"));
        }
        Ok(())
    }
}

impl Batch {
    /// Cycles per access of each chunk, ascending.
    pub fn sorted_cycles(&self) -> Vec<f64> {
        let mut cycles: Vec<f64> = self.chunk_ns.iter().map(|&ns| f64::from(ns) / self.cycle_ns).collect();
        cycles.sort_by(f64::total_cmp);
        cycles
    }
}

/// The value at `quantile` of an ascending list; `NaN` when it is empty.
pub fn quantile(sorted: &[f64], quantile: f64) -> f64 {
    match sorted.len() {
        0 => f64::NAN,
        n => sorted[((n - 1) as f64 * quantile).round() as usize],
    }
}

/// The median of any list; `NaN` when it is empty.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}
