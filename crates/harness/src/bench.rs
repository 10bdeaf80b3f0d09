//! The worker's side of one invocation: calibrate, warm up, take samples with witnesses, make the declared numbers.

use std::collections::BTreeMap;

use environment::Root;
use hdrhistogram::Histogram;
use record::{Estimator, Invocation, Status, Unit};
use serde_json::json;

use crate::copies::WINDOW;
use crate::gate::InStep;
use crate::timer::{Also, Timer};
use crate::witness::{MachineCounts, WitnessReader, WitnessSum};
use crate::{Benchmark, Declared, Job, Stop, encode_histogram, number_of};

/// Fewest samples of one timed section, however short its time.
const MIN_SAMPLES: usize = 5;
/// Most samples kept.
const MAX_SAMPLES: usize = 500;
/// When more samples than this share would be set aside, none is (compare.md 3.8: the row is `disturbed`).
const MOST_SET_ASIDE: f64 = 0.3;
/// Single operations needed before a 99th / 99.9th percentile is stated.
const FEWEST_FOR_P99: u64 = 200;
const FEWEST_FOR_P999: u64 = 1000;
const MOST_SINGLE_OPERATIONS: u64 = 20_000;

/// One invocation of one benchmark.
pub struct Bench<'a> {
    benchmark: &'a Benchmark,
    job: &'a Job,
    root: Root,
    witness: WitnessReader,
    series: BTreeMap<String, Series>,
    iterations: BTreeMap<String, u64>,
    notes: BTreeMap<String, serde_json::Map<String, serde_json::Value>>,
    absent: BTreeMap<String, (Status, String)>,
    in_step: Option<InStep>,
}

/// The samples of one metric.
#[derive(Default)]
struct Series {
    samples: Vec<f64>,
    disturbed: Vec<u32>,
    witness: WitnessSum,
    histogram: Option<Histogram<u64>>,
    machine: Option<(MachineCounts, f64)>,
    /// Share of the sampling loop that was on the clock, 0-1.
    timed_share: f64,
    below_resolution: bool,
    iterations: Option<u64>,
}

impl<'a> Bench<'a> {
    /// A bench for `job`, which names `benchmark`.
    pub fn new(benchmark: &'a Benchmark, job: &'a Job) -> Self {
        Bench {
            benchmark,
            job,
            root: Root::host(),
            witness: WitnessReader::open(),
            series: BTreeMap::new(),
            iterations: BTreeMap::new(),
            notes: BTreeMap::new(),
            absent: BTreeMap::new(),
            in_step: None,
        }
    }

    /// Keeps in step with the other copies of this invocation, where it is one of several.
    pub(crate) fn keep_in_step(&mut self) -> Result<(), Stop> {
        self.in_step = InStep::of(self.job)?;
        Ok(())
    }

    /// Its orders: CPUs, scratch directory, limits.
    pub fn job(&self) -> &Job {
        self.job
    }

    /// The CPU of the second side, where the placement has one.
    pub fn peer_cpu(&self) -> Option<usize> {
        self.job.cpus.get(1).or(self.job.cpus.first()).copied()
    }

    /// Times `operation`, called over and over; each call must return true, the proof that it did its work.
    pub fn calls(&mut self, metric: &str, mut operation: impl FnMut() -> bool) -> Result<(), Stop> {
        self.measure(metric, move |iterations, timer| {
            let done = timer.time(|| {
                let mut done = true;
                for _ in 0..iterations {
                    done &= operation();
                }
                done
            });
            crate::check(done, "a call did not return what it must")
        })
    }

    /// Times batches: `batch(iterations, timer)` sets up, times one or more sections of `iterations` operations in
    /// all, proves the work, and cleans up. Only what runs inside [`Timer::time`] counts.
    pub fn measure(
        &mut self,
        metric: &str,
        batch: impl FnMut(u64, &mut Timer) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.measure_up_to(metric, u64::MAX, batch)
    }

