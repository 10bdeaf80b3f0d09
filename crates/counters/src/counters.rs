//! Counting run after run.

use std::io;

use environment::{Root, known};
use perf_event_open_sys::bindings as sys;

use crate::event::{Attribute, Event, Group, Spec};
use crate::kernel::{Descriptor, Kernel, Times};
use crate::page_walk;
use crate::parse::parse;
use crate::reason::Surroundings;

/// Software events counted without `-e`: the kernel always has them.
pub const DEFAULT_SOFTWARE: &str = "task-clock,context-switches,cpu-migrations,page-faults,major-faults";

/// Hardware events counted without `-e`, where there is a PMU.
pub const DEFAULT_HARDWARE: &str = "cycles,instructions,branches,branch-misses,dTLB-load-misses,\
    dTLB-store-misses,iTLB-load-misses,LLC-loads,LLC-load-misses";

/// Events to count, those that can be and those that can't.
pub struct Counters<'k> {
    kernel: &'k dyn Kernel,
    groups: Vec<Vec<Probed>>,
    /// Held so that opening and closing the same events for every run is cheap.
    _kept: Vec<Box<dyn Descriptor>>,
}

/// An event and whether it can be counted.
struct Probed {
    event: Event,
    /// Why not.
    refused: Option<String>,
}

impl Probed {
    /// What the kernel is told, of a software event that can be counted. (Other kinds are not kept: a tracepoint with an
    /// event open costs every process that passes it, and a run without counting could not be had.)
    fn software(&self) -> Option<&Attribute> {
        match &self.event.spec {
            Spec::Perf(attribute) if self.refused.is_none() => {
                (attribute.kind == sys::PERF_TYPE_SOFTWARE).then_some(attribute)
            }
            _ => None,
        }
    }
}

/// What one event came to in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The event's name as `perf stat` prints it.
    pub name: String,
    /// Its count.
    pub value: Result<Value, String>,
}

/// A count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The count, scaled up to the whole run where the event shared a counter.
    pub count: f64,
    /// Share of the run it was counted, per cent; below 100 the count is an estimate.
    pub running_pct: f64,
}

/// An open event, or why there is none.
type Opened = Result<Box<dyn Descriptor>, String>;

/// Events attached to a process that has not started yet.
pub struct Attached<'c> {
    events: Vec<(&'c str, Opened)>,
}

impl<'k> Counters<'k> {
    /// Tries each event once on this process. What the kernel refuses is kept with its reason; kernel mode is left out
    /// where only that is forbidden (the name then ends in `:u`, as in perf).
    pub fn probe(kernel: &'k dyn Kernel, groups: Vec<Group>, surroundings: &Surroundings) -> Self {
        let probe =
            |group: Group| group.into_iter().map(|event| probe(kernel, event, surroundings)).collect();
        let groups: Vec<Vec<Probed>> = groups.into_iter().map(probe).collect();
        let kept = groups.iter().flatten().filter_map(|probed| probed.software());
        let kept = kept.filter_map(|attribute| kernel.keep(attribute)).collect();
        Counters { kernel, groups, _kept: kept }
    }

    /// The groups counted without `-e`; `environment` is what [`environment::collect`] gave.
    pub fn default_groups(
        root: &Root,
        environment: &serde_json::Value,
        surroundings: &Surroundings,
    ) -> Vec<Group> {
        let mut groups = parse(root, DEFAULT_SOFTWARE).unwrap_or_default();
        let hybrid = surroundings.core_pmus.len() > 1;
        for group in parse(root, DEFAULT_HARDWARE).unwrap_or_default() {
            if !hybrid {
                groups.push(group);
                continue;
            }
            // A generic event without a PMU's number counts on one kind of core only.
            for (pmu, _) in &surroundings.core_pmus {
                let list: Vec<String> = group.iter().map(|event| format!("{pmu}/{}/", event.name)).collect();
                groups.extend(parse(root, &list.join(",")).unwrap_or_default());
            }
        }
        let text = |field: &str| known(environment, field).and_then(|v| v.as_str()).unwrap_or_default();
        let number = |field: &str| text(field).parse().unwrap_or(0);
        let walks = page_walk::events(text("cpu.vendor"), number("cpu.family"), number("cpu.model"));
        let without_pmu = |mut event: Event| {
            if let Some(why) = &surroundings.no_pmu {
                event.spec = Spec::Unknown(why.clone());
            }
            event
        };
        groups.extend(walks.into_iter().map(|event| vec![without_pmu(event)]));
        groups
    }

