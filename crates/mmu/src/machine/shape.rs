//! The words of a TLB description.

use serde::{Deserialize, Deserializer};

/// Which references a structure serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Serves(u8);

impl Serves {
    /// Fetches, loads and stores.
    pub fn all() -> Self {
        Serves(0b111)
    }
    /// Whether references of this class (0 fetch, 1 load, 2 store) look here.
    pub fn class(self, class: usize) -> bool {
        self.0 >> class & 1 == 1
    }
    /// From letters of `I`, `R`, `W`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut bits = 0;
        for c in text.chars() {
            bits |= match c {
                'I' => 1,
                'R' => 2,
                'W' => 4,
                _ => return Err(format!("serves = {text:?}: {c:?} is not one of the letters I, R, W")),
            };
        }
        if bits == 0 { Err("serves is empty; write letters of I, R, W".into()) } else { Ok(Serves(bits)) }
    }
}

impl<'de> Deserialize<'de> for Serves {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Serves::parse(&String::deserialize(d)?).map_err(serde::de::Error::custom)
    }
}

/// Replacement policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyName {
    /// Round robin: a pointer that moves on every fill.
    #[serde(alias = "round-robin")]
    Fifo,
    /// Least recently used.
    Lru,
    /// A seeded generator picks the victim.
    Random,
    /// Binary tree of bits, each pointing away from the last touched half.
    #[serde(alias = "plru")]
    TreePlru,
    /// One bit per entry, set on touch; all others cleared when the last one is set.
    BitPlru,
    /// One referenced bit per entry and a rotating hand.
    Nru,
    /// Fewest lookups since it was filled.
    Lfu,
    /// Belady's optimum: the entry whose next use is furthest away (needs the future).
    Opt,
}

impl PolicyName {
    /// All policies, in the order of the documentation.
    pub const ALL: [PolicyName; 8] = [
        PolicyName::Fifo,
        PolicyName::Lru,
        PolicyName::Random,
        PolicyName::TreePlru,
        PolicyName::BitPlru,
        PolicyName::Nru,
        PolicyName::Lfu,
        PolicyName::Opt,
    ];

    /// The word in machine files and tables.
    pub fn word(self) -> &'static str {
        match self {
            PolicyName::Fifo => "fifo",
            PolicyName::Lru => "lru",
            PolicyName::Random => "random",
            PolicyName::TreePlru => "tree-plru",
            PolicyName::BitPlru => "bit-plru",
            PolicyName::Nru => "nru",
            PolicyName::Lfu => "lfu",
            PolicyName::Opt => "opt",
        }
    }

    /// From a word; `plru` and `round-robin` are understood too.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "plru" => Some(PolicyName::TreePlru),
            "round-robin" => Some(PolicyName::Fifo),
            _ => PolicyName::ALL.into_iter().find(|p| p.word() == word),
        }
    }
}

/// Scope of the round-robin pointer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pointer {
    /// One pointer per set.
    #[default]
    PerSet,
    /// One way pointer shared by all sets; moves on every fill of any set.
    Global,
}

/// How a page number selects its set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Index {
    /// (page base / 4096) mod sets.
    #[default]
    Modulo,
    /// The two lowest groups of log2(sets) bits of (page base / 4096), xored.
    Xor,
}
