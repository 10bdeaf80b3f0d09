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

/// Eight bytes of `1` each, to repeat a byte in all lanes of a word.
const EACH: u64 = 0x0101_0101_0101_0101;

/// The value of eight hexadecimal digits, the first in the lowest byte; `None` if one of them is no digit or is
/// written large. All eight at once, by arithmetic within the bytes of one word.
#[inline(always)]
pub(super) fn hex8(text: u64) -> Option<u64> {
    // Letters have bit 6, digits have not; `a` is 0x61 and stands for 10.
    let letters = (text >> 6) & EACH;
    let digits = (text & (EACH * 0x0f)) + letters * 9;
    let heads = (text & (EACH * 0xf0)) ^ (EACH * 0x30 + letters * 0x30);
    let tens = ((digits + EACH * 6) >> 4) & EACH;
    if heads | (digits & (EACH * 0xf0)) | (tens ^ letters) != 0 {
        return None;
    }
    let pairs = ((digits << 4) | (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = ((pairs << 8) | (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some(((fours << 16) | (fours >> 32)) & 0xffff_ffff)
}

/// Index of the first comma among eight bytes, the first in the lowest; `None` without one.
#[inline(always)]
pub(super) fn comma8(text: u64) -> Option<u32> {
    let x = text ^ (EACH * u64::from(b','));
    let zero = x.wrapping_sub(EACH) & !x & (EACH * 0x80);
    (zero != 0).then(|| zero.trailing_zeros() / 8)
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
    fn eight_at_once() {
        let word = |text: &[u8; 8]| u64::from_le_bytes(*text);
        for value in [0, 1, 0x9abc_def0, 0x1234_5678, 0xffff_ffff, 0xa9f0_6b61] {
            let text = format!("{value:08x}");
            assert_eq!(hex8(word(text.as_bytes().first_chunk().unwrap())), Some(value));
        }
        for byte in 0..=255u8 {
            for at in 0..8 {
                let mut text = *b"00000000";
                text[at] = byte;
                let want = hex_prefix(&text).filter(|&(_, n)| n == 8 && !byte.is_ascii_uppercase());
                assert_eq!(hex8(word(&text)), want.map(|(v, _)| v), "{byte:#x} at {at}");
                let mut text = [byte; 8];
                text[at] = b',';
                let want = text.iter().position(|&b| b == b',').map(|i| i as u32);
                assert_eq!(comma8(word(&text)), want);
            }
            assert_eq!(comma8(word(&[byte; 8])), (byte == b',').then_some(0));
        }
    }

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
