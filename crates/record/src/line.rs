//! The lines of a record.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Direction, Estimator, Metric, Unit};

/// Version of the record format written by this crate (`docs/record.md`).
pub const SCHEMA: u32 = 1;

/// One line of a record. Lines of an unknown type are skipped by readers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Line {
    /// First line: plan and environment.
    Header(Box<Header>),
    /// The warm-up pass before block 1: kept, and excluded from every estimate by rule.
    Warmup(Box<Invocation>),
    /// One fresh process measuring one metric.
    Invocation(Box<Invocation>),
    /// Last line of a run that was not killed.
    Footer(Footer),
}

/// What was going to be measured, where, by what.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    /// Format version, [`SCHEMA`].
    pub schema: u32,
    /// Program and version, e.g. `tlbench 0.1.0`; imported records name the foreign tool.
    pub tool: String,
    /// Start, RFC 3339 in UTC; empty when a foreign file does not say.
    pub started: String,
    /// Name of the configuration measured (a line's own `configuration` wins).
    pub label: String,
    /// The plan, written before the first measurement.
    pub plan: Plan,
    /// Everything that identifies the machine state, as `tlbench env --json` prints it.
    pub environment: Value,
    /// Fields of later versions, kept when rewritten.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The plan of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Plan {
    /// `run`, `ab`, `aa`, `stat` or `import`.
    pub kind: String,
    /// Seed of every random order in the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Blocks planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u32>,
    /// Wall-clock budget of the whole run, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<f64>,
    /// Configurations measured, in the order given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub configurations: Vec<String>,
    /// Benchmarks planned and the metrics each yields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub benchmarks: Vec<PlannedBenchmark>,
    /// Block counts at which a sequential plan looks at the data; empty for a fixed plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<u32>,
    /// Error rate spent at each look (or once, for a fixed plan).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// True when configurations are interleaved in a drawn order inside each block.
    #[serde(default)]
    pub controlled_order: bool,
    /// Further facts of the plan (quick/full, per-benchmark budgets, import details).
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One benchmark of the plan.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlannedBenchmark {
    /// Name of the benchmark.
    pub name: String,
    /// Metrics it yields.
    pub metrics: Vec<Metric>,
}

/// How an invocation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// A finite value above zero.
    Ok,
    /// Not measured, with a reason; never changes an exit code.
    Skipped,
    /// Measured wrongly or crashed.
    Failed,
    /// Ran past its deadline and was killed.
    Timeout,
}

/// The interval in which a number lay before another tool printed it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Printed {
    /// Lowest value that prints like this.
    pub lo: f64,
    /// Highest value that prints like this.
    pub hi: f64,
}

/// Only a summary is known: mean, its relative standard error and the number of runs behind it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Mean, in the metric's unit.
    pub mean: f64,
    /// Standard error of the mean, per cent of the mean, as printed.
    pub rel_se_pct: f64,
    /// Half of the last printed digit of `rel_se_pct`, per cent.
    #[serde(default)]
    pub rel_se_half_digit_pct: f64,
    /// Runs behind the mean.
    pub n_runs: u32,
}

/// One fresh process measuring one benchmark: one declared number for one metric.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Invocation {
    /// Metric name.
    pub metric: String,
    /// Definition version of the metric.
    pub definition: u32,
    /// Unit of `value` and `samples`.
    pub unit: Unit,
    /// Which way is good.
    pub direction: Direction,
    /// What one unit of work is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<String>,
    /// How `value` was made from `samples`; `None` for foreign numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimator: Option<Estimator>,
    /// Declared untouchable by the change under test.
    #[serde(default)]
    pub control: bool,
    /// Declared an exact count (every repetition must give the same integer).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// Configuration, when a record holds several; else the header's label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<String>,
    /// The sitting (boot, file, run of a foreign suite) this number belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sitting: Option<String>,
    /// Block, from 1 (0 in the warm-up pass); `None` when the order of a foreign file is unknown.
    pub block: Option<u32>,
    /// Place within the block, from 0.
    pub slot: Option<u32>,
    /// The declared number, finite and above zero when `status` is ok, else `None`.
    pub value: Option<f64>,
    /// All samples in the order taken, set-aside ones included; `None` when only a histogram is kept.
    pub samples: Option<Vec<f64>>,
    /// Indices into `samples` that were set aside by cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside_index: Vec<u32>,
    /// How it ended.
    pub status: Status,
    /// Why there is no value; `None` when there is one.
    pub reason: Option<String>,
    /// What the kernel saw meanwhile (counts over the whole invocation).
    #[serde(default)]
    pub witness: Map<String, Value>,
    /// Samples set aside by cause.
    #[serde(default)]
    pub set_aside: u32,
    /// Base64 of a V2-serialised HdrHistogram of single operations, in the metric's unit ×1.
    #[serde(default)]
    pub histogram: Option<String>,
    /// Iterations per sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u64>,
    /// Rounding interval of a printed foreign number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<Printed>,
    /// Set when a foreign tool gave only a summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    /// Further facts.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Invocation {
    /// An invocation of `metric` without a value yet; callers fill in what they know.
    pub fn of(metric: &Metric) -> Self {
        Invocation {
            per: Some(metric.per.clone()),
            estimator: Some(metric.estimator),
            control: metric.control,
            definition: metric.definition,
            ..Invocation::foreign(&metric.name, metric.unit.clone(), metric.direction)
        }
    }

    /// A number of a foreign tool, without a value yet.
    pub fn foreign(metric: &str, unit: Unit, direction: Direction) -> Self {
        Invocation {
            metric: metric.to_owned(),
            definition: 1,
            unit,
            direction,
            per: None,
            estimator: None,
            control: false,
            exact: false,
            configuration: None,
            sitting: None,
            block: None,
            slot: None,
            value: None,
            samples: None,
            set_aside_index: Vec::new(),
            status: Status::Skipped,
            reason: None,
            witness: Map::new(),
            set_aside: 0,
            histogram: None,
            iterations: None,
            printed: None,
            summary: None,
            extra: Map::new(),
        }
    }

    /// Sets the value and `ok`, or `failed` with a reason when the number is impossible (not finite or not above zero).
    pub fn with_value(mut self, value: f64) -> Self {
        if value.is_finite() && value > 0.0 {
            self.value = Some(value);
            self.status = Status::Ok;
            self.reason = None;
        } else {
            self.value = None;
            self.status = Status::Failed;
            self.reason = Some(format!("impossible value {value}"));
        }
        self
    }

    /// Sets a status other than ok, with its reason.
    pub fn without_value(mut self, status: Status, reason: impl Into<String>) -> Self {
        self.value = None;
        self.status = status;
        self.reason = Some(reason.into());
        self
    }
}

/// Last line of a run that ended by itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Footer {
    /// End, RFC 3339 in UTC.
    pub ended: String,
    /// True when everything planned was done.
    pub complete: bool,
    /// Further facts: why it ended early, what voids it.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}
