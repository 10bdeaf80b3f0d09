//! Building the object: a known fact is its plain value, an unknown one `{"value": null, "reason": "..."}`.

use serde_json::{Map, Value, json};

use crate::{Missing, Root};

/// One group of facts, in the order they are put.
#[derive(Default)]
pub(crate) struct Section(Map<String, Value>);

impl Section {
    /// Adds a fact that is always known.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Adds a fact, or why it is not known.
    pub(crate) fn put<T: Into<Value>>(&mut self, name: &str, fact: Result<T, Missing>) {
        match fact {
            Ok(value) => self.set(name, value),
            Err(missing) => self.set(name, unknown(&missing.reason)),
        }
    }

    /// Adds the number of each file.
    pub(crate) fn numbers(&mut self, root: &Root, files: &[(&str, &str)]) {
        for (name, path) in files {
            self.put(name, root.number(path));
        }
    }

    /// Adds the text of each file; of a list with one word in brackets, that word.
    pub(crate) fn words(&mut self, root: &Root, files: &[(&str, &str)]) {
        for (name, path) in files {
            self.put(name, root.chosen(path));
        }
    }
}

impl From<Section> for Value {
    fn from(section: Section) -> Value {
        Value::Object(section.0)
    }
}

/// The shape of an unknown fact.
pub(crate) fn unknown(reason: &str) -> Value {
    json!({"value": null, "reason": reason})
}

/// Why a fact is unknown, when `value` has the shape of an unknown fact.
pub fn reason_of(value: &Value) -> Option<&str> {
    let object = value.as_object().filter(|object| object.len() == 2)?;
    if !object.get("value")?.is_null() {
        return None;
    }
    object.get("reason")?.as_str()
}

/// The known fact at a dotted path; `None` when it is unknown or absent.
pub fn known<'v>(environment: &'v Value, path: &str) -> Option<&'v Value> {
    let found = path.split('.').try_fold(environment, |at, name| at.get(name))?;
    (!found.is_null() && reason_of(found).is_none()).then_some(found)
}
