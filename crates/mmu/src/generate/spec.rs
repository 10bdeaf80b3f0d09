//! Descriptions of generated traces: `PATTERN:key=value,…`.

use thiserror::Error;

use crate::machine::parse_bytes;

/// A description that is not understood.
#[derive(Debug, Error)]
#[error("generator {text:?}: {reason}")]
pub struct GeneratorError {
    text: String,
    reason: String,
}

/// Kinds of pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Pages in order, again and again.
    Cycle,
    /// Fixed steps through a buffer.
    Stride,
    /// Uniform, with repetition.
    Random,
    /// Page of rank k with weight 1 / k^s.
    Zipf,
    /// A single cycle through all pages in shuffled order, as a chain of pointers would be.
    Chase,
}

/// A parsed description.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    pub(super) shape: Shape,
    pub(super) pages: u64,
    pub(super) page: u64,
    pub(super) len: u64,
    pub(super) step: u64,
    rounds: u64,
    refs: Option<u64>,
    pub(super) s: f64,
    pub(super) seed: u64,
    pub(super) code: bool,
}

/// No generator holds more pages than this in memory.
const MAX_PAGES: u64 = 1 << 24;

impl Pattern {
    /// Parses `cycle`, `stride`, `random`, `zipf`, `lmbench` or `chase`, then `:` and any of `pages`, `page`
    /// (bytes per page, 4K), `len` and `stride` (bytes), `rounds`, `refs`, `s` (exponent, 1), `seed` (1),
    /// `code` (1: a fetch from one code page before each load). `lmbench` is the walk of its memory-latency
    /// test: `len` 8M, `stride` 128.
    ///
    /// # Errors
    /// Unknown words or numbers that make no pattern.
    pub fn parse(text: &str) -> Result<Self, GeneratorError> {
        let fail = |reason: String| GeneratorError { text: text.into(), reason };
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut p = Pattern {
            shape: match name {
                "cycle" => Shape::Cycle,
                "stride" | "lmbench" => Shape::Stride,
                "random" => Shape::Random,
                "zipf" => Shape::Zipf,
                "chase" => Shape::Chase,
                _ => return Err(fail("patterns are cycle, stride, random, zipf, lmbench and chase".into())),
            },
            pages: 64,
            page: 4096,
            len: 8 << 20,
            step: 128,
            rounds: 10,
            refs: None,
            s: 1.0,
            seed: 1,
            code: false,
        };
        for pair in rest.split(',').filter(|p| !p.is_empty()) {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| fail(format!("{pair:?} is not KEY=VALUE")))?;
            let number = || parse_bytes(value).map_err(fail);
            match key {
                "pages" => p.pages = number()?,
                "page" => p.page = number()?,
                "len" => p.len = number()?,
                "stride" => p.step = number()?,
                "rounds" => p.rounds = number()?,
                "refs" => p.refs = Some(number()?),
                "seed" => p.seed = number()?,
                "code" => p.code = number()? > 0,
                "s" => p.s = value.parse().map_err(|_| fail(format!("{value:?} is not a number")))?,
                _ => {
                    let keys = "pages, page, len, stride, rounds, refs, s, seed, code";
                    return Err(fail(format!("{key:?} is not one of {keys}")));
                }
            }
        }
        if p.pages == 0 || p.pages > MAX_PAGES {
            return Err(fail(format!("pages must be 1 to {MAX_PAGES}")));
        }
        if p.page < 4 || p.step == 0 || p.len < p.step || !p.s.is_finite() || p.s < 0.0 {
            return Err(fail(
                "page, stride and len must be positive, len at least stride, s not negative".into(),
            ));
        }
        if p.pages.checked_mul(p.page).is_none_or(|n| n > 1 << 46) || p.len > 1 << 46 {
            return Err(fail("the pages span more than 2^46 bytes".into()));
        }
        Ok(p)
    }

    /// Loads the trace has.
    pub fn references(&self) -> u64 {
        let per_round = if self.shape == Shape::Stride { self.len / self.step } else { self.pages };
        self.refs.unwrap_or_else(|| per_round.saturating_mul(self.rounds))
    }
}
