//! Reading and checking machine descriptions; the machines that come with the program.

use std::path::Path;

use super::map_file::MapFile;
use super::{Bytes, Machine, MachineError, PolicyName, TlbSpec, measured, preset};

/// A machine has at most this many TLBs, and a TLB at most `MAX_ENTRIES` entries.
const MAX_TLBS: usize = 32;
const MAX_ENTRIES: u32 = 1 << 20;
const MAX_RANGES: usize = 4096;
/// Largest cost of anything, so that sums over a trace stay finite.
const MOST_CYCLES: f64 = 1e9;

include!(concat!(env!("OUT_DIR"), "/builtin_machines.rs"));

/// Names of the machines that come with the program.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    BUILTIN.iter().map(|(name, _)| *name)
}

/// The TOML text of a machine that comes with the program, comments and sources included.
pub fn builtin_source(name: &str) -> Option<&'static str> {
    BUILTIN.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
}

impl Machine {
    /// From a name of [`builtin_names`] or the path of a TOML or JSON file.
    pub fn load(name: &str) -> Result<Self, MachineError> {
        if let Some(text) = builtin_source(name) {
            return Self::from_toml(text, name);
        }
        let path = Path::new(name);
        if !path.exists() {
            let near = builtin_names().filter(|n| n.contains(name) || name.contains(n)).collect::<Vec<_>>();
            let hint = if near.is_empty() {
                String::new()
            } else {
                format!(" (did you mean {}?)", near.join(" or "))
            };
            let known = builtin_names().collect::<Vec<_>>().join(", ");
            return Err(MachineError::Unknown { name: name.into(), hint, known });
        }
        let text =
            std::fs::read_to_string(path).map_err(|source| MachineError::Io { path: name.into(), source })?;
        let json = path.extension().is_some_and(|e| e == "json");
        let mut machine = if json { Self::from_json(&text, name) } else { Self::from_text(&text, name) }?;
        if machine.name.is_empty() {
            machine.name = path.file_stem().map_or_else(|| name.into(), |s| s.to_string_lossy().into_owned());
        }
        Ok(machine)
    }

    /// From TOML or JSON text, told apart by its first character.
    pub fn from_text(text: &str, name: &str) -> Result<Self, MachineError> {
        if text.trim_start().starts_with('{') {
            Self::from_json(text, name)
        } else {
            Self::from_toml(text, name)
        }
    }

    /// With the `map` ranges of a TOML or JSON text appended, the pinned ones in every TLB of the last level; `name`
    /// stands in errors.
    pub fn with_map_file(&self, text: &str, name: &str) -> Result<Self, MachineError> {
        let fail = |reason: String| MachineError::Syntax { name: name.into(), reason };
        let file: MapFile = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|e| fail(e.to_string()))?
        } else {
            toml::from_str(text).map_err(|e| fail(toml_reason(text, &e)))?
        };
        file.apply(self).map_err(fail)?.checked(name)
    }

    /// From TOML text; `name` stands in errors.
    pub fn from_toml(text: &str, name: &str) -> Result<Self, MachineError> {
        let machine: Machine = toml::from_str(text)
            .map_err(|e| MachineError::Syntax { name: name.into(), reason: toml_reason(text, &e) })?;
        machine.checked(name)
    }

    /// From JSON text: a machine, or what `tlbench tlb --json` measured; `name` stands in errors.
    pub fn from_json(text: &str, name: &str) -> Result<Self, MachineError> {
        let keys: Result<serde_json::Map<String, serde_json::Value>, _> = serde_json::from_str(text);
        if keys.is_ok_and(|k| k.contains_key("structures")) {
            return measured::machine(text, name);
        }
        let machine: Machine = serde_json::from_str(text)
            .map_err(|e| MachineError::Syntax { name: name.into(), reason: e.to_string() })?;
        machine.checked(name)
    }

    /// The machine itself when its numbers fit each other.
    pub fn checked(self, name: &str) -> Result<Self, MachineError> {
        let fail = |place: &str, reason: String| MachineError::Invalid {
            machine: if self.name.is_empty() { name.into() } else { self.name.clone() },
            place: place.into(),
            reason,
        };
        if self.tlbs.is_empty() {
            return Err(fail("tlbs", "there is none; describe at least one".into()));
        }
        if self.tlbs.len() > MAX_TLBS || self.map.len() + self.bats.len() > MAX_RANGES {
            return Err(fail("tlbs, map", format!("more than {MAX_TLBS} TLBs or {MAX_RANGES} ranges")));
        }
        check_page(self.base_page).map_err(|r| fail("base_page", r))?;
        for range in &self.map {
            check_page(range.page).map_err(|r| fail("map", r))?;
            check_range(range.base.0, range.len.0).map_err(|r| fail("map", r))?;
        }
        for bat in &self.bats {
            check_range(bat.base.0, bat.len.0).map_err(|r| fail("bats", r))?;
        }
        for (i, tlb) in self.tlbs.iter().enumerate() {
            check_tlb(tlb).map_err(|r| fail(&format!("tlb {}", tlb.name), r))?;
            if self.tlbs[..i].iter().any(|t| t.name == tlb.name) {
                return Err(fail(&format!("tlb {}", tlb.name), "two TLBs have this name".into()));
            }
            if tlb.policy == PolicyName::Opt && tlb.level > 1 {
                let reason =
                    "opt is possible at level 1 only: what reaches later levels is not known in advance";
                return Err(fail(&format!("tlb {}", tlb.name), reason.into()));
            }
        }
        check_costs(&self).map_err(|(place, r)| fail(place, r))?;
        self.check_overlap().map_err(|(place, r)| fail(&place, r))?;
        if let Some(kernel) = self.kernel {
            check_page(kernel.large_page).map_err(|r| fail("kernel", r))?;
            check_range(kernel.base.0, kernel.len.0).map_err(|r| fail("kernel", r))?;
        }
        Ok(self)
    }

    /// At one level, a reference must find its TLB without doubt.
    fn check_overlap(&self) -> Result<(), (String, String)> {
        for (i, a) in self.tlbs.iter().enumerate() {
            for b in &self.tlbs[i + 1..] {
                let class = (0..3).any(|c| a.serves.class(c) && b.serves.class(c));
                let size = a.page_sizes.is_empty()
                    || b.page_sizes.is_empty()
                    || a.page_sizes.iter().any(|s| b.page_sizes.contains(s));
                if a.level == b.level && class && size {
                    let reason = format!(
                        "{} and {} serve the same references at level {}; give them different levels, serves or page_sizes",
                        a.name, b.name, a.level
                    );
                    return Err((format!("tlb {}", b.name), reason));
                }
            }
        }
        Ok(())
    }

    /// Applies map presets joined by `+`: `4k`, `large-on-demand`, `pin=N`, `bat`, `thp`.
    pub fn with_preset(&self, words: &str) -> Result<Self, MachineError> {
        preset::apply(self, words)
    }
}

