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
    let (mut decimals, mut digits, mut point, mut exponent) = (0i32, 0, false, None);
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                digits += 1;
                decimals += i32::from(point);
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
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let decimals = decimals.saturating_sub(exponent.unwrap_or(0)).clamp(0, 300) as u32;
    value.is_finite().then_some(Decimal { value, decimals })
}

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
    fn a_rounded_number_lay_half_a_digit_around() {
        let printed = decimal(b"0.34").unwrap().rounded();
        assert!((printed.lo - 0.335).abs() < 1e-12 && (printed.hi - 0.345).abs() < 1e-12);
    }
}
