//! Tracepoints by name: their number is in tracefs.

use environment::Root;
use perf_event_open_sys::bindings as sys;

use crate::event::Event;

/// Where tracefs is mounted.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The tracepoint `system:name`.
pub(crate) fn event(root: &Root, name: &str) -> Option<Event> {
    let (system, point) = name.split_once(':')?;
    let safe = |word: &str| {
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    };
    if !safe(system) || !safe(point) {
        return None;
    }
    let id = PLACES.iter().find_map(|place| {
        root.contents(&format!("{place}/events/{system}/{point}/id")).ok()?.trim().parse().ok()
    });
    Some(match id {
        Some(id) => Event::new(name, sys::PERF_TYPE_TRACEPOINT, id),
        None if PLACES.iter().any(|place| root.exists(&format!("{place}/events"))) => {
            Event::unknown(name, "this kernel has no such tracepoint")
        }
        None => Event::unknown(name, "tracefs can't be read: needs root and a mounted /sys/kernel/tracing"),
    })
}
