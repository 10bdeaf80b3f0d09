//! The clock in a benchmark's hands: what of a batch is timed, and how much work that was.

use crate::Clock;

/// Times sections of one batch. A batch may time several sections; each costs one pair of stamps.
pub struct Timer {
    clock: Clock,
    pub(crate) ticks: u64,
    pub(crate) sections: u32,
    pub(crate) worked: Option<f64>,
    pub(crate) also: Vec<(String, Also)>,
}

/// A further metric of the same batch.
pub(crate) enum Also {
    /// The same time, over another amount of work.
    Work(f64),
    /// A time of its own, ns, over an amount of work.
    Time(f64, f64),
    /// A value of its own.
    Value(f64),
}

impl Timer {
    pub(crate) fn new(clock: Clock) -> Self {
        Timer { clock, ticks: 0, sections: 0, worked: None, also: Vec::new() }
    }

    /// Runs `section` on the clock.
    #[inline]
    pub fn time<T>(&mut self, section: impl FnOnce() -> T) -> T {
        let start = self.clock.stamp();
        let result = section();
        let end = self.clock.stamp();
        self.ticks += end.saturating_sub(start);
        self.sections += 1;
        result
    }

    /// Adds a section timed by the caller between two [`Timer::stamp`]s.
    pub fn add(&mut self, start: u64, end: u64) {
        self.ticks += end.saturating_sub(start);
        self.sections += 1;
    }

    /// A time stamp in ticks.
    #[inline]
    pub fn stamp(&self) -> u64 {
        self.clock.stamp()
    }

    /// Ticks of [`Timer::stamp`] to ns.
    pub fn ns(&self, ticks: u64) -> f64 {
        self.clock.ns(ticks)
    }

    /// States how much work this batch did, in the metric's *per what* (bytes for a bandwidth), where it is not the
    /// number of iterations: faults counted, pages touched, bytes moved.
    pub fn worked(&mut self, amount: f64) {
        self.worked = Some(amount);
    }

    /// The same time over another amount of work is a sample of a further declared metric.
    pub fn also_per(&mut self, metric: &str, amount: f64) {
        self.also.push((metric.to_owned(), Also::Work(amount)));
    }

    /// A sample of a further declared metric, in its own unit.
    pub fn also(&mut self, metric: &str, value: f64) {
        self.also.push((metric.to_owned(), Also::Value(value)));
    }

    /// Runs `section` on the clock as a sample of a further declared metric, over `amount` of its work. The time does
    /// not count for this batch's own metric.
    pub fn time_as<T>(&mut self, metric: &str, amount: f64, section: impl FnOnce() -> T) -> T {
        let start = self.clock.stamp();
        let result = section();
        let elapsed = self.clock.ns(self.clock.stamp().saturating_sub(start)) - self.clock.cost_ns;
        self.also.push((metric.to_owned(), Also::Time(elapsed, amount)));
        result
    }
}
