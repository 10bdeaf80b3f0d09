//! Counters: exact ones are compared as integers; near-exact ones keep the resolution of one count.

use crate::table::{Cell, Measured};

/// Largest integer that a double holds exactly.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// What an exact comparison found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exactness {
    /// Every repetition gave one integer per configuration: (base, other).
    Exact(i64, i64),
    /// At least one repetition differed, or a value is no integer: the declaration does not hold.
    Broken,
    /// One side has no value.
    Missing,
}

/// Compares a metric declared exact. Scaled counters are estimates and never exact.
pub fn exactness(metric: &Measured, base: usize, other: usize) -> Exactness {
    if metric.scaled_counter {
        return Exactness::Broken;
    }
    match (single_integer(&metric.cells[base]), single_integer(&metric.cells[other])) {
        (Some(Ok(base)), Some(Ok(other))) => Exactness::Exact(base, other),
        (None, _) | (_, None) => Exactness::Missing,
        _ => Exactness::Broken,
    }
}

fn single_integer(cell: &Cell) -> Option<Result<i64, ()>> {
    if cell.summary.is_some() {
        return Some(Err(()));
    }
    let first = cell.observations.first()?.value;
    let same = cell.observations.iter().all(|o| o.value == first);
    let integer = first.is_finite() && first.fract() == 0.0 && first.abs() <= LARGEST;
    Some(if same && integer { Ok(first as i64) } else { Err(()) })
}

/// The last decimal place, up to the ninth, that any of the values uses: 0.1 for 78.8 and 78.5, 1 for integers.
///
/// A stand-in for an unknown printing interval where every value is the same: the spread is then below the last
/// digit, not nil.
pub fn visible_quantum(values: &[f64]) -> f64 {
    let mut step = 1.0;
    for _ in 0..9 {
        let whole = |value: &f64| ((value / step) - (value / step).round()).abs() < 1e-6;
        if values.iter().all(whole) {
            break;
        }
        step /= 10.0;
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Direction, Summary};

    fn counter(base: &[f64], other: &[f64]) -> Measured {
        Measured {
            exact: true,
            ..Measured::new("n", Direction::Smaller, vec![Cell::of(base), Cell::of(other)])
        }
    }

    #[test]
    fn one_differing_repetition_breaks_exactness() {
        assert_eq!(exactness(&counter(&[1000.0; 5], &[1003.0; 5]), 0, 1), Exactness::Exact(1000, 1003));
        assert_eq!(exactness(&counter(&[0.0; 2], &[0.0; 2]), 0, 1), Exactness::Exact(0, 0));
        assert_eq!(exactness(&counter(&[1000.0; 2], &[1003.0, 1004.0]), 0, 1), Exactness::Broken);
        assert_eq!(exactness(&counter(&[1000.5; 2], &[1003.0; 2]), 0, 1), Exactness::Broken);
        assert_eq!(exactness(&counter(&[f64::NAN; 2], &[1003.0; 2]), 0, 1), Exactness::Broken);
        assert_eq!(exactness(&counter(&[], &[1003.0; 2]), 0, 1), Exactness::Missing);
    }

    #[test]
    fn scaled_counters_and_summaries_are_estimates() {
        let scaled = Measured { scaled_counter: true, ..counter(&[7.0; 3], &[7.0; 3]) };
        assert_eq!(exactness(&scaled, 0, 1), Exactness::Broken);
        let mut summed = counter(&[7.0; 3], &[7.0; 3]);
        summed.cells[0].summary =
            Some(Summary { mean: 7.0, rel_se_pct: 0.0, rel_se_half_digit_pct: 0.005, n: 10 });
        assert_eq!(exactness(&summed, 0, 1), Exactness::Broken);
    }

    #[test]
    fn the_last_place_used_is_found() {
        assert_eq!(visible_quantum(&[512.0, 500.0]), 1.0);
        assert!((visible_quantum(&[78.8, 78.0]) - 0.1).abs() < 1e-12);
        assert!((visible_quantum(&[0.12345]) - 1e-5).abs() < 1e-12);
        assert!(visible_quantum(&[std::f64::consts::PI]) <= 1e-8);
    }
}
