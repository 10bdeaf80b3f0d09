//! Numbers as printed under any `LC_NUMERIC`: which sign is the decimal one is decided once per block.

use super::super::number::{Decimal, decimal};

/// The decimal sign of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Point,
    Comma,
}

/// What one number says about the decimal sign; `None` when it says nothing.
pub(super) fn evidence(number: &str) -> Option<Sign> {
    let points = number.matches('.').count();
    let commas = number.matches(',').count();
    let last = number.rfind(['.', ',']).map(|at| (number.as_bytes()[at], number.len() - at - 1));
    match (points, commas, last) {
        // both signs: the last one is the decimal one
        (1.., 1.., Some((b'.', _))) => Some(Sign::Point),
        (1.., 1.., Some((b',', _))) => Some(Sign::Comma),
        // several of one kind group thousands
        (2.., 0, _) => Some(Sign::Comma),
        (0, 2.., _) => Some(Sign::Point),
        // a group of thousands has three digits
        (1, 0, Some((_, digits))) if digits != 3 => Some(Sign::Point),
        (0, 1, Some((_, digits))) if digits != 3 => Some(Sign::Comma),
        _ => None,
    }
}

/// Reads a number under the block's decimal sign; without one, a number with a single sign before three digits is
/// ambiguous and not read.
pub(super) fn number(shown: &str, sign: Option<Sign>) -> Result<Decimal, String> {
    let marked = shown.contains(['.', ',']);
    let (point, group) = match sign.or(evidence(shown)) {
        Some(Sign::Point) => ('.', ','),
        Some(Sign::Comma) => (',', '.'),
        None if marked => {
            return Err(format!("`{shown}`: thousands or decimals? nothing in the block tells"));
        }
        None => ('.', ','),
    };
    let plain: String = shown
        .chars()
        .filter(|c| *c != group && !matches!(c, '\u{a0}' | '\u{202f}' | '\u{2019}' | '\''))
        .map(|c| if c == point { '.' } else { c })
        .collect();
    decimal(plain.as_bytes()).ok_or_else(|| format!("`{shown}` is no finite number"))
}

/// Whether a word can be a number in some locale.
pub(super) fn looks_numeric(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
        && word
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '\u{a0}' | '\u{202f}' | '\u{2019}' | '\''))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_after_one_sign_need_the_block() {
        assert_eq!(evidence("137.067"), None);
        assert_eq!(evidence("1,364454028"), Some(Sign::Comma));
        assert_eq!(evidence("8,937.06"), Some(Sign::Point));
        assert_eq!(evidence("2,088,138,001"), Some(Sign::Point));
        assert_eq!(number("137.067", Some(Sign::Comma)).unwrap().value, 137_067.0);
        assert_eq!(number("137,004", Some(Sign::Point)).unwrap().value, 137_004.0);
        assert!(number("137.067", None).is_err());
        assert_eq!(number("12\u{202f}345,67", None).unwrap().value, 12_345.67);
    }
}
