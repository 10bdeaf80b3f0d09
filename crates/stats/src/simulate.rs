//! The noise generator that the rules are tested with: sessions of many metrics on a machine that drifts, jumps, has
//! bad processes and metrics with two modes.
//!
//! Each value is exp of: the configuration's effect, an invocation's own deviation (spread drawn per metric), a bad
//! process in 3 % of cases, a second mode 8 % up in a tenth of the metrics, and a session drift common to all.

use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::table::{Cell, Configuration, Direction, Layout, Measured, Observation, Plan, Table};

/// How noisy a machine is: the range from which each metric's spread between invocations is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// 0.2 to 0.5 %.
    Quiet,
    /// 0.5 to 1.5 %.
    Typical,
    /// 1.5 to 4 %.
    Noisy,
    /// 0.3 to 3 %.
    Mixed,
}

impl Noise {
    fn range(self) -> (f64, f64) {
        match self {
            Noise::Quiet => (0.002, 0.005),
            Noise::Typical => (0.005, 0.015),
            Noise::Noisy => (0.015, 0.04),
            Noise::Mixed => (0.003, 0.03),
        }
    }
}

/// A session to simulate.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// How noisy.
    pub noise: Noise,
    /// Number of metrics, named `m00`, `m01`, ….
    pub metrics: usize,
    /// Number of blocks, numbered from 1; the two configurations `A` and `B` run once in each, in drawn order.
    pub blocks: u32,
    /// True effect of B against A as a log ratio, for the first metrics; the rest have none.
    pub effects: Vec<f64>,
    /// A tenth of the metrics has two modes, drawn; false for none.
    pub two_modes: bool,
    /// The session drifts, and in half of the sessions jumps.
    pub drift: bool,
    /// Samples kept per invocation (0 for none).
    pub samples: usize,
    /// The error plan that the table will be read by.
    pub plan: Plan,
    /// Seed: the same seed gives the same session.
    pub seed: u64,
}

impl Scenario {
    /// An A/A session with every kind of noise: 60 metrics, mixed spread.
    pub fn aa(blocks: u32, seed: u64) -> Self {
        Scenario {
            noise: Noise::Mixed,
            metrics: 60,
            blocks,
            effects: Vec::new(),
            two_modes: true,
            drift: true,
            samples: 0,
            plan: Plan::fixed(),
            seed,
        }
    }

    /// A small A/A session on a quiet machine without modes.
    pub fn quiet_aa(metrics: usize, blocks: u32, seed: u64) -> Self {
        Scenario { noise: Noise::Quiet, metrics, two_modes: false, ..Scenario::aa(blocks, seed) }
    }

    /// The same with `changed` true changes of `size` (0.05 = 5 %), each up or down by a drawn sign.
    pub fn with_changes(mut self, changed: usize, size: f64) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(self.seed ^ 0x5eed);
        self.effects = (0..changed)
            .map(|_| if random.random_bool(0.5) { size.ln_1p() } else { -size.ln_1p() })
            .collect();
        self
    }

    /// Every invocation of the session, in the order taken.
    pub fn invocations(&self) -> Vec<Invocation> {
        let mut random = Pcg64Mcg::seed_from_u64(self.seed);
        let metrics: Vec<MetricNoise> =
            (0..self.metrics).map(|_| MetricNoise::draw(self, &mut random)).collect();
        let session = Session::draw(self.drift, &mut random);
        let slots = f64::from(self.blocks) * 2.0;
        let mut all = Vec::with_capacity(self.metrics * self.blocks as usize * 2);
        for block in 0..self.blocks {
            let b_first = random.random_bool(0.5);
            for place in 0..2 {
                let configuration = usize::from((place == 0) == b_first);
                let slot = block * 2 + place;
                let common = session.at(f64::from(slot) / slots);
                for (metric, noise) in metrics.iter().enumerate() {
                    let effect =
                        self.effects.get(metric).filter(|_| configuration == 1).copied().unwrap_or(0.0);
                    let log = effect + common * noise.sensitivity + noise.invocation(&mut random);
                    let value = noise.base * log.exp();
                    let samples = noise.samples(value, self.samples, &mut random);
                    all.push(Invocation { metric, configuration, block: block + 1, slot, value, samples });
                }
            }
        }
        all
    }

    /// The session as a table of configurations A (0) and B (1), smaller is better, in blocks.
    pub fn table(&self) -> Table {
        let empty =
            || Measured::new(String::new(), Direction::Smaller, vec![Cell::default(), Cell::default()]);
        let mut metrics: Vec<Measured> = (0..self.metrics).map(|_| empty()).collect();
        for (number, metric) in metrics.iter_mut().enumerate() {
            metric.name = format!("m{number:02}");
        }
        for i in self.invocations() {
            let mut observation = Observation::in_block(i.value, i.block, i.slot);
            observation.tail = (!i.samples.is_empty()).then(|| crate::estimate::tail(&i.samples));
            metrics[i.metric].cells[i.configuration].observations.push(observation);
        }
        Table {
            configurations: vec![Configuration::named("A"), Configuration::named("B")],
            metrics,
            layout: Layout::Blocks(self.plan.clone()),
        }
    }
}

