//! What the processor says, or its maker documents, about its TLBs: a claim to print beside the measurement. It is
//! wrong often enough (in virtual machines, on hybrid cores, by encoding tricks) never to be more than that.

#[cfg(target_arch = "x86_64")]
mod cpuid;
#[cfg(target_arch = "aarch64")]
mod midr;

use serde::Serialize;

/// What a table translates for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Loads.
    Load,
    /// Stores.
    Store,
    /// Instruction fetch.
    Instruction,
    /// All of them.
    Unified,
}

/// One claimed table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What it serves.
    pub kind: Kind,
    /// 1 or 2.
    pub level: u8,
    /// Page size it holds, bytes.
    pub page_bytes: u64,
    /// Entries.
    pub entries: u32,
    /// Organisation in words, `fully associative` or `8-way`; empty when not said.
    pub ways: String,
    /// Where the claim is from.
    pub source: String,
}

impl Claim {
    /// `64 fully associative (CPUID 0x80000005)`.
    pub fn words(&self) -> String {
        let space = if self.ways.is_empty() { "" } else { " " };
        format!("{}{space}{} ({})", self.entries, self.ways, self.source)
    }
}

/// Every claim about this processor; empty where there is none.
pub fn claims() -> Vec<Claim> {
    #[cfg(target_arch = "x86_64")]
    return cpuid::claims();
    #[cfg(target_arch = "aarch64")]
    return midr::claims();
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    Vec::new()
}

/// The claim about one table: of its own kind, else of a unified table of that level.
pub fn about(claims: &[Claim], kind: Kind, level: u8, page_bytes: u64) -> Option<&Claim> {
    let of = |kind| claims.iter().find(|c| c.kind == kind && c.level == level && c.page_bytes == page_bytes);
    of(kind).or_else(|| of(Kind::Unified))
}

/// The processor's name for itself.
pub fn processor() -> String {
    #[cfg(target_arch = "x86_64")]
    if let Some(name) = cpuid::processor() {
        return name;
    }
    environment::Root::host()
        .contents("/proc/cpuinfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|l| l.starts_with("model name") || l.starts_with("CPU part"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        })
        .unwrap_or_else(|| "unknown".into())
}