/// One line of what the parser says, with its place.
fn toml_reason(text: &str, error: &toml::de::Error) -> String {
    const LONGEST: usize = 200;
    let message: String = error.message().replace('\n', "; ").chars().take(LONGEST).collect();
    match error.span().and_then(|span| text.get(..span.start)) {
        Some(before) => {
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
            format!("line {line}, column {column}: {message}")
        }
        None => message,
    }
}

/// Every cost that a machine may state, with its name.
fn costs(machine: &Machine) -> Vec<(&'static str, Option<f64>)> {
    let walk =
        machine.walk.iter().flat_map(|w| [("walk.cycles", w.cycles), ("walk.refs_cycles", w.refs_cycles)]);
    let handler = machine.handler.iter().flat_map(|h| {
        [
            ("handler.user_4k", h.user_4k),
            ("handler.kernel_4k", h.kernel_4k),
            ("handler.kernel_large", h.kernel_large),
            ("handler.pin_extra", h.pin_extra),
            ("handler.cold_extra", h.cold_extra),
        ]
    });
    let flush = machine
        .flush
        .iter()
        .flat_map(|f| [("flush.mm", f.mm), ("flush.page", f.page), ("flush.loop_cycles", f.loop_cycles)]);
    let hits = machine.tlbs.iter().map(|t| ("tlb.hit_cycles", t.hit_cycles));
    walk.chain(handler).chain(flush).chain(hits).collect()
}

fn check_costs(machine: &Machine) -> Result<(), (&'static str, String)> {
    for (name, value) in [("clock_mhz", machine.clock_mhz), ("cpi", machine.cpi)] {
        if value.is_some_and(|v| !(v > 0.0 && v <= MOST_CYCLES)) {
            return Err((name, format!("write a number above 0, at most {MOST_CYCLES:e}, or leave it out")));
        }
    }
    match costs(machine).into_iter().find(|(_, v)| v.is_some_and(|v| !(0.0..=MOST_CYCLES).contains(&v))) {
        Some((name, _)) => {
            Err((name, format!("write cycles from 0 to {MOST_CYCLES:e}, or leave it out where not known")))
        }
        None => Ok(()),
    }
}

fn check_page(page: Bytes) -> Result<(), String> {
    if page.0.is_power_of_two() && page.0 >= 1024 && page.0 <= 1 << 40 {
        return Ok(());
    }
    Err(format!("page size {} is not a power of two from 1024 to 2^40", page.0))
}

fn check_range(base: u64, len: u64) -> Result<(), String> {
    if len == 0 || base.checked_add(len - 1).is_none() {
        return Err(format!("range {base:x} of {len} bytes is empty or passes the end of the address space"));
    }
    Ok(())
}

fn check_tlb(tlb: &TlbSpec) -> Result<(), String> {
    if tlb.entries == 0 || tlb.entries > MAX_ENTRIES {
        return Err(format!("entries = {}; write 1 to {MAX_ENTRIES}", tlb.entries));
    }
    let ways = tlb.ways();
    if ways == 0 || ways > tlb.entries || !tlb.entries.is_multiple_of(ways) {
        return Err(format!("{} entries cannot be divided into sets of {ways} ways", tlb.entries));
    }
    if tlb.index == super::Index::Xor && !tlb.sets().is_power_of_two() {
        return Err(format!("index = \"xor\" needs a power of two sets, here {}", tlb.sets()));
    }
    if tlb.reserved > 0 && tlb.sets() > 1 {
        return Err("reserved entries are possible in a fully associative TLB only; use pinned".into());
    }
    if tlb.reserved > tlb.entries {
        return Err(format!("{} of {} entries reserved", tlb.reserved, tlb.entries));
    }
    let mut taken = vec![0u32; tlb.sets() as usize];
    for pin in &tlb.pinned {
        check_page(pin.size)?;
        check_range(pin.base.0, pin.size.0)?;
        if pin.base.0 % pin.size.0 != 0 {
            return Err(format!("pinned {:x} is not aligned to its size {}", pin.base.0, pin.size.0));
        }
        let set = crate::tlb::set_index(tlb.index, pin.base.0 >> 12, tlb.sets());
        taken[set as usize] += 1;
        if taken[set as usize] > ways {
            return Err(format!("more entries pinned in set {set} than its {ways} ways"));
        }
    }
    for &size in &tlb.page_sizes {
        check_page(size)?;
    }
    Ok(())
}
