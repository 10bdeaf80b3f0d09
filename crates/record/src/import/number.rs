//! Printed numbers: their value, how many decimals were shown, and the interval the number lay in before printing.

use crate::Printed;

/// A plain decimal number as printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Decimal {
    pub value: f64,
    /// Digits after the point.
    pub decimals: u32,
}

impl Decimal {
    /// The interval of a number that was rounded to the decimals shown.
    pub fn rounded(self) -> Printed {
        let half = 0.5 * 10f64.powi(-(self.decimals as i32));
        Printed { lo: self.value - half, hi: self.value + half }
    }
}

/// Reads digits with at most one point, an optional sign and exponent; nothing else (no `inf`, no `nan`, no overflow).
pub(super) fn decimal(text: &[u8]) -> Option<Decimal> {
    let first = *text.first()?;
    if text.len() > 40 || !(first.is_ascii_digit() || matches!(first, b'-' | b'+' | b'.')) {
        return None;
    }
    let negative = first == b'-';
    let (mut decimals, mut digits, mut point, mut exponent) = (0i32, 0, false, None);
    let mut mantissa = 0u64;
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                digits += 1;
                decimals += i32::from(point);
                mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
            }
            b'.' if !point => point = true,
            b'+' | b'-' if at == 0 => {}
            b'e' | b'E' if digits > 0 => {
                exponent = Some(std::str::from_utf8(&text[at + 1..]).ok()?.parse::<i32>().ok()?);
                break;
            }
            _ => return None,
        }
    }
    if digits == 0 {
        return None;
    }
    // up to 15 digits both numbers are exact, and so is their quotient's rounding
    let value = if digits <= 15 && exponent.is_none() {
        let value = mantissa as f64 / POWERS[decimals as usize];
        if negative { -value } else { value }
    } else {
        std::str::from_utf8(text).ok()?.parse().ok()?
    };
    let decimals = decimals.saturating_sub(exponent.unwrap_or(0)).clamp(0, 300) as u32;
    value.is_finite().then_some(Decimal { value, decimals })
}

/// 10^0 to 10^15.
const POWERS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// All words of a line.
pub(super) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// Lossy text of a few bytes.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_decimals_are_numbers() {
        assert_eq!(decimal(b"1.2300"), Some(Decimal { value: 1.23, decimals: 4 }));
        assert_eq!(decimal(b"-7"), Some(Decimal { value: -7.0, decimals: 0 }));
        assert_eq!(decimal(b"909."), Some(Decimal { value: 909.0, decimals: 0 }));
        assert_eq!(decimal(b"1.5e-3"), Some(Decimal { value: 0.0015, decimals: 4 }));
        for odd in ["", "-", ".", "inf", "nan", "1e400", "1.2.3", "0x10", "1,5", "12K", "1e", "--1"] {
            assert_eq!(decimal(odd.as_bytes()), None, "{odd}");
        }
    }

    #[test]
    fn values_are_those_of_the_standard_parser() {
        for shown in [
            "0.1",
            "-0.001",
            "1234567.891",
            "16.1",
            "123456789012345",
            "0.123456789012345",
            "1234567890123456.5",
            "-9.99999",
        ] {
            assert_eq!(decimal(shown.as_bytes()).unwrap().value, shown.parse::<f64>().unwrap(), "{shown}");
        }
    }

    #[test]
    fn a_rounded_number_lay_half_a_digit_around() {
        let printed = decimal(b"0.34").unwrap().rounded();
        assert!((printed.lo - 0.335).abs() < 1e-12 && (printed.hi - 0.345).abs() < 1e-12);
    }
}
