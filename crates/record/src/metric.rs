//! What a number means: its name, unit, direction, *per what*, estimator and definition version.

use serde::{Deserialize, Serialize};

/// Which way is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Times, misses: less is better.
    Smaller,
    /// Bandwidths, capacities: more is better.
    Bigger,
    /// Neither, or unknown: a comparison never says better or worse.
    None,
}

/// The unit a value is stored and printed in. Never part of a metric's name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Unit(pub std::borrow::Cow<'static, str>);

impl Unit {
    /// Nanoseconds.
    pub const NS: Unit = Unit(std::borrow::Cow::Borrowed("ns"));
    /// Decimal megabytes (10^6 bytes) per second.
    pub const MB_PER_S: Unit = Unit(std::borrow::Cow::Borrowed("MB/s"));
    /// A plain count.
    pub const COUNT: Unit = Unit(std::borrow::Cow::Borrowed("count"));
    /// Bytes.
    pub const BYTES: Unit = Unit(std::borrow::Cow::Borrowed("bytes"));
    /// A dimensionless quotient.
    pub const RATIO: Unit = Unit(std::borrow::Cow::Borrowed("ratio"));
}

impl std::fmt::Display for Unit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0)
    }
}

impl From<String> for Unit {
    fn from(unit: String) -> Self {
        Unit(unit.into())
    }
}

/// How the samples of one invocation become its one declared number.
///
/// Chosen per metric before any result is seen; the reasons are in `docs/methodology.md`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Estimator {
    /// Smallest sample of a fixed count.
    Min,
    /// 25th percentile: loops that never block, where noise only adds.
    P25,
    /// Median: real scheduling or placement cost.
    Median,
    /// Mean after cutting a tenth of the samples at each end: costs that are an average.
    TrimmedMean,
    /// 99th percentile of single operations.
    P99,
    /// 99.9th percentile of single operations.
    P999,
    /// Largest single operation.
    Max,
    /// The benchmark itself yields one number per invocation (counts, sizes).
    Single,
}

impl Estimator {
    /// The name used in records and lists.
    pub fn name(self) -> &'static str {
        match self {
            Estimator::Min => "min",
            Estimator::P25 => "p25",
            Estimator::Median => "median",
            Estimator::TrimmedMean => "trimmed_mean",
            Estimator::P99 => "p99",
            Estimator::P999 => "p999",
            Estimator::Max => "max",
            Estimator::Single => "single",
        }
    }
}

/// One number a benchmark yields, as declared beside the loop that produces it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Dotted lower-case name, e.g. `syscall.null`.
    pub name: String,
    /// Unit of `value` and of every sample.
    pub unit: Unit,
    /// Which way is good.
    pub direction: Direction,
    /// What one unit of work is: `call`, `round trip`, `page`, `fault`.
    pub per: String,
    /// How one invocation's samples become one number.
    pub estimator: Estimator,
    /// True when the change under test cannot move it (user-space arithmetic, L1 latency).
    pub control: bool,
    /// Raised whenever the meaning of the number changes; different versions are never compared.
    pub definition: u32,
    /// One sentence: what is timed and how.
    pub doc: String,
}