    /// As [`Bench::measure`], with at most `most` iterations in a batch.
    pub fn measure_up_to(
        &mut self,
        metric: &str,
        most: u64,
        mut batch: impl FnMut(u64, &mut Timer) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let benchmark = self.benchmark;
        let declared = benchmark
            .find(metric)
            .ok_or_else(|| Stop::fail(format!("{metric} is measured but not declared")))?;
        let slice = self.job.slice_ns as f64 / f64::from(self.benchmark.parts.max(1));
        let iterations = match self.job.iterations.get(metric) {
            _ if declared.single_shot.is_some() => 1,
            Some(&known) => {
                self.batch(&mut batch, known.min(most))?;
                known.min(most)
            }
            None => self.calibrate(&mut batch, most)?,
        };
        if let Some(copies) = &mut self.in_step {
            copies.start_together();
        }
        let start = self.job.clock.stamp();
        let for_tails = if declared.tails { slice * 0.4 } else { 0.0 };
        self.sample(declared, &mut batch, iterations, slice - for_tails)?;
        if declared.tails {
            self.single_operations(declared, &mut batch, for_tails)?;
        }
        self.hold_load(metric, start, &mut batch, iterations)?;
        self.iterations.insert(metric.to_owned(), iterations);
        Ok(())
    }

    /// Notes when this copy measured, and goes on unmeasured until every copy has: nobody measures on an idle machine.
    fn hold_load(
        &mut self,
        metric: &str,
        start: u64,
        batch: &mut impl FnMut(u64, &mut Timer) -> Result<(), Stop>,
        iterations: u64,
    ) -> Result<(), Stop> {
        let Some(copies) = &mut self.in_step else { return Ok(()) };
        copies.finish();
        let clock = &self.job.clock;
        let window = [clock.ns(start), clock.ns(clock.stamp())];
        self.note(metric, WINDOW, json!(window));
        while self.in_step.as_ref().is_some_and(|copies| !copies.all_finished()) {
            self.batch(batch, iterations)?;
        }
        Ok(())
    }

    /// States a number the benchmark found without samples (a count, a size, a rate of its own).
    pub fn put(&mut self, metric: &str, value: f64) {
        self.series.entry(metric.to_owned()).or_default().samples.push(value);
    }

    /// Keeps the single operations (ns) behind a number stated by [`Bench::put`] in the record.
    pub fn keep_histogram(&mut self, metric: &str, histogram: Histogram<u64>) {
        self.series.entry(metric.to_owned()).or_default().histogram = Some(histogram);
    }

    /// States that one of the benchmark's metrics can't be had, and goes on with the others.
    pub fn absent(&mut self, metric: &str, reason: impl Into<String>) {
        self.absent.insert(metric.to_owned(), (Status::Skipped, reason.into()));
    }

    /// Adds a fact to the record line of `metric` (pages per fault, huge page state, ready count).
    pub fn note(&mut self, metric: &str, key: &str, value: impl Into<serde_json::Value>) {
        self.notes.entry(metric.to_owned()).or_default().insert(key.to_owned(), value.into());
    }

    fn batch(
        &self,
        batch: &mut impl FnMut(u64, &mut Timer) -> Result<(), Stop>,
        iterations: u64,
    ) -> Result<Timer, Stop> {
        let mut timer = Timer::new(self.job.clock);
        batch(iterations, &mut timer)?;
        Ok(timer)
    }

    /// Finds the iteration count whose batch lasts about one sample length. Doubles until a batch is long enough to
    /// be trusted, then scales; the shortest of three batches decides, since noise only lengthens.
    fn calibrate(
        &self,
        batch: &mut impl FnMut(u64, &mut Timer) -> Result<(), Stop>,
        most: u64,
    ) -> Result<u64, Stop> {
        let target = self.job.clock.sample_ns();
        let mut iterations = 1u64;
        loop {
            let mut shortest = f64::MAX;
            for _ in 0..3 {
                let timer = self.batch(batch, iterations)?;
                shortest = shortest.min(self.job.clock.ns(timer.ticks));
                if shortest > 4.0 * target {
                    break;
                }
            }
            if shortest >= target * 0.5 || iterations >= most {
                let scaled = (iterations as f64 * target / shortest.max(1.0)).round();
                return Ok((scaled as u64).clamp(1, most));
            }
            let growth = (target / shortest.max(1.0)).clamp(2.0, 16.0);
            iterations = ((iterations as f64 * growth) as u64).min(most);
        }
    }

