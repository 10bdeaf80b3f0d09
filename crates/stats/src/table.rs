//! What goes into a comparison: configurations, metrics, their observations, and how they were taken.

use serde::{Deserialize, Serialize};

/// Which way is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Times, misses: less is better.
    Smaller,
    /// Bandwidths, capacities: more is better.
    Bigger,
    /// Unknown or neither: a comparison says `differs`, never better or worse.
    None,
}

/// A part of a whole: tail samples of all samples, set-aside samples of all samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// How many are of the kind counted.
    pub count: u64,
    /// How many there are altogether.
    pub total: u64,
}

impl Share {
    /// `count / total`; 0 for an empty whole.
    pub fn fraction(self) -> f64 {
        if self.total == 0 { 0.0 } else { self.count as f64 / self.total as f64 }
    }
}

/// One invocation's declared number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observation {
    /// The number, in the metric's unit. Not finite, zero or negative numbers are counted and left out, because a
    /// ratio is undefined for them (exact counts may be zero).
    pub value: f64,
    /// Block (round) in which it was taken; blocks of different configurations with one number belong together.
    pub block: Option<u32>,
    /// Place in time within its sitting, rising.
    pub slot: Option<u32>,
    /// Sitting (boot, file) it belongs to; numbers are the caller's and may repeat between configurations.
    pub sitting: Option<u32>,
    /// Interval `[lo, hi]` in which the number lay before another tool printed it.
    pub printed: Option<(f64, f64)>,
    /// Samples above twice the invocation's own median, of all its samples.
    pub tail: Option<Share>,
    /// Samples set aside by cause (or, where the metric keeps all, that would have been), of all its samples.
    pub set_aside: Option<Share>,
}

impl Observation {
    /// A bare number of unknown place and time.
    pub fn of(value: f64) -> Self {
        Observation { value, ..Observation::default() }
    }

    /// The number taken in `block` at place `slot`.
    pub fn in_block(value: f64, block: u32, slot: u32) -> Self {
        Observation { value, block: Some(block), slot: Some(slot), ..Observation::default() }
    }

    /// A printed number that stood for anything in `[lo, hi]`.
    pub fn printed(value: f64, lo: f64, hi: f64) -> Self {
        Observation { value, printed: Some((lo, hi)), ..Observation::default() }
    }
}

/// All that is known of a configuration when a foreign tool gave only a summary (`perf stat -r`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Mean, in the metric's unit.
    pub mean: f64,
    /// Standard error of the mean, per cent of the mean, as printed.
    pub rel_se_pct: f64,
    /// Half of the last printed digit of `rel_se_pct`, per cent; added, so that the error is never understated.
    pub rel_se_half_digit_pct: f64,
    /// Runs behind the mean.
    pub n: u32,
}

/// One metric in one configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// Invocations, in the order taken where that is known.
    pub observations: Vec<Observation>,
    /// Set when only a summary is known; the observations are ignored then.
    pub summary: Option<Summary>,
}

impl Cell {
    /// A cell of bare numbers.
    pub fn of(values: &[f64]) -> Self {
        Cell { observations: values.iter().map(|&value| Observation::of(value)).collect(), summary: None }
    }
}

/// Between-sitting standard deviation of a metric, as its logarithm varies from sitting to sitting (0.01 = 1 %).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tau {
    /// Standard deviation of the logarithm between sittings.
    pub sd: f64,
    /// Sittings it was estimated from.
    pub sittings: u32,
}

/// One metric of the table, with one cell per configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Name, unique in the table.
    pub name: String,
    /// Which way is good.
    pub direction: Direction,
    /// The change under test can't move it (user-space arithmetic, L1 latency).
    pub control: bool,
    /// Declared to move by the caller although a control (`--expect`): a verdict on it does not void the table.
    pub expected: bool,
    /// Counts for the exit code. Default: every metric that is not a control.
    pub gated: bool,
    /// Declared an exact count: every repetition must give the same integer.
    pub exact: bool,
    /// Step in which the value can move (1 for counts), in its unit; `None` when it is practically continuous.
    pub quantum: Option<f64>,
    /// A multiplexed, scaled-up counter: an estimate, never exact.
    pub scaled_counter: bool,
    /// Some invocations were below what the clock resolves.
    pub below_resolution: bool,
    /// Why no ratio can be formed though there are values: for counts that are 0 in some runs.
    pub no_ratio: Option<String>,
    /// Nothing is set aside where switching is the thing measured; then shares are only reported.
    pub screened: bool,
    /// Equivalence margin as a fraction (0.02 = 2 %), instead of the table's.
    pub margin: Option<f64>,
    /// Smallest change of interest in the metric's unit; widens the margin where the value is small.
    pub margin_floor: Option<f64>,
    /// Between-sitting deviation from this machine's history.
    pub tau: Option<Tau>,
    /// One cell per configuration, in the table's order.
    pub cells: Vec<Cell>,
}

