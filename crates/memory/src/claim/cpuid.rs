//! CPUID leaves 2, 0x18, 0x80000005, 0x80000006, 0x80000019 and 0x80000021.

use core::arch::x86_64::{__cpuid, __cpuid_count};

use super::{Claim, Kind};

const SMALL: u64 = 4 << 10;
const LARGE: u64 = 2 << 20;
const HUGE: u64 = 1 << 30;

/// Vendor, family and model as the processor states them, with its brand.
pub fn processor() -> Option<String> {
    let cpuid = raw_cpuid::CpuId::new();
    let brand = cpuid.get_processor_brand_string().map(|b| b.as_str().trim().to_owned());
    let feature = cpuid.get_feature_info()?;
    let numbers = format!(
        "family {} model {} stepping {}",
        feature.family_id(),
        feature.model_id(),
        feature.stepping_id()
    );
    Some(match brand {
        Some(brand) => format!("{brand}, {numbers}"),
        None => numbers,
    })
}

fn family() -> Option<u8> {
    raw_cpuid::CpuId::new().get_feature_info().map(|f| f.family_id())
}

/// All claims.
pub fn claims() -> Vec<Claim> {
    let mut claims = amd();
    if claims.is_empty() {
        claims = leaf_18();
    }
    if claims.is_empty() {
        claims = leaf_2();
    }
    claims
}

/// Leaves 0x80000005/6/19: AMD APM vol. 3, E.4.4-E.4.5, E.4.12; second-level sizes count 32 entries when 0x80000021 EAX
/// bit 14 says so, and on family 1Ah (Zen 5) even where a hypervisor hides that bit: no Zen has 128 entries there.
fn amd() -> Vec<Claim> {
    let most = __cpuid(0x8000_0000).eax;
    let mut claims = Vec::new();
    if most < 0x8000_0006 {
        return claims;
    }
    let first = __cpuid(0x8000_0005);
    let second = __cpuid(0x8000_0006);
    let told = most >= 0x8000_0021 && __cpuid(0x8000_0021).eax & (1 << 14) != 0;
    let scale = if told || (family() == Some(0x1A) && second.ebx >> 16 & 0xFFF <= 256) { 32 } else { 1 };
    let mut first_level = |register: u32, page_bytes| {
        for (kind, shift) in [(Kind::Load, 16), (Kind::Instruction, 0)] {
            let (ways, entries) = (register >> (shift + 8) & 0xFF, register >> shift & 0xFF);
            if entries > 0 {
                let ways = if ways == 0xFF { "fully associative".into() } else { format!("{ways}-way") };
                let source = "CPUID 0x80000005".into();
                claims.push(Claim { kind, level: 1, page_bytes, entries, ways, source });
            }
        }
    };
    first_level(first.eax, LARGE);
    first_level(first.ebx, SMALL);
    let huge = (most >= 0x8000_0019).then(|| __cpuid(0x8000_0019));
    let mut second_level = |register: u32, page_bytes, level, leaf: &str, scale: u32| {
        for (kind, shift) in [(Kind::Unified, 16), (Kind::Instruction, 0)] {
            let entries = (register >> shift & 0xFFF) * scale;
            if entries > 0 {
                let ways = bucket(register >> (shift + 12) & 0xF).into();
                let kind = if level == 1 && kind == Kind::Unified { Kind::Load } else { kind };
                claims.push(Claim { kind, level, page_bytes, entries, ways, source: leaf.into() });
            }
        }
    };
    let leaf = match (scale, told) {
        (1, _) => "CPUID 0x80000006",
        (_, true) => "CPUID 0x80000006, in units of 32",
        (_, false) => "CPUID 0x80000006, in units of 32 as on all of family 1Ah",
    };
    second_level(second.eax, LARGE, 2, leaf, scale);
    second_level(second.ebx, SMALL, 2, leaf, scale);
    if let Some(huge) = huge {
        second_level(huge.eax, HUGE, 1, "CPUID 0x80000019", 1);
        second_level(huge.ebx, HUGE, 2, "CPUID 0x80000019", scale);
    }
    claims
}

