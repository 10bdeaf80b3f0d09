//! The words of a comparison.

use serde::{Deserialize, Serialize};

/// The word of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Significantly different, in the good direction, and not proven inside the margin.
    Better,
    /// Significantly different, in the bad direction, and not proven inside the margin.
    Worse,
    /// Significantly different where no direction is known.
    Differs,
    /// Proven inside the margin (possibly real but small).
    Equivalent,
    /// Neither could be shown; the reason says why.
    Inconclusive,
    /// Integers that every repetition agreed on, compared as such.
    Exact,
}

impl Verdict {
    /// The word as printed and as it stands in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Differs => "differs",
            Verdict::Equivalent => "equivalent",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Exact => "exact",
        }
    }
}

/// What else must be known about a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flag {
    /// Equivalent, and significantly different from no change.
    RealButSmall,
    /// The values fall into two groups.
    TwoModes,
    /// The values rise or fall over the run.
    Drift,
    /// One configuration has more slow samples.
    Tail,
    /// Undecided only because the numbers were printed with too few digits.
    Rounding,
    /// A single run on one side.
    OneRun,
    /// Two runs on one side: what they suggest is no verdict.
    Suggestive,
    /// A single run, beyond ten times the noise that could be borrowed.
    Extreme,
    /// A kernel seen in one boot.
    OneBoot,
    /// A kernel or binary seen as one build.
    OneBuild,
    /// More than 30 % of the samples would have had to be set aside.
    Disturbed,
    /// A control that moved.
    ControlsMoved,
    /// A multiplexed counter, scaled up.
    ScaledCounter,
    /// Some invocations were below what the clock resolves.
    BelowResolution,
}

impl Flag {
    /// The word as printed and as it stands in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Flag::RealButSmall => "real-but-small",
            Flag::TwoModes => "two-modes",
            Flag::Drift => "drift",
            Flag::Tail => "tail",
            Flag::Rounding => "rounding",
            Flag::OneRun => "one-run",
            Flag::Suggestive => "suggestive",
            Flag::Extreme => "extreme",
            Flag::OneBoot => "one-boot",
            Flag::OneBuild => "one-build",
            Flag::Disturbed => "disturbed",
            Flag::ControlsMoved => "controls-moved",
            Flag::ScaledCounter => "scaled-counter",
            Flag::BelowResolution => "below-resolution",
        }
    }
}