/// One simulated invocation.
#[derive(Clone, Debug, PartialEq)]
pub struct Invocation {
    /// Index of the metric.
    pub metric: usize,
    /// 0 for A, 1 for B.
    pub configuration: usize,
    /// Block, from 1.
    pub block: u32,
    /// Place in the session, from 0.
    pub slot: u32,
    /// The declared number.
    pub value: f64,
    /// Samples around it, neighbours correlated by 0.4.
    pub samples: Vec<f64>,
}

/// Correlation of neighbouring samples.
const LAG: f64 = 0.4;

/// What is drawn once per metric.
struct MetricNoise {
    base: f64,
    invocation_sd: f64,
    sample_sd: f64,
    sensitivity: f64,
    two_modes: bool,
}

impl MetricNoise {
    fn draw(scenario: &Scenario, random: &mut Pcg64Mcg) -> Self {
        let (lo, hi) = scenario.noise.range();
        MetricNoise {
            base: log_uniform(random, 10.0, 10_000.0),
            invocation_sd: log_uniform(random, lo, hi),
            sample_sd: log_uniform(random, 0.005, 0.04),
            sensitivity: random.random_range(0.3..1.2),
            two_modes: random.random_bool(0.1) && scenario.two_modes,
        }
    }

    /// Deviation of one invocation, as a log.
    fn invocation(&self, random: &mut Pcg64Mcg) -> f64 {
        let sd = self.invocation_sd.hypot(0.33 * self.sample_sd);
        let mut log = sd * normal(random);
        if random.random_bool(0.03) {
            log += (0.10 * exponential(random)).ln_1p();
        }
        if self.two_modes && random.random_bool(0.3) {
            log += 1.08_f64.ln();
        }
        log
    }

    fn samples(&self, value: f64, count: usize, random: &mut Pcg64Mcg) -> Vec<f64> {
        let mut state = normal(random);
        (0..count)
            .map(|_| {
                state = LAG * state + (1.0 - LAG * LAG).sqrt() * normal(random);
                let spike = if random.random_bool(0.03) { exponential(random) } else { 0.0 };
                value * (self.sample_sd * state).exp() * (1.0 + 0.10 * spike)
            })
            .collect()
    }
}

/// What is drawn once per session: a slope, and in half of them a step.
struct Session {
    slope: f64,
    step: f64,
    step_at: f64,
}

impl Session {
    fn draw(drift: bool, random: &mut Pcg64Mcg) -> Self {
        let slope = random.random_range(-0.02..0.02);
        let step = if random.random_bool(0.5) { 0.015 } else { 0.0 };
        let sign = if random.random_bool(0.5) { 1.0 } else { -1.0 };
        let step_at = random.random_range(0.0..1.0);
        let on = f64::from(u8::from(drift));
        Session { slope: on * slope, step: on * step * sign, step_at }
    }

    /// Common deviation at moment `t` in 0..1 of the session, as a log.
    fn at(&self, t: f64) -> f64 {
        self.slope * t + if t >= self.step_at { self.step } else { 0.0 }
    }
}

fn log_uniform(random: &mut impl Rng, lo: f64, hi: f64) -> f64 {
    random.random_range(lo.ln()..hi.ln()).exp()
}

/// Standard normal deviate (Box and Muller 1958).
fn normal(random: &mut impl Rng) -> f64 {
    let radius = (2.0 * exponential(random)).sqrt();
    radius * (std::f64::consts::TAU * random.random_range(0.0..1.0)).cos()
}

/// Exponential deviate of mean 1.
fn exponential(random: &mut impl Rng) -> f64 {
    -(1.0 - random.random_range(0.0..1.0_f64)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trimmed::mean_and_variance;

    #[test]
    fn a_seed_is_a_session() {
        let scenario = Scenario { samples: 4, ..Scenario::aa(6, 42) };
        assert_eq!(scenario.table(), scenario.table());
        assert_ne!(scenario.table(), Scenario { seed: 43, ..scenario.clone() }.table());
        let invocations = scenario.invocations();
        assert_eq!(invocations.len(), 60 * 6 * 2);
        assert!(invocations.windows(2).all(|w| w[0].slot <= w[1].slot));
        assert!(invocations.iter().all(|i| i.samples.len() == 4 && i.value > 0.0));
    }

    #[test]
    fn deviates_have_their_moments() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let normals: Vec<f64> = (0..20_000).map(|_| normal(&mut random)).collect();
        let (mean, variance) = mean_and_variance(&normals);
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
        let (mean, _) = mean_and_variance(&(0..20_000).map(|_| exponential(&mut random)).collect::<Vec<_>>());
        assert!((mean - 1.0).abs() < 0.03);
    }

    #[test]
    fn effects_reach_configuration_b_only() {
        let scenario = Scenario { effects: vec![0.5], drift: false, ..Scenario::quiet_aa(2, 10, 9) };
        let table = scenario.table();
        let mean = |m: usize, c: usize| {
            let logs: Vec<f64> =
                table.metrics[m].cells[c].observations.iter().map(|o| o.value.ln()).collect();
            mean_and_variance(&logs).0
        };
        assert!((mean(0, 1) - mean(0, 0) - 0.5).abs() < 0.1 && (mean(1, 1) - mean(1, 0)).abs() < 0.1);
        let changed = Scenario::aa(6, 3).with_changes(10, 0.05);
        assert!(changed.effects.iter().all(|e| (e.abs() - 0.05f64.ln_1p()).abs() < 1e-12));
    }
}
