//! The shape of a benchmark: what it is called, which metrics it yields, where it runs, and the function that runs it.

use environment::Placement as PairClass;
use record::{Direction, Estimator, Metric, Unit};

use crate::{Bench, Stop};

/// Where a benchmark's processes run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Everything on one CPU.
    OneCpu,
    /// Two sides on two CPUs of this class; skipped where there is no such pair.
    Pair(PairClass),
    /// Any allowed CPU: the benchmark places its own threads.
    AllCpus,
}

/// A metric as a benchmark declares it: what a record says of it, and how the harness treats its samples.
#[derive(Clone, Debug)]
pub struct Declared {
    /// What the record says.
    pub metric: Metric,
    /// Samples with an involuntary switch or a migration are set aside (loops that never block).
    pub screened: bool,
    /// Single operations are timed too: `.p99` and `.p999` become metrics of their own.
    pub tails: bool,
    /// Fewest clock cycles one unit of work can take; a smaller value is impossible and refused.
    pub floor_cycles: f64,
    /// One operation per sample, no warm-up, and at least this many samples: operations of milliseconds with a dear
    /// set-up.
    pub single_shot: Option<usize>,
}

/// A time per operation in ns, smaller is better: the 25th percentile of samples, screened by cause.
pub fn time(name: impl Into<String>, per: &str, doc: impl Into<String>) -> Declared {
    Declared {
        metric: Metric {
            name: name.into(),
            unit: Unit::NS,
            direction: Direction::Smaller,
            per: per.into(),
            estimator: Estimator::P25,
            control: false,
            definition: 1,
            doc: doc.into(),
        },
        screened: true,
        tails: false,
        floor_cycles: 1.0,
        single_shot: None,
    }
}

/// A bandwidth in MB/s (10^6 bytes), bigger is better: total bytes over the trimmed mean time.
pub fn bandwidth(name: impl Into<String>, per: &str, doc: impl Into<String>) -> Declared {
    let mut declared = time(name, per, doc);
    declared.metric.unit = Unit::MB_PER_S;
    declared.metric.direction = Direction::Bigger;
    declared.metric.estimator = Estimator::TrimmedMean;
    declared.metric.definition = 2;
    declared.screened = false;
    declared
}

/// A count or size that the benchmark finds itself; no direction unless one is set.
pub fn count(name: impl Into<String>, per: &str, doc: impl Into<String>) -> Declared {
    let mut declared = time(name, per, doc);
    declared.metric.unit = Unit::COUNT;
    declared.metric.direction = Direction::None;
    declared.metric.estimator = Estimator::Single;
    declared.screened = false;
    declared.floor_cycles = 0.0;
    declared
}

impl Declared {
    /// The operation blocks or switches: median of all samples, nothing set aside.
    pub fn blocking(mut self) -> Self {
        self.metric.estimator = Estimator::Median;
        self.screened = false;
        self
    }

    /// Also yields `.p99` and `.p999` of single operations.
    pub fn with_tails(mut self) -> Self {
        self.tails = true;
        self
    }

    /// Every sample is one operation, without calibration or warm-up, and as few as `fewest` samples are enough: for
    /// operations of milliseconds whose set-up is dear.
    pub fn single_shot(mut self, fewest: usize) -> Self {
        self.single_shot = Some(fewest.max(1));
        self
    }

    /// Declares that no kernel change can move it.
    pub fn control(mut self) -> Self {
        self.metric.control = true;
        self
    }

    /// Another estimator than the kind's own.
    pub fn estimator(mut self, estimator: Estimator) -> Self {
        self.metric.estimator = estimator;
        self
    }

    /// Another unit than the kind's own.
    pub fn unit(mut self, unit: Unit) -> Self {
        self.metric.unit = unit;
        self
    }

    /// Another direction than the kind's own.
    pub fn direction(mut self, direction: Direction) -> Self {
        self.metric.direction = direction;
        self
    }

    /// A later definition than the first.
    pub fn definition(mut self, definition: u32) -> Self {
        self.metric.definition = definition;
        self
    }

    /// Fewest clock cycles per unit of work, where several can be done in one.
    pub fn floor_cycles(mut self, cycles: f64) -> Self {
        self.floor_cycles = cycles;
        self
    }

    /// The metric of one tail of this one's single operations.
    pub fn tail(&self, estimator: Estimator) -> Metric {
        let (suffix, words) = match estimator {
            Estimator::P999 => ("p999", "99.9th"),
            _ => ("p99", "99th"),
        };
        Metric {
            name: format!("{}.{suffix}", self.metric.name),
            estimator,
            doc: format!(
                "{words} percentile of single operations of {}, each timed alone.",
                self.metric.name
            ),
            ..self.metric.clone()
        }
    }
}

type Run = Box<dyn Fn(&mut Bench) -> Result<(), Stop> + Send + Sync>;

/// A program fragment that can be measured.
pub struct Benchmark {
    /// Dotted name; usually that of its main metric.
    pub name: String,
    /// Name under which a worker finds it; differs from `name` for copies.
    pub worker_name: String,
    /// Copies run at once ([`Benchmark::in_copies`]); `None` for the benchmark itself.
    pub copies: Option<u32>,
    /// What it yields.
    pub declared: Vec<Declared>,
    /// Where it runs.
    pub placement: Placement,
    /// Timed sections in `run` ([`Bench::measure`] calls); the invocation's time is shared among them.
    pub parts: u32,
    /// Share of a default invocation's time it is given; 1 for cheap operations.
    pub weight: f64,
    /// Memory the benchmark maps at most, bytes; skipped by reason where less is available.
    pub memory: u64,
    /// Whether it needs a peer on another host.
    pub remote: bool,
    run: Run,
}

impl Benchmark {
    /// A benchmark on one CPU with nothing declared yet.
    pub fn new(
        name: impl Into<String>,
        run: impl Fn(&mut Bench) -> Result<(), Stop> + Send + Sync + 'static,
    ) -> Self {
        let name = name.into();
        Benchmark {
            worker_name: name.clone(),
            name,
            copies: None,
            declared: Vec::new(),
            placement: Placement::OneCpu,
            parts: 1,
            weight: 1.0,
            memory: 8 << 20,
            remote: false,
            run: Box::new(run),
        }
    }

    /// Adds a metric.
    pub fn metric(mut self, declared: Declared) -> Self {
        self.declared.push(declared);
        self
    }

    /// Sets the placement.
    pub fn placed(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    /// Sets the number of timed sections.
    pub fn parts(mut self, parts: u32) -> Self {
        self.parts = parts;
        self
    }

    /// Sets the share of time.
    pub fn weight(mut self, weight: f64) -> Self {
        self.weight = weight;
        self
    }

    /// Declares that it needs a peer on another host.
    pub fn remote(mut self) -> Self {
        self.remote = true;
        self
    }

    /// Sets the memory it needs, bytes.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// Every metric it yields, tails included.
    pub fn metrics(&self) -> Vec<Metric> {
        let mut metrics = Vec::new();
        for declared in &self.declared {
            metrics.push(declared.metric.clone());
            if declared.tails {
                metrics.push(declared.tail(Estimator::P99));
                metrics.push(declared.tail(Estimator::P999));
            }
        }
        metrics
    }

    /// The declaration of one metric.
    pub fn find(&self, metric: &str) -> Option<&Declared> {
        self.declared.iter().find(|d| d.metric.name == metric)
    }

    /// Runs it once.
    pub fn run(&self, bench: &mut Bench) -> Result<(), Stop> {
        (self.run)(bench)
    }
}
