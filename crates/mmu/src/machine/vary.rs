//! Variations: `entries=62,63,64`, `policy=fifo,lru`, … as a cross product over one machine.

use super::{Bytes, Machine, MachineError, PolicyName, parse_bytes};

/// One dimension of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variation {
    /// `entries`, `ways`, `policy`, `seed`, `page`, `map` or `pin`.
    pub field: String,
    /// The TLB it applies to; all TLBs of the last level when missing.
    pub tlb: Option<String>,
    /// Values in the order given.
    pub values: Vec<String>,
}

/// Largest number of configurations one sweep may have.
const MAX_CONFIGURATIONS: usize = 10_000;

impl Variation {
    /// Parses `[TLB.]FIELD=V1,V2,…`; `A..B` and `A..B..STEP` stand for ranges of whole numbers, ends included.
    pub fn parse(text: &str) -> Result<Self, MachineError> {
        let fail = |reason: &str| MachineError::Variation { what: text.into(), reason: reason.into() };
        let (left, right) = text.split_once('=').ok_or_else(|| fail("write FIELD=VALUE,VALUE,…"))?;
        let (tlb, field) = match left.rsplit_once('.') {
            Some((t, f)) => (Some(t.to_string()), f),
            None => (None, left),
        };
        if !["entries", "ways", "policy", "seed", "page", "map", "pin"].contains(&field) {
            return Err(fail("not a field to vary; use entries, ways, policy, seed, page, map or pin"));
        }
        let mut values = Vec::new();
        for part in right.split(',').filter(|p| !p.is_empty()) {
            match range(part) {
                Some(mut numbers) => {
                    let first =
                        numbers.next().ok_or_else(|| fail("a range goes from the smaller number up"))?;
                    // One more than allowed, so that too many are seen below.
                    let numbers = std::iter::once(first).chain(numbers).take(MAX_CONFIGURATIONS + 1);
                    values.extend(numbers.map(|n| n.to_string()));
                }
                None => values.push(part.to_string()),
            }
            if values.len() > MAX_CONFIGURATIONS {
                return Err(fail(&format!("more than {MAX_CONFIGURATIONS} values")));
            }
        }
        if values.is_empty() {
            return Err(fail("there is no value after ="));
        }
        Ok(Variation { field: field.into(), tlb, values })
    }

    /// Every combination of the variations on `machine`, with a name that says what was varied.
    pub fn cross(machine: &Machine, dims: &[Variation]) -> Result<Vec<(String, Machine)>, MachineError> {
        let mut out = vec![(String::new(), machine.clone())];
        for dim in dims {
            if out.len().saturating_mul(dim.values.len()) > MAX_CONFIGURATIONS {
                let reason = format!("more than {MAX_CONFIGURATIONS} configurations");
                return Err(MachineError::Variation { what: dim.field.clone(), reason });
            }
            let mut next = Vec::with_capacity(out.len() * dim.values.len());
            for (name, m) in &out {
                for value in &dim.values {
                    let label =
                        format!("{}{}{}", name, if name.is_empty() { "" } else { " " }, dim.label(value));
                    next.push((label, dim.set(m, value)?));
                }
            }
            out = next;
        }
        if dims.is_empty() {
            out[0].0 = machine.name.clone();
        }
        Ok(out)
    }

    fn label(&self, value: &str) -> String {
        match &self.tlb {
            Some(tlb) => format!("{tlb}.{}={value}", self.field),
            None => format!("{}={value}", self.field),
        }
    }

    fn set(&self, machine: &Machine, value: &str) -> Result<Machine, MachineError> {
        let fail = |reason: String| MachineError::Variation { what: self.label(value), reason };
        let number = || value.parse::<u32>().map_err(|_| fail("not a whole number".into()));
        let mut out = machine.clone();
        match self.field.as_str() {
            "map" => return machine.with_preset(value),
            "pin" => return machine.with_preset(&format!("pin={value}")),
            "page" => out.base_page = Bytes(parse_bytes(value).map_err(fail)?),
            _ => {
                let last = machine.tlbs.iter().map(|t| t.level).max().unwrap_or(1);
                let wanted = |t: &super::TlbSpec| match &self.tlb {
                    Some(name) => &t.name == name,
                    None => t.level == last,
                };
                if !out.tlbs.iter().any(wanted) {
                    return Err(fail("there is no TLB of this name".into()));
                }
                for tlb in out.tlbs.iter_mut().filter(|t| wanted(t)) {
                    match self.field.as_str() {
                        "entries" => {
                            // A fully associative TLB stays one.
                            if tlb.ways == Some(tlb.entries) {
                                tlb.ways = None;
                            }
                            tlb.entries = number()?;
                        }
                        "ways" => tlb.ways = if value == "full" { None } else { Some(number()?) },
                        "seed" => tlb.seed = u64::from(number()?),
                        _ => {
                            tlb.policy = PolicyName::parse(value).ok_or_else(|| {
                                let all = PolicyName::ALL.map(PolicyName::word).join(", ");
                                fail(format!("not a policy; use {all}"))
                            })?;
                        }
                    }
                }
            }
        }
        out.checked(&machine.name)
    }
}

fn range(part: &str) -> Option<impl Iterator<Item = u64>> {
    let mut ends = part.split("..");
    let (from, to) = (ends.next()?.parse::<u64>().ok()?, ends.next()?.parse::<u64>().ok()?);
    let step = ends.next().map_or(Some(1), |s| s.parse::<usize>().ok())?;
    (step > 0 && ends.next().is_none()).then(|| (from..=to).step_by(step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_products() {
        let v = Variation::parse("entries=4..8..2,32").unwrap();
        assert_eq!(v.values, ["4", "6", "8", "32"]);
        let m = Machine::from_json(
            r#"{"tlbs":[{"name":"u","serves":"IRW","entries":64,"policy":"fifo"}]}"#,
            "test",
        )
        .unwrap();
        let all = Variation::cross(&m, &[v, Variation::parse("policy=fifo,lru").unwrap()]).unwrap();
        assert_eq!(all.len(), 8);
        assert_eq!(all[3].0, "entries=6 policy=lru");
        assert_eq!(all[3].1.tlbs[0].entries, 6);
        assert!(Variation::parse("colour=red").is_err());
        assert!(Variation::parse("entries=").is_err());
    }
}
