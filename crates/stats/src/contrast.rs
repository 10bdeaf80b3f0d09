//! An effect with its error: the one thing every method of comparison ends in.

use crate::student;

/// What the effect is measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// `effect` is ln(other / base).
    Log,
    /// `effect` is other / base - 1 (summaries, whose errors are known on the plain scale only).
    Linear,
}

/// What one more of would make the error smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Blocks.
    Blocks,
    /// Invocations or runs of each configuration.
    Runs,
    /// Sittings of each configuration.
    Sittings,
}

impl Unit {
    /// The plural used in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Blocks => "blocks",
            Unit::Runs => "runs",
            Unit::Sittings => "sittings",
        }
    }
}

/// An interval of the ratio other/base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

/// The difference of two configurations in one metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// Difference, other against base, on `scale`.
    pub effect: f64,
    /// Standard error of `effect`, between-sitting variance included.
    pub se: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Rounding of printed numbers by which `effect` may be off, whatever the spread says; 0 for unrounded ones.
    pub widening: f64,
    /// What `effect` is measured on.
    pub scale: Scale,
    /// How many units stand behind it (the smaller side).
    pub n: usize,
    /// What the units are.
    pub unit: Unit,
    /// True when the spread seen was nil, or below what the numbers resolve, and was replaced by the resolution's.
    pub floored: bool,
}

impl Contrast {
    /// Point estimate of other / base.
    pub fn ratio(&self) -> f64 {
        self.to_ratio(self.effect)
    }

    /// Test statistic: the part of the effect that rounding can't explain, in standard errors.
    pub fn t(&self) -> f64 {
        let beyond_rounding = (self.effect.abs() - self.widening).max(0.0);
        if beyond_rounding == 0.0 { 0.0 } else { beyond_rounding / self.se }
    }

    /// Two-sided p value of no difference.
    pub fn p(&self) -> f64 {
        student::two_sided_p(self.t(), self.df)
    }

    /// Half-width on `scale` at confidence `level`, rounding included.
    pub fn half_width(&self, level: f64) -> f64 {
        student::t_upper((1.0 - level) / 2.0, self.df) * self.se + self.widening
    }

    /// Interval of the ratio at confidence `level`.
    pub fn interval(&self, level: f64) -> Interval {
        let half = self.half_width(level);
        Interval { lo: self.to_ratio(self.effect - half).max(0.0), hi: self.to_ratio(self.effect + half) }
    }

    /// Standard deviation of the difference of one unit (one block; one run of each; one sitting of each).
    pub fn unit_sd(&self) -> f64 {
        self.se * (self.n as f64).sqrt()
    }

    fn to_ratio(self, effect: f64) -> f64 {
        match self.scale {
            Scale::Log => effect.exp(),
            Scale::Linear => 1.0 + effect,
        }
    }
}

#[cfg(test)]
pub(crate) fn sample_contrast(effect: f64, se: f64, df: f64) -> Contrast {
    Contrast { effect, se, df, widening: 0.0, scale: Scale::Log, n: 10, unit: Unit::Blocks, floored: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_widens_the_interval_and_weakens_the_test() {
        let plain = sample_contrast(0.05, 0.01, 9.0);
        let rounded = Contrast { widening: 0.03, ..plain };
        assert!((plain.t() - 5.0).abs() < 1e-12 && (rounded.t() - 2.0).abs() < 1e-9);
        assert!(rounded.p() > plain.p());
        assert!(rounded.interval(0.95).lo < plain.interval(0.95).lo);
        assert_eq!(Contrast { widening: 0.06, ..plain }.p(), 1.0);
    }

    #[test]
    fn a_zero_effect_with_zero_error_is_no_finding() {
        assert_eq!(sample_contrast(0.0, 0.0, 9.0).p(), 1.0);
        assert_eq!(sample_contrast(0.1, 0.0, 9.0).p(), 0.0);
    }

    #[test]
    fn linear_intervals_are_symmetric_and_never_negative() {
        let contrast = Contrast { scale: Scale::Linear, ..sample_contrast(-0.25, 0.01, 18.0) };
        let ci = contrast.interval(0.95);
        assert!((contrast.ratio() - 0.75).abs() < 1e-12 && (ci.lo + ci.hi - 1.5).abs() < 1e-12);
        let wide = Contrast { se: 10.0, ..contrast };
        assert_eq!(wide.interval(0.95).lo, 0.0);
    }
}
