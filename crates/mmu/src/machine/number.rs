//! Addresses and sizes as people write them.

use std::fmt;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};

/// An address: in files a hexadecimal string without `0x` (with it, and `_`, accepted) or an integer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Address(pub u64);

/// A number of bytes: an integer, or a string such as `16K`, `8M`, `1G`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Bytes(pub u64);

/// Parses `4096`, `16K`, `8M`, `1G` (powers of 1024; a trailing `B` or `iB` is allowed).
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let t = text.trim();
    let t = t.strip_suffix("iB").or_else(|| t.strip_suffix('B')).unwrap_or(t);
    let (digits, shift) = match t.as_bytes().last() {
        Some(b'k' | b'K') => (&t[..t.len() - 1], 10),
        Some(b'm' | b'M') => (&t[..t.len() - 1], 20),
        Some(b'g' | b'G') => (&t[..t.len() - 1], 30),
        _ => (t, 0),
    };
    let n: u64 = digits.parse().map_err(|_| format!("{text:?} is not a size; write 4096, 16K, 8M or 1G"))?;
    n.checked_mul(1 << shift).ok_or_else(|| format!("{text:?} is more than 2^64 bytes"))
}

/// Parses a hexadecimal address, with or without `0x` and `_`.
pub(crate) fn parse_address(text: &str) -> Result<u64, String> {
    let t = text.trim().replace('_', "");
    let t = t.strip_prefix("0x").or_else(|| t.strip_prefix("0X")).unwrap_or(&t);
    u64::from_str_radix(t, 16).map_err(|_| format!("{text:?} is not a hexadecimal address"))
}

struct NumberVisitor {
    what: &'static str,
    parse: fn(&str) -> Result<u64, String>,
}

impl Visitor<'_> for NumberVisitor {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.what)
    }
    fn visit_u64<E: de::Error>(self, v: u64) -> Result<u64, E> {
        Ok(v)
    }
    fn visit_i64<E: de::Error>(self, v: i64) -> Result<u64, E> {
        u64::try_from(v).map_err(|_| E::custom(format!("{v} is negative")))
    }
    fn visit_str<E: de::Error>(self, v: &str) -> Result<u64, E> {
        (self.parse)(v).map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let visitor = NumberVisitor { what: "a hexadecimal address as a string", parse: parse_address };
        d.deserialize_any(visitor).map(Address)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let visitor = NumberVisitor { what: "a number of bytes", parse: parse_bytes };
        d.deserialize_any(visitor).map(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_addresses() {
        assert_eq!(parse_bytes("16M"), Ok(16 << 20));
        assert_eq!(parse_bytes("4KiB"), Ok(4096));
        assert!(parse_bytes("M").is_err());
        assert!(parse_bytes("99999999999G").is_err());
        assert_eq!(parse_address("0xc000_0000"), Ok(0xc000_0000));
        assert!(parse_address("xyz").is_err());
    }
}
