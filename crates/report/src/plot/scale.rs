//! Axes: from values to places, and round numbers to label them.

/// One axis.
pub(super) struct Scale {
    low: f64,
    high: f64,
    log: bool,
}

impl Scale {
    /// An axis that holds all values.
    pub(super) fn new(values: impl Iterator<Item = f64>, log: bool) -> Self {
        let (low, high) = values.fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(v), b.max(v)));
        let (low, high) = if low > high { (1.0, 2.0) } else { (low, high) };
        let high = if high > low { high } else { low + if log { low } else { 1.0 } };
        Scale { low, high, log }
    }

    /// Where a value lies, 0 to 1.
    pub(super) fn place(&self, value: f64) -> f64 {
        let at = |v: f64| if self.log { v.log2() } else { v };
        (at(value) - at(self.low)) / (at(self.high) - at(self.low))
    }

    /// Round values inside, at most about `most`.
    pub(super) fn ticks(&self, most: usize) -> Vec<f64> {
        let most = most.max(2) as f64;
        if self.log {
            let (low, high) = (self.low.log2().ceil(), self.high.log2().floor());
            let step = ((high - low) / most).ceil().max(1.0);
            return steps(low, high, step).map(f64::exp2).collect();
        }
        let rough = (self.high - self.low) / most;
        let power = 10f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= rough).unwrap_or(rough);
        steps((self.low / step).ceil() * step, self.high, step).collect()
    }
}

fn steps(from: f64, to: f64, step: f64) -> impl Iterator<Item = f64> {
    let n = ((to - from) / step + 1e-9).floor().clamp(-1.0, 100.0) as i64;
    (0..=n).map(move |i| from + i as f64 * step)
}

/// A tick's label: K, M and G for thousands, or powers of 1024 on a base-2 axis.
pub(super) fn label(value: f64, log: bool) -> String {
    let unit = if log { 1024.0 } else { 1000.0 };
    let (value, suffix) = if value.abs() >= unit * unit * unit {
        (value / (unit * unit * unit), "G")
    } else if value.abs() >= unit * unit {
        (value / (unit * unit), "M")
    } else if value.abs() >= unit {
        (value / unit, "K")
    } else {
        (value, "")
    };
    // Four significant digits without trailing zeros.
    let digits = if value == 0.0 { 0 } else { (3 - value.abs().log10().floor() as i32).clamp(0, 6) };
    let text = format!("{value:.*}", digits as usize);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{suffix}")
}
