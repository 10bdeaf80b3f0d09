//! What will add noise on this machine, and what to do about it. Nothing is changed.

mod kernel;
mod machine;
mod process;

use serde::Serialize;
use serde_json::Value;

use crate::known;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Numbers are wrong or not worth comparing until this is dealt with.
    High,
    /// Adds visible noise or a steady offset.
    Medium,
    /// Good to know when numbers surprise.
    Low,
}

impl Severity {
    /// `high`, `medium` or `low`.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::High => "high",
            Severity::Medium => "medium",
            Severity::Low => "low",
        }
    }
}

/// One cause of noise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// The field of the environment it was seen in.
    pub field: String,
    /// What was found.
    pub what: String,
    /// Why it adds noise.
    pub why: String,
    /// What the user can do.
    pub todo: String,
}

/// Findings of an environment from [`crate::collect`], the gravest first. Unknown facts give no finding.
pub fn doctor(environment: &Value) -> Vec<Finding> {
    let facts = Facts(environment);
    let rules = machine::RULES.iter().chain(kernel::RULES).chain(process::RULES);
    let mut findings: Vec<Finding> = rules.filter_map(|rule| rule(&facts)).collect();
    findings.sort_by_key(|finding| finding.severity);
    findings
}

/// A rule looks at the facts and may have something to say.
type Rule = fn(&Facts) -> Option<Finding>;

/// Known facts by dotted path; unknown ones are `None`, so that no rule warns of what it can't see.
struct Facts<'v>(&'v Value);

impl<'v> Facts<'v> {
    fn value(&self, path: &str) -> Option<&'v Value> {
        known(self.0, path)
    }

    fn text(&self, path: &str) -> Option<&'v str> {
        self.value(path)?.as_str()
    }

    fn number(&self, path: &str) -> Option<f64> {
        self.value(path)?.as_f64()
    }

    fn flag(&self, path: &str) -> Option<bool> {
        self.value(path)?.as_bool()
    }

    /// How many CPUs this process may use.
    fn allowed_cpus(&self) -> Option<usize> {
        Some(crate::parse_cpu_list(self.text("topology.allowed")?).len())
    }

    /// True when a hypervisor is known to be there.
    fn is_virtual(&self) -> bool {
        self.text("machine.hypervisor").is_some_and(|name| name != "none")
    }
}

fn finding(
    severity: Severity,
    field: &str,
    what: impl Into<String>,
    why: &str,
    todo: &str,
) -> Option<Finding> {
    Some(Finding {
        severity,
        field: field.to_owned(),
        what: what.into(),
        why: why.to_owned(),
        todo: todo.to_owned(),
    })
}
