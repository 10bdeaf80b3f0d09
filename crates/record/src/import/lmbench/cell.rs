//! One cell of a summary table: its value and the interval the number lay in before the summary script **cut** it to
//! the column.
//!
//! The script prints one decimal and cuts the text to the width (`1784.3` -> `1784`, `909.2` -> `909.`, `30.6K` -> `30.K`);
//! below 10 it prints width - 2 decimals, rounded; from 1e4 on it divides by a thousand and appends `K` (from 1e7 on `M`).

use super::super::number::{Decimal, decimal};
use super::columns::Meaning;
use crate::Printed;

/// A cell that can be read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Cell {
    pub value: f64,
    pub printed: Printed,
    /// At width 4 the script prints 1,234,567 as `123K`: such a cell may stand for ten times its value.
    pub maybe_tenfold: bool,
}

/// Splits `30.K` into its digits, its scale and its value.
fn digits(text: &[u8]) -> Option<(Decimal, f64, f64)> {
    let (number, exponent) = match text {
        [number @ .., b'K'] => (number, 3),
        [number @ .., b'M'] => (number, 6),
        number => (number, 0),
    };
    if !number.first()?.is_ascii_digit() {
        return None;
    }
    let shown = decimal(number)?;
    let scale = 10f64.powi(exponent);
    // parsed as a whole, so that `16.1K` is 16100 exactly
    let whole = format!("{}e{exponent}", std::str::from_utf8(number).ok()?);
    Some((shown, scale, if exponent == 0 { shown.value } else { whole.parse().ok()? }))
}

/// Reads a cell of a column of `width`; `None` when it is no number the script can have printed.
pub(in super::super) fn read(text: &[u8], width: usize, meaning: Meaning) -> Option<Cell> {
    let (shown, scale, value) = digits(text)?;
    let cut = shown.decimals == 0;
    if meaning == Meaning::CutByOne {
        return Some(cut_by_one(shown, scale, value));
    }
    let mut printed = if cut {
        cut_off(shown, scale)
    } else {
        let half = 0.5 * 10f64.powi(-(shown.decimals as i32)) * scale;
        Printed { lo: value - half, hi: value + half }
    };
    match meaning {
        Meaning::Environment => printed = Printed { lo: value, hi: value },
        Meaning::Whole if !cut && scale == 1.0 && value.fract() == 0.0 => {
            printed = Printed { lo: value - 0.5, hi: value + 0.5 };
        }
        Meaning::TwoDecimals if shown.decimals > 2 => {
            printed = Printed { lo: value - 0.005, hi: value + 0.005 };
        }
        Meaning::InverseRate => printed = inverse_rate(printed),
        _ => {}
    }
    let maybe_tenfold = width == 4 && text.len() == 4 && cut && !text.contains(&b'.') && scale == 1e3;
    Some(Cell { value, printed, maybe_tenfold })
}

/// One more decimal was rounded, then cut off.
fn cut_off(shown: Decimal, scale: f64) -> Printed {
    let digit = 10f64.powi(-(shown.decimals as i32));
    Printed { lo: (shown.value - 0.05 * digit) * scale, hi: (shown.value + 0.95 * digit) * scale }
}

/// A cell printed for one more character than the column has: the last one is lost, be it a decimal (`60.3` -> `60.`)
/// or the letter (`11.4K` -> `11.4`). From 10 on one decimal is printed, so one that is left means that a `K` is lost.
fn cut_by_one(shown: Decimal, scale: f64, value: f64) -> Cell {
    if shown.value >= 10.0 && shown.decimals == 1 && scale == 1.0 {
        let printed = Printed { lo: (value - 0.05) * 1e3, hi: (value + 0.05) * 1e3 };
        return Cell { value: value * 1e3, printed, maybe_tenfold: false };
    }
    Cell { value, printed: cut_off(shown, scale), maybe_tenfold: false }
}