    /// Every event with the reason why it can't be counted, if so.
    pub fn events(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.groups.iter().flatten().map(|probed| (probed.event.name.as_str(), probed.refused.as_deref()))
    }

    /// Opens the events on process `pid`, to count from its next `exec`, its descendants included.
    pub fn attach(&self, pid: i32) -> Attached<'_> {
        let mut events = Vec::new();
        for group in &self.groups {
            let mut leader = None;
            for probed in group {
                let opened = self.open(probed, pid, leader);
                leader = leader.or(opened.as_ref().ok().map(|open| open.number()));
                events.push((probed.event.name.as_str(), opened));
            }
        }
        Attached { events }
    }

    fn open(&self, probed: &Probed, pid: i32, leader: Option<i32>) -> Opened {
        let attribute = match (&probed.event.spec, &probed.refused) {
            (_, Some(why)) | (Spec::Unknown(why), None) => return Err(why.clone()),
            (Spec::Perf(attribute), None) => attribute,
        };
        let failed = |error| format!("perf_event_open: {error}");
        let open = self.kernel.open(attribute, pid, leader).map_err(failed)?;
        if let Some(filter) = &probed.event.filter {
            open.filter(filter).map_err(|error| format!("filter `{filter}`: {error}"))?;
        }
        Ok(open)
    }
}

impl Attached<'_> {
    /// The counts so far; after the process ended, all of it.
    pub fn read(&self) -> Vec<Reading> {
        let counted = |opened: &Opened| {
            let open = opened.as_ref().map_err(String::clone)?;
            open.read().map_err(|error| format!("reading the event: {error}")).and_then(value)
        };
        let reading =
            |(name, opened): &(&str, Opened)| Reading { name: (*name).to_owned(), value: counted(opened) };
        self.events.iter().map(reading).collect()
    }
}

/// Scales a count up to the time its event was enabled.
fn value(times: Times) -> Result<Value, String> {
    let Times { count, enabled_ns, running_ns } = times;
    if running_ns == 0 {
        return Err(if enabled_ns == 0 {
            "the run ended before counting began".into()
        } else {
            "never counted: other events held the counters all the time".into()
        });
    }
    // The kernel takes the two times one after the other, so that running may exceed enabled by nanoseconds.
    let share = (running_ns as f64 / enabled_ns.max(1) as f64).min(1.0);
    Ok(Value {
        count: if share < 1.0 { (count as f64 / share).round() } else { count as f64 },
        running_pct: 100.0 * share,
    })
}

fn probe(kernel: &dyn Kernel, mut event: Event, surroundings: &Surroundings) -> Probed {
    let mut attribute = match &event.spec {
        Spec::Unknown(why) => {
            let why = why.clone();
            return Probed { event, refused: Some(why) };
        }
        Spec::Perf(attribute) => *attribute,
    };
    let mut error = match kernel.open(&attribute, 0, None) {
        Ok(_) => return Probed { event, refused: None },
        Err(error) => error,
    };
    let forbidden = |error: &io::Error| matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM));
    if forbidden(&error)
        && !attribute.exclude_kernel
        && !attribute.exclude_user
        && !only_in_kernel(&attribute)
    {
        attribute.exclude_kernel = true;
        match kernel.open(&attribute, 0, None) {
            Ok(_) => {
                event.spec = Spec::Perf(attribute);
                event.name.push_str(":u");
                return Probed { event, refused: None };
            }
            // What user mode lacks as well is not a matter of rights: rights are asked for first.
            Err(second) if !forbidden(&second) => error = second,
            Err(_) => {}
        }
    }
    let why = surroundings.reason(&attribute, &error);
    Probed { event, refused: Some(why) }
}

/// Events that happen in the kernel alone: without kernel mode they would count 0 whatever happens.
fn only_in_kernel(attribute: &Attribute) -> bool {
    const SWITCHES: [u32; 3] = [
        sys::PERF_COUNT_SW_CONTEXT_SWITCHES,
        sys::PERF_COUNT_SW_CPU_MIGRATIONS,
        sys::PERF_COUNT_SW_CGROUP_SWITCHES,
    ];
    attribute.kind == sys::PERF_TYPE_TRACEPOINT
        || attribute.kind == sys::PERF_TYPE_SOFTWARE
            && SWITCHES.iter().any(|&n| u64::from(n) == attribute.config)
}
