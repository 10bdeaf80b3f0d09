//! Events of a PMU in sysfs: `pmu/event=0x08,umask=0x10/`, `pmu/name/`, `pmu/config=1/`.

use environment::Root;

use crate::event::{Attribute, Event, Spec};

const DEVICES: &str = "/sys/bus/event_source/devices";

/// The event `pmu/terms/`; what is wrong with it is its reason.
pub(crate) fn event(root: &Root, name: &str, pmu: &str, terms: &str) -> Event {
    match attribute(root, pmu, terms) {
        Ok(attribute) => Event { name: name.to_owned(), spec: Spec::Perf(attribute), filter: None },
        Err(why) => Event::unknown(name, why),
    }
}

fn attribute(root: &Root, pmu: &str, terms: &str) -> Result<Attribute, String> {
    if !pmu.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Err(format!("unknown PMU {pmu}"));
    }
    let kind = root
        .contents(&format!("{DEVICES}/{pmu}/type"))
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .ok_or_else(|| format!("this machine has no PMU {pmu}"))?;
    let mut made = Attribute { kind, ..Attribute::default() };
    for term in terms.split(',').map(str::trim).filter(|term| !term.is_empty()) {
        put(root, pmu, term, &mut made, true)?;
    }
    Ok(made)
}

/// Puts one term into place. A bare word is an event the PMU names (once; its own terms are numbers), or a flag.
fn put(root: &Root, pmu: &str, term: &str, made: &mut Attribute, named: bool) -> Result<(), String> {
    let (word, value) = match term.split_once('=') {
        Some((word, value)) => (word, number(value).ok_or_else(|| format!("{term}: not a number"))?),
        None => (term, 1),
    };
    let safe = !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
    if !safe || word.starts_with('.') {
        return Err(format!("unknown term {term} of PMU {pmu}"));
    }
    match word {
        "config" => made.config = value,
        "config1" => made.config1 = value,
        "config2" => made.config2 = value,
        // The name and the sampling of perf's own syntax, which count nothing.
        "name" | "period" => {}
        _ => {
            if let Ok(format) = root.contents(&format!("{DEVICES}/{pmu}/format/{word}")) {
                return spread(format.trim(), value, made)
                    .ok_or_else(|| format!("{term}: does not fit into {}", format.trim()));
            }
            let alias = root.contents(&format!("{DEVICES}/{pmu}/events/{word}"));
            match alias {
                Ok(alias) if named && !term.contains('=') => {
                    for term in alias.trim().split(',') {
                        put(root, pmu, term, made, false)?;
                    }
                }
                _ => return Err(format!("PMU {pmu} has no event or term {word}")),
            }
        }
    }
    Ok(())
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Distributes `value` over the bits of a format such as `config:0-7,32-35`.
fn spread(format: &str, value: u64, made: &mut Attribute) -> Option<()> {
    let (field, ranges) = format.split_once(':')?;
    let mut left = value;
    let mut bits = 0u64;
    for range in ranges.split(',') {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let (low, high): (u32, u32) = (low.parse().ok()?, high.parse().ok()?);
        if low > high || high > 63 {
            return None;
        }
        let width = high - low + 1;
        let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        bits |= (left & mask) << low;
        left = if width == 64 { 0 } else { left >> width };
    }
    if left != 0 {
        return None;
    }
    match field {
        "config" => made.config |= bits,
        "config1" => made.config1 |= bits,
        "config2" => made.config2 |= bits,
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture() -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        let cpu = dir.path().join("sys/bus/event_source/devices/cpu");
        for folder in ["format", "events"] {
            std::fs::create_dir_all(cpu.join(folder)).unwrap();
        }
        for (file, text) in [
            ("type", "4\n"),
            ("format/event", "config:0-7\n"),
            ("format/umask", "config:8-15\n"),
            ("format/cmask", "config:24-31\n"),
            ("format/wide", "config:0-7,32-35\n"),
            ("format/ldlat", "config1:0-15\n"),
            ("events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n"),
        ] {
            std::fs::write(cpu.join(file), text).unwrap();
        }
        let root = Root::at(dir.path());
        (dir, root)
    }

    #[test]
    fn terms_land_in_their_bits() {
        let (_dir, root) = fixture();
        let spec = |terms: &str| attribute(&root, "cpu", terms);
        let config = |terms: &str| spec(terms).unwrap().config;
        assert_eq!(config("event=0x08,umask=0x10,cmask=1"), 0x0100_1008);
        assert_eq!(config("wide=0x1ff"), 0x1_0000_00ff);
        let loads = spec("mem-loads").unwrap();
        assert_eq!((loads.kind, loads.config, loads.config1), (4, 0x01cd, 3));
        for (wrong, why) in [
            ("event=0x1ff", "does not fit"),
            ("nosuch", "no event or term"),
            ("event=x", "not a number"),
            ("../type", "unknown term"),
        ] {
            let said = spec(wrong).unwrap_err();
            assert!(said.contains(why), "{wrong}: {said}");
        }
        assert!(attribute(&root, "gpu", "event=1").unwrap_err().contains("no PMU gpu"));
        assert!(attribute(&root, "../x", "event=1").unwrap_err().contains("unknown PMU"));
    }
}