    fn sample(
        &mut self,
        declared: &Declared,
        batch: &mut impl FnMut(u64, &mut Timer) -> Result<(), Stop>,
        iterations: u64,
        slice_ns: f64,
    ) -> Result<(), Stop> {
        let name = &declared.metric.name;
        let mut total = WitnessSum::default();
        let machine_before = MachineCounts::read(&self.root);
        let mut work_done = 0.0;
        let mut timed = 0;
        let start = self.job.clock.stamp();
        let mut taken = 0;
        let fewest = declared.single_shot.unwrap_or(MIN_SAMPLES);
        while taken < fewest
            || (taken < MAX_SAMPLES && self.job.clock.ns(self.job.clock.stamp() - start) < slice_ns)
        {
            let before = self.witness.read();
            let timer = self.batch(batch, iterations)?;
            let seen = self.witness.read().since(&before);
            let disturbed = total.add(&seen, before.cpu);
            let elapsed = self.net_ns(&timer);
            let worked = timer.worked.unwrap_or(iterations as f64);
            work_done += worked;
            timed += timer.ticks;
            let series = self.series.entry(name.clone()).or_default();
            series.below_resolution |= elapsed < 10.0 * self.job.clock.resolution_ns;
            series.samples.push(value_of(&declared.metric.unit, elapsed, worked));
            if disturbed && declared.screened {
                series.disturbed.push(taken as u32);
            }
            for (metric, also) in timer.also {
                let other = self.benchmark.find(&metric);
                let unit = other.map_or(Unit::NS, |d| d.metric.unit.clone());
                let value = match also {
                    Also::Work(amount) => value_of(&unit, elapsed, amount),
                    Also::Time(ns, amount) => value_of(&unit, ns, amount),
                    Also::Value(value) => value,
                };
                let series = self.series.entry(metric).or_default();
                if disturbed && other.is_some_and(|d| d.screened) {
                    series.disturbed.push(series.samples.len() as u32);
                }
                series.samples.push(value);
                series.iterations = Some(iterations);
            }
            taken += 1;
        }
        let loop_ticks = self.job.clock.stamp().saturating_sub(start).max(1);
        let series = self.series.entry(name.clone()).or_default();
        series.timed_share = timed as f64 / loop_ticks as f64;
        series.iterations = Some(iterations);
        series.witness = total;
        series.machine = machine_before
            .zip(MachineCounts::read(&self.root))
            .map(|(before, after)| (after.since(&before), work_done));
        Ok(())
    }

    /// Times operations one by one into a histogram, after the batches.
    fn single_operations(
        &mut self,
        declared: &Declared,
        batch: &mut impl FnMut(u64, &mut Timer) -> Result<(), Stop>,
        slice_ns: f64,
    ) -> Result<(), Stop> {
        let mut histogram = Histogram::<u64>::new(3).map_err(|e| Stop::fail(format!("histogram: {e}")))?;
        let clock = self.job.clock;
        let start = clock.stamp();
        while histogram.len() < MOST_SINGLE_OPERATIONS {
            let spent = clock.ns(clock.stamp() - start);
            if spent > slice_ns && (histogram.len() >= FEWEST_FOR_P999 || spent > 3.0 * slice_ns) {
                break;
            }
            let timer = self.batch(batch, 1)?;
            let elapsed = clock.ns(timer.ticks) - f64::from(timer.sections) * clock.cost_ns;
            let per = timer.worked.unwrap_or(1.0).max(1.0);
            // `record` grows the histogram; `saturating_record` would clamp to its initial range.
            let kept = histogram.record((elapsed / per).max(1.0).round() as u64);
            kept.map_err(|e| Stop::fail(format!("histogram: {e}")))?;
        }
        self.series.entry(declared.metric.name.clone()).or_default().histogram = Some(histogram);
        Ok(())
    }

    /// Elapsed time of a batch without the cost of its stamps, where that exceeds 1 %.
    fn net_ns(&self, timer: &Timer) -> f64 {
        let gross = self.job.clock.ns(timer.ticks);
        let stamps = f64::from(timer.sections) * self.job.clock.cost_ns;
        if stamps > 0.01 * gross { gross - stamps } else { gross }
    }

    /// Iterations found, by metric, for later invocations of this run.
    pub fn iterations(&self) -> &BTreeMap<String, u64> {
        &self.iterations
    }

