//! What a hit does to a replacement state, as far as it can be said in a few instructions.
//!
//! Policies whose hits only write to one word (a time, or bits of a set) say so here. Whoever hits many times in a row
//! then does that writing in a loop of its own, without asking the policy.

/// What a touch of one slot does to one word: `word = word & keep | put | now & stamp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Index of the word.
    pub word: u32,
    /// Bits that stay.
    pub keep: u64,
    /// Bits that are set.
    pub put: u64,
    /// Bits that are taken from the time.
    pub stamp: u64,
}

impl Rule {
    /// Changes nothing.
    pub const NONE: Rule = Rule { word: 0, keep: u64::MAX, put: 0, stamp: 0 };
}

/// How long a list by slot is: a power of two, so that any place, masked, is an index, with a few places to spare at the
/// end, where those of pinned entries, which are close to the largest number, then lead.
pub fn room(slots: u32) -> u32 {
    (slots + SPARE).next_power_of_two()
}

const SPARE: u32 = 4;

/// Rules of all slots, and of what is spare.
pub(super) fn rules(slots: impl Iterator<Item = Rule>) -> Vec<Rule> {
    let mut rules: Vec<_> = slots.collect();
    rules.resize(room(rules.len() as u32) as usize, Rule::NONE);
    rules
}

/// The words that hits write to.
pub struct Marks<'a> {
    /// By slot, and for pinned entries, whose touches mean nothing. As many as [`room`] says.
    pub rules: &'a [Rule],
    /// Never empty; where times are kept, as many as rules.
    pub words: &'a mut [u64],
    /// The time of the last touch, where times are kept.
    pub now: Option<&'a mut u64>,
}

/// What hits do.
pub enum Touches<'a> {
    /// Nothing.
    Nothing,
    /// They write the time to the word of their slot: `words[slot] = now`.
    Stamp(Marks<'a>),
    /// They follow the rule of their slot.
    Mark(Marks<'a>),
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::machine::Machine;
    use crate::policy::Policy;

    /// As a scan does it.
    fn touch_by_rule(policy: &mut Policy, slot: usize) {
        let Some(Touches::Stamp(marks) | Touches::Mark(marks)) = policy.touches() else { return };
        let time = marks.now.map_or(0, |now| {
            *now += 1;
            *now
        });
        let rule = marks.rules[slot];
        let word = &mut marks.words[rule.word as usize];
        *word = *word & rule.keep | rule.put | time & rule.stamp;
    }

    proptest! {
        /// Touching by rule leads to the same victims as telling the policy.
        #[test]
        fn rules_do_what_touches_do(
            at in 0usize..4,
            ways in prop::collection::vec(1u32..65, 1..4),
            steps in prop::collection::vec((any::<bool>(), any::<u32>(), any::<u32>()), 1..400),
        ) {
            let word = ["lru", "tree-plru", "nru", "fifo"][at];
            let text = format!(r#"{{"tlbs":[{{"name":"u","serves":"IRW","entries":4,"policy":"{word}"}}]}}"#);
            let spec = Machine::from_json(&text, "test").unwrap().tlbs.remove(0);
            let (mut told, mut ruled) = (Policy::new(&spec, &ways), Policy::new(&spec, &ways));
            prop_assert!(told.touches().is_some());
            for (victim, set, way) in steps {
                let set = set as usize % ways.len();
                if victim {
                    prop_assert_eq!(told.victim(set), ruled.victim(set));
                    continue;
                }
                let way = way % ways[set];
                told.touch(set, way as usize);
                touch_by_rule(&mut ruled, (ways[..set].iter().sum::<u32>() + way) as usize);
            }
        }
    }
}
