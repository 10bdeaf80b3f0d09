//! Numbers with as many digits as their error allows.

/// `value` with 3 to 4 significant digits, fewer decimals the larger it is; the last digit shown is that of
/// `half_width`'s first where that is known.
pub fn significant(value: f64, half_width: Option<f64>) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let by_size = 3 - magnitude;
    let by_error = match half_width {
        Some(error) if error > 0.0 && error.is_finite() => -(error.log10().floor() as i32),
        _ => by_size,
    };
    let decimals = by_error.clamp(by_size - 1, by_size).max(0) as usize;
    grouped(&format!("{value:.decimals$}"))
}

/// Value and half-width with the same number of decimals.
pub fn with_error(value: f64, half_width: Option<f64>) -> (String, String) {
    let text = significant(value, half_width);
    let decimals = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let error = half_width.map_or(String::new(), |h| grouped(&format!("{h:.decimals$}")));
    (text, error)
}

/// The factor and the unit in which a value is best read: times in ns, us, ms or s, anything else as it is.
pub fn readable_unit(value: f64, unit: &str) -> (f64, &str) {
    match unit {
        "ns" if value >= 1e9 => (1e-9, "s"),
        "ns" if value >= 1e6 => (1e-6, "ms"),
        "ns" if value >= 1e4 => (1e-3, "us"),
        _ => (1.0, unit),
    }
}

/// Thousands separated by commas in numbers of five digits and more.
fn grouped(text: &str) -> String {
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(w, f)| (w, Some(f)));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |d| ("-", d));
    let mut out = String::from(sign);
    for (i, digit) in digits.chars().enumerate() {
        if digits.len() > 4 && i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_times_are_shown_in_longer_units() {
        assert_eq!(readable_unit(9999.0, "ns"), (1.0, "ns"));
        assert_eq!(readable_unit(249_914.0, "ns"), (1e-3, "us"));
        assert_eq!(readable_unit(2e6, "ns"), (1e-6, "ms"));
        assert_eq!(readable_unit(2e6, "count"), (1.0, "count"));
    }

    #[test]
    fn digits_follow_the_error() {
        assert_eq!(significant(71.2345, Some(0.05)), "71.23");
        assert_eq!(significant(71.2345, Some(2.0)), "71.2");
        assert_eq!(significant(0.2841, None), "0.2841");
        assert_eq!(significant(5093.4, Some(40.0)), "5093");
        assert_eq!(significant(1_234_567.0, None), "1,234,567");
        assert_eq!(with_error(12.3456, Some(0.5)), ("12.3".into(), "0.5".into()));
        assert_eq!(with_error(12.3456, None).1, "");
    }
}