    /// The record lines of this invocation, one per declared metric. `ended` is what the benchmark returned.
    pub fn finish(mut self, ended: Result<(), Stop>) -> Vec<Invocation> {
        // A proof that failed, wherever it stands, voids all that was measured beside it.
        let failed = matches!(ended, Err(Stop::Fail(_)));
        let missing = match ended {
            Ok(()) => (Status::Failed, "the benchmark did not measure it".to_owned()),
            Err(Stop::Skip(reason)) => (Status::Skipped, reason),
            Err(Stop::Fail(reason)) => (Status::Failed, reason),
        };
        let mut lines = Vec::new();
        for declared in &self.benchmark.declared {
            let name = &declared.metric.name;
            let mut line = match self.series.remove(name) {
                Some(series) if !failed && !series.samples.is_empty() => {
                    let tails = tail_lines(declared, &series, &missing);
                    lines.extend(tails);
                    self.body_line(declared, series)
                }
                _ => {
                    let (status, reason) = self.absent.remove(name).unwrap_or_else(|| missing.clone());
                    lines.extend(tail_lines(declared, &Series::default(), &(status, reason.clone())));
                    Invocation::of(&declared.metric).without_value(status, reason)
                }
            };
            line.extra.extend(self.notes.remove(name).unwrap_or_default());
            lines.push(line);
        }
        lines
    }

    fn body_line(&self, declared: &Declared, series: Series) -> Invocation {
        let mut line = Invocation::of(&declared.metric);
        line.iterations = series.iterations;
        line.witness = series.witness.to_json();
        if let Some((machine, operations)) = series.machine {
            line.witness.insert("interrupts".into(), json!(machine.interrupts));
            line.witness.insert("softirqs".into(), json!(machine.softirqs));
            line.witness.insert("steal_ms".into(), json!(machine.steal_ms));
            line.witness.insert("machine_busy_ms".into(), json!(machine.busy_ms));
            line.witness.insert("others_running".into(), json!(machine.others_running()));
            line.witness.insert("work_done".into(), json!(operations));
            line.witness.insert("timed_share".into(), json!((series.timed_share * 1e3).round() / 1e3));
        }
        let too_many = series.disturbed.len() as f64 > MOST_SET_ASIDE * series.samples.len() as f64;
        if too_many {
            line.extra.insert("disturbed".into(), json!(true));
        } else {
            line.set_aside = series.disturbed.len() as u32;
            line.set_aside_index = series.disturbed;
        }
        let kept: Vec<f64> = series
            .samples
            .iter()
            .enumerate()
            .filter(|(i, _)| !line.set_aside_index.contains(&(*i as u32)))
            .map(|(_, &value)| value)
            .collect();
        line.histogram = series.histogram.as_ref().and_then(encode_histogram);
        line.samples = Some(series.samples.iter().map(|&value| six_digits(value)).collect());
        if series.below_resolution && declared.metric.unit == Unit::NS {
            return line
                .without_value(Status::Skipped, "below resolution: a sample is under ten clock steps");
        }
        let Some(value) = number_of(&declared.metric, &kept) else {
            return line.without_value(Status::Failed, "no samples");
        };
        let floor = declared.floor_cycles * self.job.cycle_ns;
        if declared.metric.unit == Unit::NS && value <= 0.0 {
            line.without_value(Status::Skipped, "below resolution: nothing left after the clock's own cost")
        } else if declared.metric.unit == Unit::NS && value < floor {
            line.without_value(
                Status::Failed,
                format!(
                    "impossible: {value:.4} ns is less than {:.3} ns, {} clock cycle(s)",
                    floor, declared.floor_cycles
                ),
            )
        } else {
            line.with_value(value)
        }
    }
}

/// Six significant digits: far finer than any sample repeats, and a third of the text.
fn six_digits(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10f64.powi(5 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

/// A sample's value in the metric's unit.
fn value_of(unit: &Unit, elapsed_ns: f64, worked: f64) -> f64 {
    if *unit == Unit::MB_PER_S { worked / elapsed_ns * 1000.0 } else { elapsed_ns / worked }
}

/// Lines of the tails of one metric.
fn tail_lines(declared: &Declared, series: &Series, missing: &(Status, String)) -> Vec<Invocation> {
    if !declared.tails {
        return Vec::new();
    }
    [(Estimator::P99, 0.99, FEWEST_FOR_P99), (Estimator::P999, 0.999, FEWEST_FOR_P999)]
        .into_iter()
        .map(|(estimator, quantile, fewest)| {
            let line = Invocation::of(&declared.tail(estimator));
            match &series.histogram {
                Some(histogram) if histogram.len() >= fewest => {
                    line.with_value(histogram.value_at_quantile(quantile) as f64)
                }
                Some(histogram) => line.without_value(
                    Status::Skipped,
                    format!("needs {fewest} single operations, the time allowed {}", histogram.len()),
                ),
                None => line.without_value(missing.0, missing.1.clone()),
            }
        })
        .collect()
}
