//! What `tlb` says: one row per structure, and everything beside it. The field names of the JSON are a contract.

use serde::Serialize;

use crate::analyse::{Confidence, Level, Organisation};
use crate::claim::{Claim, Kind, about};
use crate::curve::Point;
use crate::recording::Batch;

/// One TLB structure.
#[derive(Clone, Debug, Serialize)]
pub struct Structure {
    /// What it serves.
    pub kind: Kind,
    /// 1 or 2.
    pub level: u8,
    /// Page size asked for, bytes.
    pub page_size_requested: u64,
    /// Page size the entries really cover, bytes; `None` when unknown.
    pub page_size_effective: Option<u64>,
    /// Entries.
    pub entries: Option<u32>,
    /// Fewest entries the rounds allow.
    pub entries_min: Option<u32>,
    /// Most entries the rounds allow.
    pub entries_max: Option<u32>,
    /// Ways per set.
    pub ways: Option<u32>,
    /// Sets.
    pub sets: Option<u32>,
    /// Index function in words.
    pub index: Option<String>,
    /// Bytes covered when full.
    pub reach_bytes: Option<u64>,
    /// Cycles a miss adds when the next level hits.
    pub penalty_cycles: Option<f64>,
    /// The same in ns.
    pub penalty_ns: Option<f64>,
    /// How sure.
    pub confidence: Confidence,
    /// Why not surer.
    pub reason: Option<String>,
    /// What the processor or its manual says.
    pub claim: Option<String>,
    /// Entries of the claim.
    pub claim_entries: Option<u32>,
    /// Whether claim and measurement differ by more than a tenth; `None` without either.
    pub disagrees: Option<bool>,
}

impl Structure {
    /// A row from a level. `extra` pages beside the chain's own took entries too.
    pub fn of(
        kind: Kind,
        level: u8,
        page_bytes: u64,
        found: &Level,
        extra: u32,
        cycle_ns: f64,
        claims: &[Claim],
    ) -> Structure {
        let claim = about(claims, kind, level, page_bytes);
        let entries = found.entries.map(|n| n + extra);
        Structure {
            kind,
            level,
            page_size_requested: page_bytes,
            page_size_effective: Some(page_bytes),
            entries,
            entries_min: found.interval.map(|i| i.0 + extra),
            entries_max: found.interval.map(|i| i.1 + extra),
            ways: None,
            sets: None,
            index: None,
            reach_bytes: entries.map(|n| u64::from(n) * page_bytes),
            penalty_cycles: found.penalty_cycles,
            penalty_ns: found.penalty_cycles.map(|c| c * cycle_ns),
            confidence: found.confidence,
            reason: found.reason.clone(),
            claim: claim.map(Claim::words),
            claim_entries: claim.map(|c| c.entries),
            disagrees: None,
        }
        .compared()
    }

    /// A row that says why there is no number.
    pub fn unresolved(kind: Kind, level: u8, page_bytes: u64, reason: String, claims: &[Claim]) -> Structure {
        let found = Level {
            entries: None,
            interval: None,
            next_plateau: None,
            penalty_cycles: None,
            confidence: Confidence::NotResolved,
            reason: Some(reason),
        };
        Structure::of(kind, level, page_bytes, &found, 0, 0.0, claims)
    }

    /// Takes over what the stride series shows: entries are ways x sets when it is clean.
    pub fn organised(mut self, series: Result<Organisation, String>, may_be_high: bool) -> Structure {
        let Some(measured) = self.entries else { return self };
        match series {
            Ok(organisation) => {
                let product = organisation.ways * organisation.sets;
                // Within one page per set, or a tenth for large tables, the product is the better number.
                let near = product.abs_diff(measured) <= organisation.sets.max(measured / 10).max(1);
                if near {
                    self.entries = Some(product);
                    self.entries_min = self.entries_min.map(|n| n.min(product));
                    self.entries_max = self.entries_max.map(|n| n.max(product));
                    self.ways = Some(organisation.ways);
                    self.sets = Some(organisation.sets);
                    self.index = Some(organisation.index);
                    self.reach_bytes = Some(u64::from(product) * self.page_size_requested);
                    if may_be_high && self.confidence == Confidence::Medium {
                        self.confidence = Confidence::High;
                    }
                } else {
                    self.reason = Some(format!("stride series says {product}, the knee {measured}"));
                }
            }
            Err(reason) => {
                self.reason = Some(match self.reason.take() {
                    Some(first) => format!("{first}; {reason}"),
                    None => reason,
                });
            }
        }
        self.compared()
    }

