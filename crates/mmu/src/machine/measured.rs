//! A machine from the JSON that the TLB probe prints (`tlbench tlb --json`).

use serde::Deserialize;

use super::{Bytes, Machine, MachineError, PolicyName, Serves, TlbSpec, Walk, WalkKind};

/// The fields of the probe's output that describe geometry and cost; all others are passed over.
#[derive(Deserialize)]
struct Measured {
    structures: Vec<Structure>,
}

#[derive(Clone, Deserialize)]
struct Structure {
    kind: String,
    level: u32,
    page_size_effective: Option<u64>,
    entries: Option<u32>,
    ways: Option<u32>,
    /// Cycles a miss adds when the next level (or, after the last one, the walk) serves it.
    penalty_cycles: Option<f64>,
}

/// Builds the machine; structures that were not resolved are left out.
pub(super) fn machine(text: &str, name: &str) -> Result<Machine, MachineError> {
    let fail = |reason: String| MachineError::Syntax { name: name.into(), reason };
    let measured: Measured = serde_json::from_str(text).map_err(|e| fail(e.to_string()))?;
    let mut found: Vec<Structure> = measured.structures.into_iter().filter(|s| s.entries.is_some()).collect();
    found.sort_by_key(|s| s.level);
    if found.is_empty() {
        return Err(fail("the probe resolved no structure; measure again on a quieter machine".into()));
    }
    let last = found.iter().map(|s| s.level).max().unwrap_or(1);
    let tlbs = found.iter().map(|s| spec(s, &found)).collect::<Result<Vec<_>, _>>().map_err(fail)?;
    let walk = found.iter().filter(|s| s.level == last).find_map(|s| s.penalty_cycles);
    let source =
        "measured by tlbench tlb; replacement is not measured: LRU assumed for full, tree-PLRU for sets";
    let machine = Machine {
        name: "this".into(),
        source: Some(source.into()),
        tlbs,
        base_page: Bytes(super::DEFAULT_PAGE),
        walk: walk.map(|c| Walk {
            kind: WalkKind::Radix,
            levels: None,
            refs: None,
            refs_cycles: None,
            cycles: Some(c),
        }),
        ..Machine::default()
    };
    machine.checked(name)
}

fn spec(s: &Structure, all: &[Structure]) -> Result<TlbSpec, String> {
    let has = |kind: &str| all.iter().any(|o| o.kind == kind && o.level == s.level);
    let letters = match s.kind.as_str() {
        "load" if has("store") => "R",
        "load" => "RW",
        "store" => "W",
        "instruction" => "I",
        // Whatever has a structure of its own at this level does not look in the unified one.
        "unified" => match (has("load"), has("instruction")) {
            (false, false) => "IRW",
            (true, _) => "I",
            (false, true) => "RW",
        },
        other => return Err(format!("structure kind {other:?} is unknown")),
    };
    let entries = s.entries.unwrap_or(1);
    let ways = s.ways.filter(|&w| w > 0 && w < entries && entries.is_multiple_of(w));
    let sizes = all.iter().filter(|o| o.kind == s.kind && o.level == s.level);
    let several = sizes.filter(|o| o.page_size_effective != s.page_size_effective).count() > 0;
    let before = all.iter().filter(|o| o.level + 1 == s.level).find_map(|o| o.penalty_cycles);
    let page = s.page_size_effective.filter(|_| several);
    Ok(TlbSpec {
        name: format!("l{}_{}{}", s.level, s.kind, page.map_or(String::new(), |p| format!("_{}k", p >> 10))),
        serves: Serves::parse(letters)?,
        entries,
        ways,
        policy: if ways.is_some() { PolicyName::TreePlru } else { PolicyName::Lru },
        level: s.level,
        seed: 1,
        pinned: Vec::new(),
        reserved: 0,
        pointer: super::Pointer::default(),
        invalid_first: None,
        index: super::Index::default(),
        page_sizes: page.map(Bytes).into_iter().collect(),
        hit_cycles: before,
        sync_flush: false,
        source: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn geometry_and_costs_are_taken_over() {
        let text = r#"{"cpu_claimed":"x","structures":[
            {"kind":"load","level":1,"page_size_effective":4096,"entries":96,"ways":6,"penalty_cycles":7.0},
            {"kind":"store","level":1,"page_size_effective":4096,"entries":16,"ways":null,"penalty_cycles":7.0},
            {"kind":"instruction","level":1,"page_size_effective":4096,"entries":null,"ways":null,"penalty_cycles":null},
            {"kind":"unified","level":2,"page_size_effective":4096,"entries":2048,"ways":16,"penalty_cycles":22.0}]}"#;
        let m = machine(text, "test").unwrap();
        assert_eq!(m.tlbs.len(), 3);
        assert_eq!((m.tlbs[0].ways, m.tlbs[0].hit_cycles), (Some(6), None));
        assert_eq!((m.tlbs[2].entries, m.tlbs[2].hit_cycles), (2048, Some(7.0)));
        assert_eq!(m.walk.unwrap().cycles, Some(22.0));
        assert!(Machine::from_text(text, "test").unwrap().tlbs[1].serves.class(2));
        let none = machine(r#"{"structures":[]}"#, "test").unwrap_err();
        assert!(none.to_string().contains("resolved no structure"));
    }
}