/// The associativity code of leaf 0x80000006, which is a range for most values.
fn bucket(code: u32) -> &'static str {
    match code {
        1 => "direct mapped",
        2 => "2-way",
        3 => "3-way",
        4 => "4- to 5-way",
        5 => "6- to 7-way",
        6 => "8- to 15-way",
        8 => "16- to 31-way",
        0xA => "32- to 47-way",
        0xB => "48- to 63-way",
        0xC => "64- to 95-way",
        0xD => "96- to 127-way",
        0xE => "128 ways or more",
        0xF => "fully associative",
        _ => "",
    }
}

/// Leaf 0x18 (Intel SDM vol. 2A): entries = ways x sets; several sub-leaves of one kind and level add up.
fn leaf_18() -> Vec<Claim> {
    if __cpuid(0).eax < 0x18 {
        return Vec::new();
    }
    let mut claims: Vec<Claim> = Vec::new();
    let last = __cpuid_count(0x18, 0).eax.min(32);
    for sub in 0..=last {
        let leaf = __cpuid_count(0x18, sub);
        let (kinds, level): (&[Kind], u8) = match (leaf.edx & 0x1F, (leaf.edx >> 5 & 7) as u8) {
            (1, level) => (&[Kind::Load], level),
            (2, level) => (&[Kind::Instruction], level),
            (3, level) => (&[Kind::Unified], level),
            (4, level) => (&[Kind::Load], level),
            (5, level) => (&[Kind::Store], level),
            _ => continue,
        };
        let (ways, sets) = (leaf.ebx >> 16, leaf.ecx);
        let full = leaf.edx & (1 << 8) != 0;
        for (bit, page_bytes) in [(0, SMALL), (1, LARGE), (3, HUGE)] {
            if leaf.ebx >> bit & 1 == 0 || ways == 0 || sets == 0 {
                continue;
            }
            for &kind in kinds {
                let entries = ways.saturating_mul(sets);
                let same = |c: &&mut Claim| c.kind == kind && c.level == level && c.page_bytes == page_bytes;
                if let Some(claim) = claims.iter_mut().find(same) {
                    claim.entries += entries;
                    claim.ways = format!("{} + {ways} x {sets}", claim.ways);
                } else {
                    let ways = if full { "fully associative".into() } else { format!("{ways} x {sets}") };
                    let source = "CPUID 0x18".into();
                    claims.push(Claim { kind, level, page_bytes, entries, ways, source });
                }
            }
        }
    }
    claims
}

/// Leaf 2: one-byte descriptors, looked up by the raw-cpuid library; its texts name the size and the ways.
fn leaf_2() -> Vec<Claim> {
    let Some(descriptors) = raw_cpuid::CpuId::new().get_cache_info() else { return Vec::new() };
    let mut claims = Vec::new();
    for descriptor in descriptors {
        let text = descriptor.desc();
        let lower = text.to_lowercase();
        if !lower.contains("tlb") || !lower.contains("entries") || !lower.contains("4 k") {
            continue;
        }
        let words: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        let entries = words.windows(2).find(|w| w[1] == "entries").and_then(|w| w[0].parse().ok());
        let Some(entries) = entries else { continue };
        let kind = if lower.contains("shared") {
            Kind::Unified
        } else if lower.contains("instruction") || lower.contains("code") {
            Kind::Instruction
        } else {
            Kind::Load
        };
        let level =
            if kind == Kind::Unified || lower.contains("2nd") || lower.contains("second") { 2 } else { 1 };
        let ways = if lower.contains("fully") {
            "fully associative".to_owned()
        } else {
            lower
                .split_once("-way")
                .or_else(|| lower.split_once(" way"))
                .and_then(|(before, _)| before.split_whitespace().last())
                .map_or(String::new(), |n| format!("{n}-way"))
        };
        claims.push(Claim { kind, level, page_bytes: SMALL, entries, ways, source: "CPUID 2".into() });
    }
    claims
}
