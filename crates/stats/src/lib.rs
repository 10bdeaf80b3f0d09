//! Numbers in, verdicts out.
//!
//! Pure functions: nothing here knows of files, clocks or operating systems, so every statistical claim of the
//! project can be tested without a machine. A caller fills a [`Table`] (configurations × metrics × observations),
//! says how the numbers were taken ([`Layout`]) and calls [`compare()`]; every row of the answer carries its
//! estimate, its adjusted p value, its word and the numbers that led there ([`explain()`] prints them).
//!
//! The rules, in short: one number per invocation; log ratios per block with a 10 % trimmed mean and Yuen's standard
//! error; Holm's correction over the table; *equivalent* only when the 90 % interval lies inside the margin; and
//! *inconclusive* with a reason and a number of further runs whenever the data can't say.
//!
//! | file | what lives there |
//! | --- | --- |
//! | `table` | what goes in: table, observations, layout, options |
//! | `compare`, `row`, `judge`, `verdict` | the comparison, one row of it, how it gets its word, the words |
//! | `notes` | the sentence above a table and the notes below |
//! | `explain` | how one verdict came about, step by step |
//! | `contrast`, `equivalence` | an effect with its error: p, interval, two one-sided tests |
//! | `evidence`, `decide` | what the observations amount to; the decision over a whole family |
//! | `reduced` | what all pairs of a table share, computed once |
//! | `blocks`, `legacy`, `sittings`, `summaries`, `counts` | one way each to get a contrast out of observations |
//! | `trimmed`, `student`, `holm`, `fisher`, `maxt` | the arithmetic underneath |
//! | `drift`, `modes`, `shares` | findings beside the verdict |
//! | `estimate`, `stopping`, `noise` | estimators, looks and run lengths, the noise floor |
//! | `simulate` | the noise generator that the rules are tested with |
#![forbid(unsafe_code)]

mod blocks;
mod compare;
mod contrast;
mod counts;
mod decide;
pub mod drift;
mod equivalence;
pub mod estimate;
mod evidence;
mod explain;
pub mod fisher;
pub mod holm;
mod judge;
mod legacy;
pub mod maxt;
pub mod modes;
pub mod noise;
mod notes;
mod reduced;
mod row;
pub mod shares;
pub mod simulate;
mod sittings;
pub mod stopping;
pub mod student;
mod summaries;
mod table;
pub mod trimmed;
mod verdict;

pub use compare::{Comparison, Counts, Report, compare};
pub use contrast::{Contrast, Interval, Scale, Unit};
pub use equivalence::TIGHTEST_PCT;
pub use explain::explain;
pub use row::{Borrowed, Exact, MoreRuns, Row, Side};
pub use sittings::TauSource;
pub use table::{
    Cell, Configuration, Direction, Layout, Measured, Observation, Options, Plan, Share, Summary, Table, Tau,
};
pub use verdict::{Flag, Verdict};
