//! Event lists as `perf stat -e` takes them: `cycles,instructions:u`, `{cycles,instructions}`, `r01c2`,
//! `cpu/event=0x08,umask=0x10/`, `sched:sched_switch`.

use environment::Root;

use crate::event::{Event, Group, Spec};
use crate::{names, pmu, tracepoint};

/// Events of one list at most.
const MOST: usize = 256;

/// A list that can't be read as one. (A name that is not known is no error: it becomes an event with a reason.)
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ParseError {
    /// A brace or slash without its partner, or an empty name.
    #[error("{0}: {1}; write e.g. cycles,instructions:u or {{cycles,instructions}}")]
    Malformed(String, &'static str),
    /// Too long.
    #[error("more than {MOST} events")]
    TooMany,
}

/// Reads a list of events and groups.
pub fn parse(root: &Root, list: &str) -> Result<Vec<Group>, ParseError> {
    let wrong = |why| ParseError::Malformed(list.to_owned(), why);
    let mut groups: Vec<Group> = Vec::new();
    let mut open: Option<Group> = None;
    let mut count = 0;
    let mut rest = list.trim();
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('{') {
            if open.replace(Group::new()).is_some() {
                return Err(wrong("groups can't be nested"));
            }
            rest = inside;
            continue;
        }
        let (name, after) = split_name(rest).ok_or_else(|| wrong("a / without its partner"))?;
        if name.is_empty() {
            return Err(wrong("an empty name"));
        }
        count += 1;
        if count > MOST {
            return Err(ParseError::TooMany);
        }
        let event = event(root, name);
        match &mut open {
            Some(group) => group.push(event),
            None => groups.push(vec![event]),
        }
        rest = after;
        if let Some(outside) = rest.strip_prefix('}') {
            groups.push(open.take().ok_or_else(|| wrong("a } without {"))?);
            rest = outside;
        }
        match rest.strip_prefix(',') {
            Some(next) if !next.is_empty() => rest = next,
            None if rest.is_empty() => {}
            _ => return Err(wrong("a name is missing after a comma, or a comma after a group")),
        }
    }
    if open.is_some() {
        return Err(wrong("a { without }"));
    }
    Ok(groups)
}

/// Cuts off the first name: up to a comma or brace outside of slashes.
fn split_name(text: &str) -> Option<(&str, &str)> {
    let mut inside = false;
    for (at, c) in text.char_indices() {
        match c {
            '/' => inside = !inside,
            ',' | '}' if !inside => return Some((text[..at].trim(), &text[at..])),
            _ => {}
        }
    }
    (!inside).then_some((text.trim(), ""))
}

fn event(root: &Root, name: &str) -> Event {
    if let Some((pmu, rest)) = name.split_once('/') {
        let Some((terms, modifier)) = rest.rsplit_once('/') else {
            return Event::unknown(name, "unknown name");
        };
        let event = match whole_cpu(root, name, pmu, terms) {
            Some(event) => event,
            None => pmu::event(root, name, pmu, terms),
        };
        return modified(event, modifier.trim_start_matches(':'));
    }
    if let Some(event) = names::find(name) {
        return event;
    }
    if let Some((plain, modifier)) = name.rsplit_once(':')
        && let Some(mut event) = names::find(plain).or_else(|| tracepoint::event(root, plain))
    {
        name.clone_into(&mut event.name);
        return modified(event, modifier);
    }
    tracepoint::event(root, name).unwrap_or_else(|| Event::unknown(name, unknown(name)))
}

/// `cpu_core/cycles/`: a generic event on one PMU of a hybrid CPU, whose number stands in the upper half of the
/// configuration (`PERF_PMU_TYPE_SHIFT`).
fn whole_cpu(root: &Root, name: &str, pmu: &str, terms: &str) -> Option<Event> {
    let generic = names::find(terms)?;
    let Spec::Perf(attribute) = generic.spec else { return None };
    let hardware = matches!(attribute.kind, 0 | 3);
    let kind: u64 =
        root.contents(&format!("/sys/bus/event_source/devices/{pmu}/type")).ok()?.trim().parse().ok()?;
    hardware.then(|| Event::new(name, attribute.kind, attribute.config | kind << 32))
}

fn modified(mut event: Event, modifier: &str) -> Event {
    let known = modifier.chars().all(|c| "ukhGHPpSDWe".contains(c));
    if !known {
        let why = unknown(&event.name);
        return Event::unknown(event.name, why);
    }
    if let Spec::Perf(attribute) = &mut event.spec
        && modifier.contains(['u', 'k'])
    {
        attribute.exclude_user = !modifier.contains('u');
        attribute.exclude_kernel = !modifier.contains('k');
    }
    event
}

/// The reason of a name nobody knows, with the nearest one that exists.
fn unknown(name: &str) -> String {
    let bare = name.split([':', '/']).next().unwrap_or(name);
    let near = names::all().find(|known| known.len() > 3 && (known.contains(bare) || bare.contains(known)));
    match near.filter(|_| bare.len() > 3) {
        Some(near) => format!("unknown name; {near} is one"),
        None => "unknown name".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Attribute;

    fn groups(list: &str) -> Vec<Vec<String>> {
        let dir = tempfile::tempdir().unwrap();
        let parsed = parse(&Root::at(dir.path()), list).unwrap();
        parsed.iter().map(|group| group.iter().map(|event| event.name.clone()).collect()).collect()
    }

    #[test]
    fn lists_groups_and_slashes() {
        assert_eq!(groups("cycles,instructions:u"), [["cycles"], ["instructions:u"]]);
        assert_eq!(groups("{cycles,r1a8},faults"), [vec!["cycles", "r1a8"], vec!["faults"]]);
        assert_eq!(groups("cpu/event=1,umask=2/u,cs"), [["cpu/event=1,umask=2/u"], ["cs"]]);
        assert!(groups("").is_empty());
        let dir = tempfile::tempdir().unwrap();
        for wrong in ["{cycles", "cycles}", "a,,b", "cpu/event=1", "{a,{b}}", ",", "{}", "{a}b"] {
            assert!(parse(&Root::at(dir.path()), wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn modifiers_and_unknown_names() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        let user = Attribute { exclude_kernel: true, ..Attribute::default() };
        assert_eq!(event(&root, "cycles:u").spec, Spec::Perf(user));
        assert_eq!(event(&root, "nosuch").spec, Spec::Unknown("unknown name".into()));
        assert!(matches!(event(&root, "cycles:z").spec, Spec::Unknown(_)));
        assert_eq!(event(&root, "page-fault").spec, Spec::Unknown("unknown name; page-faults is one".into()));
        let Spec::Unknown(why) = event(&root, "sched:sched_switch").spec else { panic!() };
        assert!(why.contains("tracefs"), "{why}");
    }

    #[test]
    fn a_generic_event_of_one_half_of_a_hybrid_cpu() {
        let dir = tempfile::tempdir().unwrap();
        let device = dir.path().join("sys/bus/event_source/devices/cpu_atom");
        std::fs::create_dir_all(&device).unwrap();
        std::fs::write(device.join("type"), "10\n").unwrap();
        let made = event(&Root::at(dir.path()), "cpu_atom/cycles/");
        assert_eq!(made.spec, Spec::Perf(Attribute { config: 10 << 32, ..Attribute::default() }));
    }
}
