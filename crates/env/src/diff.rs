//! In which fields two environments differ, and which part of one identifies a machine state.

use serde::Serialize;
use serde_json::Value;

use crate::reason_of;
use crate::section::unknown;

/// Sections that are never compared.
const VOLATILE: [&str; 1] = ["now"];

/// Fields that say where a fact was read, which depends on the reader's rights and not on the machine.
const PROVENANCE: [&str; 2] = ["scheduler.preempt_source", "kernel.config.source"];

/// Sections that may differ between two runs in the same machine state.
const NOT_IDENTITY: [&str; 3] = ["now", "sitting", "observers"];

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Dotted path, e.g. `scheduler.preempt`.
    pub field: String,
    /// The first environment's value, or `{"value": null, "reason": "..."}`.
    pub a: Value,
    /// The second environment's value, likewise.
    pub b: Value,
}

/// The fields in which two environments differ, in the order of the first. What changes by the minute
/// (section `now`) does not count, and two unknown values never differ, whatever their reasons.
pub fn diff(a: &Value, b: &Value) -> Vec<Difference> {
    let mut differences = Vec::new();
    compare("", Some(a), Some(b), &mut differences);
    differences
}

/// The part of an environment that must be equal for two runs to be of one machine state:
/// without the load of the moment, host and boot, and passing observers.
pub fn identity(environment: &Value) -> Value {
    let mut identity = environment.clone();
    if let Some(object) = identity.as_object_mut() {
        object.retain(|section, _| !NOT_IDENTITY.contains(&section.as_str()));
    }
    identity
}

fn compare(field: &str, a: Option<&Value>, b: Option<&Value>, into: &mut Vec<Difference>) {
    if let (Some(Value::Object(one)), Some(Value::Object(two))) = (a, b)
        && a.and_then(reason_of).is_none()
        && b.and_then(reason_of).is_none()
    {
        let only_two = two.keys().filter(|key| !one.contains_key(*key));
        for key in one.keys().chain(only_two) {
            if field.is_empty() && VOLATILE.contains(&key.as_str()) {
                continue;
            }
            let path = if field.is_empty() { key.clone() } else { format!("{field}.{key}") };
            compare(&path, one.get(key), two.get(key), into);
        }
        return;
    }
    if PROVENANCE.contains(&field) {
        return;
    }
    let (known_a, known_b) = (known_or_none(a), known_or_none(b));
    if known_a != known_b {
        into.push(Difference { field: field.to_owned(), a: shown(a), b: shown(b) });
    }
}

fn known_or_none(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null() && reason_of(value).is_none())
}

fn shown(value: Option<&Value>) -> Value {
    value.cloned().unwrap_or_else(|| unknown("not recorded"))
}
