//! LMbench 2.0 and 3.0: raw result files and the summary tables made from them.
//!
//! Both paths give the same metrics the same names, so that a table in an old mail can be set beside a result file.

pub(super) mod cell;
pub(super) mod columns;
pub(super) mod raw;
pub(super) mod raw_block;
pub(super) mod raw_scalar;
mod row;
pub(super) mod summary;

use crate::{Direction, Invocation, Printed, Unit};

/// Version of the suite, as far as the text says. Results of 2.0 and 3.0 are different quantities under one name
/// (select, page fault, memory ladder), so it becomes the definition version of every metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Unknown,
    V2,
    V3,
}

impl Version {
    pub fn definition(self) -> u32 {
        match self {
            Version::Unknown => 1,
            Version::V2 => 2,
            Version::V3 => 3,
        }
    }

    pub fn tool(self) -> &'static str {
        match self {
            Version::Unknown => "lmbench",
            Version::V2 => "lmbench 2.0",
            Version::V3 => "lmbench 3.0",
        }
    }
}

/// Microseconds.
pub(super) const US: Unit = Unit(std::borrow::Cow::Borrowed("us"));

/// A value of LMbench under its full name.
pub(super) fn value(
    name: &str,
    unit: Unit,
    direction: Direction,
    version: Version,
    value: f64,
    printed: Printed,
) -> Invocation {
    let mut invocation = Invocation::foreign(&format!("lmbench/{name}"), unit, direction).with_value(value);
    invocation.definition = version.definition();
    invocation.control = is_control(name);
    if invocation.value.is_some() {
        invocation.printed = Some(printed);
    }
    invocation
}

/// User-space arithmetic and the level-1 cache: no kernel change can move them.
fn is_control(name: &str) -> bool {
    let arithmetic = ["integer ", "int64 ", "float ", "double "];
    name == "L1" || arithmetic.iter().any(|family| name.starts_with(family))
}