impl Measured {
    /// A gated, continuous metric without history.
    pub fn new(name: impl Into<String>, direction: Direction, cells: Vec<Cell>) -> Self {
        Measured {
            name: name.into(),
            direction,
            control: false,
            expected: false,
            gated: true,
            exact: false,
            quantum: None,
            scaled_counter: false,
            below_resolution: false,
            no_ratio: None,
            screened: true,
            margin: None,
            margin_floor: None,
            tau: None,
            cells,
        }
    }

    /// The same metric as a control: compared like any other, not gated.
    pub fn control(mut self) -> Self {
        self.control = true;
        self.gated = false;
        self
    }
}

/// A state under test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Configuration {
    /// Its name.
    pub name: String,
    /// A kernel seen in a single boot: boot and kernel can't be told apart.
    pub one_boot: bool,
    /// A kernel or binary seen as a single build: layout and change can't be told apart.
    pub one_build: bool,
    /// Tasks of others that wanted a CPU while it was measured, per CPU of the machine, in the median; `None`: not known.
    pub others_running: Option<f64>,
}

impl Configuration {
    /// A configuration of which boots and builds are no concern (a tunable within one boot).
    pub fn named(name: impl Into<String>) -> Self {
        Configuration { name: name.into(), ..Configuration::default() }
    }

    /// True when others wanted the CPUs too: half a task for each CPU or more.
    pub fn was_busy(&self) -> bool {
        self.others_running.is_some_and(|others| others >= 0.5)
    }
}

/// The error plan, fixed before the first block.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Block counts at which the data are looked at; empty for a fixed plan (one look, at the end).
    pub looks: Vec<u32>,
    /// Error rate of each look.
    pub alpha: f64,
}

impl Plan {
    /// All blocks, then one look at 5 %.
    pub fn fixed() -> Self {
        Plan { looks: Vec::new(), alpha: 0.05 }
    }

    /// Looks at 8, 12, 16, 24 and 32 blocks, 1 % each (5 % together).
    pub fn looks() -> Self {
        Plan { looks: vec![8, 12, 16, 24, 32], alpha: 0.01 }
    }
}

/// How the numbers were taken.
#[derive(Clone, Debug, PartialEq)]
pub enum Layout {
    /// Configurations interleaved in blocks in a drawn order: the order is controlled.
    Blocks(Plan),
    /// Stored records without common blocks; the unit is the sitting.
    Sittings,
    /// All of one configuration, then all of the other, in one sitting: drift and effect are the same data.
    Sequential,
    /// A foreign table of unknown order.
    Unknown,
}

impl Layout {
    /// True when the order was drawn, so that a verdict counts as controlled.
    pub fn controlled(&self) -> bool {
        matches!(self, Layout::Blocks(_))
    }

    /// True when slots show that no configuration's invocations lie between another's (all of A, then all of B).
    ///
    /// `slots` holds the known slots of each configuration within one sitting; with fewer than two configurations
    /// or an empty one nothing is known and the answer is false.
    pub fn is_sequential(slots: &[Vec<u32>]) -> bool {
        let mut spans = Vec::with_capacity(slots.len());
        for own in slots {
            let (Some(&first), Some(&last)) = (own.iter().min(), own.iter().max()) else { return false };
            spans.push((first, last));
        }
        spans.sort_unstable();
        spans.len() >= 2 && spans.windows(2).all(|pair| pair[0].1 < pair[1].0)
    }
}

/// Everything that goes into a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Configurations; all of them feed the pooled spread of foreign tables, also those not in the pair shown.
    pub configurations: Vec<Configuration>,
    /// Metrics.
    pub metrics: Vec<Measured>,
    /// How the numbers were taken.
    pub layout: Layout,
}

/// What the user may ask for.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Equivalence margin as a fraction; 0.02 by default.
    pub margin: f64,
    /// Words and exit codes as if the order had been controlled.
    pub accept_uncontrolled: bool,
    /// Exit 0 where something is inconclusive and nothing worse.
    pub allow_inconclusive: bool,
    /// Holm's correction for *equivalent* too.
    pub strict: bool,
    /// Decide by the exact sign-flip test instead of the t distribution (blocks only, six or more).
    pub exact: bool,
    /// Between-sitting deviation assumed when there is no history; 1 % by default.
    pub default_tau: f64,
    /// The same for controls; 0.3 % by default.
    pub default_control_tau: f64,
    /// Why the table can't be compared at all (environments, method versions); from the caller.
    pub not_comparable: Vec<String>,
    /// Seed of the sign flips that are drawn when there are too many to try all.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            margin: 0.02,
            accept_uncontrolled: false,
            allow_inconclusive: false,
            strict: false,
            exact: false,
            default_tau: 0.01,
            default_control_tau: 0.003,
            not_comparable: Vec::new(),
            seed: 1,
        }
    }
}
