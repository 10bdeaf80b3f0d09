//! Numbers in ASCII bytes.

/// Value of each hexadecimal digit, 255 for other bytes.
const HEX: [u8; 256] = {
    let mut table = [255; 256];
    let mut i = 0;
    while i < 10 {
        table[b'0' as usize + i] = i as u8;
        i += 1;
    }
    i = 0;
    while i < 6 {
        table[b'a' as usize + i] = 10 + i as u8;
        table[b'A' as usize + i] = 10 + i as u8;
        i += 1;
    }
    table
};

/// A hexadecimal number at the start of `text` and its digits; `None` without digits or beyond 64 bits.
#[inline]
pub(super) fn hex_prefix(text: &[u8]) -> Option<(u64, usize)> {
    let (mut value, mut n) = (0u64, 0);
    for &b in text {
        let digit = HEX[b as usize];
        if digit == 255 {
            break;
        }
        value = value << 4 | u64::from(digit);
        n += 1;
    }
    // Up to 16 digits fit; more are fine only as leading zeros.
    let fits = n <= 16 || text[..n - 16].iter().all(|&b| b == b'0');
    (n > 0 && fits).then_some((value, n))
}

/// A decimal number at the start of `text` and its digits; `None` without digits or beyond 64 bits.
#[inline]
pub(super) fn decimal_prefix(text: &[u8]) -> Option<(u64, usize)> {
    let (mut value, mut n) = (0u64, 0);
    for &b in text {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
        n += 1;
    }
    (n > 0).then_some((value, n))
}

/// The whole of `text` as a hexadecimal number, `0x` allowed.
pub(super) fn hex(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    hex_prefix(digits).filter(|&(_, n)| n == digits.len()).map(|(v, _)| v)
}

/// The whole of `text` as a decimal number.
pub(super) fn decimal(text: &[u8]) -> Option<u64> {
    decimal_prefix(text).filter(|&(_, n)| n == text.len()).map(|(v, _)| v)
}

/// Text for an error: at most 60 bytes, control characters escaped.
pub(super) fn shown(text: &[u8]) -> String {
    let cut = &text[..text.len().min(60)];
    let dots = if cut.len() < text.len() { "…" } else { "" };
    format!("\"{}{dots}\"", cut.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(hex_prefix(b"7fff0ff8,8"), Some((0x7fff_0ff8, 8)));
        assert_eq!(hex(b"0xffffffffffffffff"), Some(u64::MAX));
        assert_eq!(hex(b"10000000000000000"), None);
        assert_eq!(hex(b"0000000000000000000000ff"), Some(255));
        assert_eq!(hex(b"12g"), None);
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(decimal(b"18446744073709551616"), None);
        assert_eq!(decimal(b""), None);
    }
}