/// The interval of `1e6 / rate` when exactly one integer rate prints like this cell; the cell's own interval otherwise.
fn inverse_rate(cell: Printed) -> Printed {
    let (lowest, highest) = ((1e6 / cell.hi).ceil(), (1e6 / cell.lo).floor());
    if lowest == highest && lowest >= 1.0 {
        Printed { lo: 1e6 / (lowest + 0.5), hi: 1e6 / (lowest - 0.5) }
    } else {
        cell
    }
}

/// Whether the script can have printed `text` into a column of `width`: the number of digits gives the width away.
pub(in super::super) fn fits(text: &[u8], width: usize, meaning: Meaning) -> bool {
    if meaning == Meaning::CutByOne {
        return text.len() <= width && digits(text).is_some();
    }
    let Some((shown, scale, _)) = digits(text) else { return false };
    if meaning == Meaning::Environment {
        return text.len() <= width;
    }
    if scale == 1.0 && shown.value < 10.0 && shown.decimals > 1 {
        return shown.decimals as usize == width - 2;
    }
    // one decimal cut to the width (one less with a scale letter): it is whole, or the text fills the column
    let room = width - usize::from(scale != 1.0);
    let length = text.len() - usize::from(scale != 1.0);
    if shown.decimals == 0 { length == room } else { length <= room }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(text: &str, width: usize, meaning: Meaning) -> (f64, f64) {
        let printed = read(text.as_bytes(), width, meaning).unwrap().printed;
        ((printed.lo * 1e6).round() / 1e6, (printed.hi * 1e6).round() / 1e6)
    }

    #[test]
    fn cut_cells_reach_to_the_next_digit() {
        assert_eq!(interval("1784", 4, Meaning::Result), (1783.95, 1784.95));
        assert_eq!(interval("909.", 4, Meaning::Result), (908.95, 909.95));
        assert_eq!(interval("30.K", 4, Meaning::Result), (29950.0, 30950.0));
        assert_eq!(interval("16.0", 4, Meaning::Result), (15.95, 16.05));
        assert_eq!(interval("60.", 5, Meaning::CutByOne), (59.95, 60.95));
        assert_eq!(interval("11.4", 5, Meaning::CutByOne), (11350.0, 11450.0));
        assert_eq!(interval("9.12", 5, Meaning::CutByOne), (9.1195, 9.1295));
        assert_eq!(interval("100.0K", 6, Meaning::Result), (99950.0, 100050.0));
    }

    #[test]
    fn the_benchmarks_own_resolution_wins() {
        assert_eq!(interval("5.260", 5, Meaning::TwoDecimals), (5.255, 5.265));
        assert_eq!(interval("18.0", 5, Meaning::Whole), (17.5, 18.5));
        assert_eq!(interval("22.6K", 7, Meaning::Whole), (22550.0, 22650.0));
        let eleven_per_second = interval("90.9K", 6, Meaning::InverseRate);
        assert_eq!(eleven_per_second, (86956.521739, 95238.095238));
        // 6229 to 6232 per second all print as 160.5
        assert_eq!(interval("160.5", 6, Meaning::InverseRate), (160.45, 160.55));
    }

    #[test]
    fn a_four_wide_thousand_may_be_a_million() {
        assert!(read(b"123K", 4, Meaning::Result).unwrap().maybe_tenfold);
        assert!(!read(b"30.K", 4, Meaning::Result).unwrap().maybe_tenfold);
        assert!(!read(b"100.0K", 6, Meaning::Result).unwrap().maybe_tenfold);
        assert_eq!(read(b"%4.-", 4, Meaning::Result), None);
    }

    #[test]
    fn digits_give_the_width_away() {
        assert!(fits(b"7.00000", 7, Meaning::Result) && !fits(b"7.00000", 5, Meaning::Result));
        assert!(fits(b"771.", 4, Meaning::Result) && !fits(b"771.", 5, Meaning::Result));
        assert!(fits(b"1432.", 5, Meaning::Result) && !fits(b"1432.", 4, Meaning::Result));
        assert!(fits(b"3876", 4, Meaning::Result) && !fits(b"3876", 5, Meaning::Result));
        assert!(fits(b"81.1", 6, Meaning::Result));
    }
}