    fn compared(mut self) -> Structure {
        self.disagrees = self.entries.zip(self.claim_entries).map(|(measured, claimed)| {
            let ratio = f64::from(measured) / f64::from(claimed.max(1));
            !(0.9..=1.1).contains(&ratio)
        });
        self
    }
}

/// One row of the table of page walks.
#[derive(Clone, Debug, Serialize)]
pub struct WalkRow {
    /// Where the page table entries are by their footprint.
    pub entries_in: String,
    /// Pages walked over.
    pub pages: u32,
    /// Distance between them, pages.
    pub stride: u32,
    /// Bytes of page table lines the walks touch.
    pub table_bytes: u64,
    /// Cycles the walk adds to a second-level hit.
    pub cycles: Option<f64>,
    /// The same in ns.
    pub ns: Option<f64>,
    /// Why there is no number.
    pub reason: Option<String>,
}

/// Page walks.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Walk {
    /// Cost by where the page table entries are.
    pub costs: Vec<WalkRow>,
    /// Cycles per access of k independent chains beyond the last level, by k.
    pub chains: Vec<(u32, f64)>,
    /// Walks in flight at once, as far as the chains show: the gain of the best k over one chain.
    pub concurrent: Option<f64>,
    /// Why a part is missing.
    pub reason: Option<String>,
}

/// The coalescing test.
#[derive(Clone, Debug, Serialize)]
pub struct Coalescing {
    /// Entries seen with pages on shared frames, which can't be joined.
    pub shared_frames: Option<u32>,
    /// Entries seen with freshly faulted pages of their own.
    pub own_frames: Option<u32>,
    /// Whether neighbouring pages share entries; `None` when either knee is missing.
    pub coalesces: Option<bool>,
}

/// Everything.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Layout version.
    pub schema: u32,
    /// The processor as it names itself.
    pub cpu_claimed: String,
    /// The hypervisor, if one says it is there.
    pub hypervisor: Option<String>,
    /// CPU measured on.
    pub cpu: Option<usize>,
    /// Base page, bytes.
    pub page_bytes: u64,
    /// State of transparent huge pages.
    pub thp: Option<String>,
    /// Slow passes over 32 pages per ms: how often something empties the TLB or takes the CPU.
    pub disturbance_per_ms: Option<f64>,
    /// What a disturbance costs, ns, median.
    pub disturbance_ns: Option<f64>,
    /// Shortest and longest core clock cycle seen, ns.
    pub cycle_ns: (f64, f64),
    /// What reaching a line by many addresses costs on this processor, cycles; taken out of the curve.
    pub alias_cycles: Option<f64>,
    /// Rows.
    pub structures: Vec<Structure>,
    /// Page walks.
    pub walk: Walk,
    /// Coalescing of neighbouring pages.
    pub coalescing: Option<Coalescing>,
    /// Cost of unmapping and protecting, by pages and threads; empty unless measured.
    pub shootdown: Vec<super::shootdown::Shootdown>,
    /// What two context switches leave in the TLB; `None` unless measured.
    pub context_switch: Option<super::switch::AfterSwitch>,
    /// Checks that ran, and what they said.
    pub notes: Vec<String>,
    /// Seconds it took.
    pub seconds: f64,
    /// The load curve.
    pub curve: Vec<Point>,
    /// Raw batches: enough to repeat the analysis.
    pub chunks: Chunks,
}

/// The recording, as in the file that `--replay` reads.
#[derive(Clone, Debug, Default, Serialize, serde::Deserialize)]
pub struct Chunks {
    /// Pages of the longest pointer chain.
    pub own_lines: u32,
    /// Batches.
    pub batches: Vec<Batch>,
}
